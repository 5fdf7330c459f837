// Package skill holds the values that every part of skillpm shares: names and
// keys, versions, digests, file trees, sources and requirements of Agent Skills
// (directories with a SKILL.md, see agentskills.io).
//
// It is public and light: it uses the standard library and golang.org/x/text
// only, opens no file and no connection, and keeps no state, so that a runtime
// can import it to check what a lockfile says. Every function is safe for
// concurrent use. A value that a Parse function returned is valid; code that
// holds one does not check it again.
//
//	tree, err := skill.ParseTreeManifest(text, skill.DefaultLimits)
//	if err != nil { … }
//	if tree.Digest() != want { … }
//
// It does not read SKILL.md files (package skill/parse does) and does not judge
// version ranges (package resolver does).
package skill
