package parse

import (
	"github.com/skillpm/skillpm/skill"
)

// FileName is the one spelling of the skill file that every loader finds.
const FileName = "SKILL.md"

// MaxFileBytes bounds a SKILL.md. The largest real one seen has 294 KB; beyond
// this it is no instruction text.
const MaxFileBytes = 4 << 20

// Position is a place in SKILL.md; line and column count from 1, columns in
// characters. The zero Position is unknown.
type Position struct {
	Line, Column int
}

// Pair is one entry of a mapping in the frontmatter.
type Pair struct {
	Key string
	// Text is the scalar's source text. For a list it is the elements joined by
	// ", ", for a mapping its one-line YAML flow form.
	Text string
	// Data is the value itself: its text, a []any or a map[string]any of such.
	Data any
	// IsString says that the value is a scalar which every YAML reader takes as
	// text.
	IsString bool
	// Position is where the key stands, Value where the value does.
	Position, Value Position
}

// Dependency is one metadata entry skillpm.requires.NAME.
type Dependency struct {
	Name        skill.Name
	Requirement skill.Requirement
	// Text is the requirement as written.
	Text string
	// Position is where the value stands.
	Position Position
}

// Retraction is what metadata.skillpm.retract says: versions of this skill that
// the author withdraws.
type Retraction struct {
	// Ranges are version ranges as Masterminds/semver/v3 reads them, all parsed.
	Ranges []string
	Reason string
}

// Skill is what a SKILL.md declares. Text fields are trimmed of blanks at both
// ends and empty where the field is absent or of no usable shape.
type Skill struct {
	// File is the file's exact spelling, as given in Options.
	File string
	// Name is the declared name, unchecked: use skill.ParseName or skill.ParseKey
	// before it touches a path.
	Name          string
	Description   string
	License       string
	Compatibility string
	// AllowedTools is the text of allowed-tools: a string verbatim, a list joined
	// by ", ".
	AllowedTools string
	// Metadata holds the entries of metadata in the file's order.
	Metadata []Pair
	// Unknown holds every top-level field that the specification does not know,
	// in the file's order.
	Unknown []Pair
	// Version is metadata.skillpm.version, else a strict-semver metadata.version;
	// the zero Version if neither is there.
	Version skill.Version
	// DeclaredVersion is the text of the first of metadata.skillpm.version,
	// metadata.version and the top-level version, strict or not.
	DeclaredVersion string
	// Retract is nil where nothing is withdrawn.
	Retract *Retraction
	// Requires holds the well-formed skillpm.requires entries in the file's
	// order, one a name.
	Requires []Dependency
	// Chain is nil unless metadata.chain names at least one member.
	Chain *Chain
	// BodyOffset is the offset of the first byte after the closing fence's line,
	// BodySize the number of bytes from there: the lock's size.body.
	BodyOffset, BodySize int
	// Repaired says that a plain value had to be quoted, in memory, before the
	// frontmatter was YAML.
	Repaired bool
}

// Requirements returns Requires as a map.
func (s *Skill) Requirements() map[skill.Name]skill.Requirement {
	m := make(map[skill.Name]skill.Requirement, len(s.Requires))
	for _, d := range s.Requires {
		m[d.Name] = d.Requirement
	}
	return m
}

// Meta returns the text of the metadata entry key, and whether there is one.
func (s *Skill) Meta(key string) (string, bool) {
	for _, p := range s.Metadata {
		if p.Key == key {
			return p.Text, true
		}
	}
	return "", false
}
