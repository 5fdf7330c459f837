package fetch

import (
	"context"
	"errors"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// LoadOptions tunes Load.
type LoadOptions struct {
	// Limits bounds the tree; the zero value means skill.DefaultLimits.
	Limits skill.Limits
	// Repository names the repository in errors.
	Repository string
	// Beside are places whose SKILL.md come with the same request, so that
	// SkillFiles finds them at hand. What is not there is left out.
	Beside []SkillAt
}

// Content is a skill as read from a commit.
type Content struct {
	Tree      *skill.Tree
	GitTree   ID        // git's id of the skill's directory
	SkillFile string    // SKILL.md as it is spelled in the tree
	Signature []byte    // the skill.oms.sig at the skill's root, nil if there is none
	Time      time.Time // committer time
}

// Sink receives the files of a skill, each path once, in no particular order,
// one call at a time. data is valid during the call only.
type Sink func(f skill.File, data []byte) error

// Load reads the skill in directory path ("" is the root) of commit and hands
// every file to sink as it arrives (sink may be nil: only the tree is wanted).
// When Load fails, what sink received so far is to be thrown away.
//
// Links that stay inside the repository become what they name, so the result
// holds regular files only. Refused are: no SKILL.md of any case there
// (skill_not_found), links that leave the repository, dangle or loop
// (symlink_escapes, symlink_dangling, symlink_loop), paths that no tree may hold
// (path_unsafe), too many or too large files (tree_too_large, counted while
// links are expanded), a signature of more than 8 MiB (signature_too_large), pointers of Git LFS (lfs_pointer) and submodules
// (submodule_in_skill). Several faults of links and paths are a diag.List.
func Load(ctx context.Context, s Snapshot, commit ID, path string, opt LoadOptions, sink Sink) (*Content, error) {
	var each func(int, skill.File, []byte) error
	if sink != nil {
		each = func(_ int, f skill.File, data []byte) error { return sink(f, data) }
	}
	loaded, err := LoadMany(ctx, s, []SkillAt{{commit, path}}, opt, each)
	if err != nil {
		return nil, err
	}
	return loaded[0].Content, loaded[0].Err
}

// place is a skill's directory, for messages.
type place struct{ repository, path string }

func (p place) String() string {
	dir := p.path
	if dir == "" {
		dir = "the repository's root"
	}
	if p.repository == "" {
		return diag.Escape(dir)
	}
	return diag.Escape(dir) + " of " + p.repository
}

// enter follows the path to the skill's directory.
func (p place) enter(v *view) (node, error) {
	at, err := v.walk(v.top(), p.path)
	switch {
	case errors.Is(err, errDangling):
		return node{}, p.notFound("there is no such directory")
	case isLinkFault(err):
		return node{}, diag.New(linkCode(err), "%s: the path %v", p, err)
	case err != nil:
		return node{}, err
	case !at.entry.IsDir():
		return node{}, p.notFound("that is a file, not a directory")
	}
	return at, nil
}

func (p place) notFound(why string) error {
	e := diag.New(diag.SkillNotFound, "no skill at %s: %s", p, why)
	if p.repository == "" {
		return e.WithHint("name the directory that holds SKILL.md")
	}
	return e.WithHint("`skillpm info %s` lists the skills of the repository", p.repository)
}
