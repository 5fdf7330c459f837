package fetch

import (
	"context"
	"time"

	"github.com/skillpm/skillpm/skill"
)

// LoadOptions tunes Load.
type LoadOptions struct {
	// Limits bounds the tree; the zero value means skill.DefaultLimits.
	Limits skill.Limits
	// Repository names the repository in errors.
	Repository string
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
// links are expanded), pointers of Git LFS (lfs_pointer) and submodules
// (submodule_in_skill).
func Load(ctx context.Context, s Snapshot, commit ID, path string, opt LoadOptions, sink Sink) (*Content, error) {
	return nil, errNotYet
}

// SkillAt is a place to look for a skill.
type SkillAt struct {
	Commit ID
	Path   string // directory, "" is the root
}

// SkillFile is the SKILL.md of one place.
type SkillFile struct {
	At      SkillAt
	Name    string // as it is spelled in the tree
	Data    []byte
	GitTree ID // git's id of the directory
	Err     error
}

// SkillFiles reads the SKILL.md of many places, with as few requests as links
// allow (usually one). The result has the order of at. A place without a skill
// has Err set (code skill_not_found, rule T6: its tag is no candidate); the
// function's own error is one that concerns all.
func SkillFiles(ctx context.Context, s Snapshot, at []SkillAt) ([]SkillFile, error) {
	return nil, errNotYet
}
