// Package manifest reads and edits skills.toml, the file in which people say
// which skills a project wants, and the user's config.toml, which has the same
// tables without the skills. Reading is strict and reports every mistake of the
// file at once, each with line and column. Editing (package tomledit) replaces
// only the bytes that must change: comments, blank lines, order and line ends
// stay as they are.
//
// It reads and writes no file itself: it takes and returns bytes. It knows the
// grammar of requirements (package skill) but not of ranges, which the caller
// judges (package resolver), nor of trust rules, which package signing decodes
// from TrustSection.
//
//	m, err := manifest.Parse("skills.toml", data, resolver.CheckRange)
//	edit, err := manifest.NewEdit(data)
//	err = edit.Set("pdf", requirement)
//	found := edit.Remove("old")
//	data, err = edit.Bytes()
package manifest
