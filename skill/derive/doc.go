// Package derive computes what an agent runtime reads about a skill besides its
// bytes: token estimates, decision cards, resource indexes, capability needs,
// context packs, the prompt catalogue and three export documents.
//
// Everything here is derived: it can be thrown away and made again from the
// skill's tree, is the same for the same bytes on every machine, and never takes
// precedence over SKILL.md. Nothing here grants anything. A need says that a
// text seems to ask for a capability, with the line that says so; whether the
// skill gets it is the host's decision alone.
//
// The package is public and light (the standard library, package skill and
// package skill/parse). It opens no file and no connection: the caller hands in
// a Skill, whose Read function serves the bytes of the tree. Work and output are
// bounded by the constants of this package whatever the skill holds. Functions
// are safe for concurrent use as long as Read is.
//
//	card, err := derive.NewCard(&derive.Skill{
//		Name: "pdf", Description: "Reads PDF files.",
//		Text: skillMD, BodyStart: bodyStart, Tree: tree, Read: readFile,
//	})
//
// It does not check SKILL.md (package skill/parse), does not verify bytes (the
// caller's Read does) and does not install or run anything.
package derive
