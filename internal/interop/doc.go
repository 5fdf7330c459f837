// Package interop reads what other tools keep about the skills of a project:
// manifests, locks, and the marks they leave in installed skills. A reader turns
// one format into Items, which name a skill's source and what was wanted of it,
// and says of everything else why it cannot be carried. It is pure: it reads
// through an fs.FS, decides nothing about versions, contacts nobody, never
// guesses which repository a bare name could mean, and writes nothing.
//
//	doc, err := interop.Read(root.FS(), "skills-lock.json")
//	for _, item := range doc.Items { … }
//
// Which file belongs to which tool, and the versions its reader was made for,
// stand in formats.tsv. Every reader bounds what it takes in (see maxFile,
// maxDepth, maxNodes, maxItems) and reports each fault with file, line and column.
package interop
