// Package parse reads Agent Skills (agentskills.io): SKILL.md and training.zon.
//
// It has two readers over one set of rules. Read is lenient, for installing
// what the world has published: it never changes bytes and never drops a skill
// silently, and everything it had to overlook is a warning. Validate is strict,
// for authors: every rule is judged, in a fixed order, with line and column.
//
//	s, findings := parse.Read(data, parse.Options{Dir: "pdf"})
//	if s == nil { … } // nothing readable; findings says why
//
//	report, err := parse.Validate(ctx, []string{"skills"}, parse.ValidateOptions{})
//
// Scalars keep their source text: `version: 1.10` is "1.10" and `name: yes` is
// "yes", whatever type a YAML library would give them. Anchors, aliases, tags
// and duplicate keys are refused, so no YAML bomb can be built.
//
// It opens files only for reading, executes nothing and uses no network. It
// does not resolve requirements (package resolver does) and does not know the
// lockfile. Every function is safe for concurrent use.
package parse
