package parse

import "github.com/skillpm/skillpm/internal/diag"

// Options says what the reader knows about a SKILL.md besides its bytes.
type Options struct {
	// File is the file's name as it is spelled; empty means SKILL.md. Findings
	// name it unless Label is set.
	File string
	// Label is the file name that findings carry.
	Label string
	// Dir is the name of the directory that holds the skill, which the declared
	// name must equal. Empty leaves that rule out, as for a repository's root.
	Dir string
	// Local says that the skill is the project's own (a path skill), so that its
	// requirements may name path: and file:// sources. In a fetched skill those
	// are source_not_allowed.
	Local bool
}

// Read reads a SKILL.md as install does. The Skill is nil only if there is no
// frontmatter that can be read. Findings of severity error must stop an
// install: no frontmatter, malformed requirements, a malformed chain. Everything
// else, such as a name that breaks the specification, is a warning or a note.
// Read never changes data and keeps no reference to it.
func Read(data []byte, opt Options) (*Skill, diag.List) {
	return nil, nil
}
