// Package lockfile reads, checks and writes skills.lock, the file in which
// skillpm records what it decided, and reads the skills it names from disk. It
// is public and stable: agent runtimes and other tools may import it. It uses
// the standard library, golang.org/x/text and package skill only, opens no
// connection and writes nothing.
//
//	data, err := os.ReadFile("skills.lock")
//	lock, err := lockfile.Parse(data)
//	for _, e := range lock.Skills { … }               // in the manifest's order
//	dir, err := lockfile.OpenDir(filepath.Join(lock.Targets[0], "pdf"))
//	err = dir.Verify(lock.Get("pdf"), nil)            // every byte and mode
//	body, _, err := dir.Body(0)
//
// A lock holds facts only. Who is trusted, and whether a signature satisfies a
// policy, is decided by the machine that reads it: Signature is what the bundle
// says of itself. Nothing in a lock grants anything; AllowedTools is the text of
// the skill, shown so that a change of it is seen.
//
// The format is described in docs/formats.md and by the JSON Schema
// docs/schema/skills.lock.schema.json.
package lockfile
