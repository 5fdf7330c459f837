package fetch

import (
	"context"

	"github.com/skillpm/skillpm/internal/diag"
)

// Discovery is every skill of a commit.
type Discovery struct {
	Skills  []Found // sorted by Path
	Aliases []Alias // sorted by Path
	// Problems are SKILL.md files that cannot be skills (a dangling link, a
	// directory of that name) and directories with unusable names, as notes.
	Problems []*diag.Error
}

// Found is a directory with a SKILL.md.
type Found struct {
	Path string // directory, "" is the root
	File string // SKILL.md as it is spelled; the exact spelling wins over others
	Tree ID     // git's id of the directory: equal ids are equal content
	// Excluded is the path element (tests, examples, node_modules, …) for which
	// the skill is left out of default listings, or "".
	Excluded string
	// Nested says that the skill lies inside another skill, whose directory is Outer.
	Nested bool
	Outer  string
}

// Alias is a link whose target is a skill's directory.
type Alias struct {
	Path   string // the link
	Target string // the skill's directory
}

// Discover finds every directory of commit that has a SKILL.md (in any case,
// the exact spelling first). Linked directories are not entered: one that names
// a skill is an alias, not a second skill. Nothing is dropped: skills nested in
// others and those under tests, examples and the like are flagged.
func Discover(ctx context.Context, s Snapshot, commit ID) (*Discovery, error) {
	return nil, errNotYet
}

// Listed returns the skills that a listing shows by default: neither excluded
// nor nested, and of several with equal content only the first.
func (d *Discovery) Listed() []Found { return nil }

// At returns the skill in directory path, following aliases.
func (d *Discovery) At(path string) (Found, bool) { return Found{}, false }

// Sibling finds the skill that one in directory parent means by name: in
// parent's own parent directory, else deeper below that, by the last path
// element. A root skill's parent directory is the repository's root. Several
// hits are ambiguous_skill, none is skill_not_found.
func (d *Discovery) Sibling(parent, name string) (Found, error) { return Found{}, errNotYet }
