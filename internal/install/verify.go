package install

import (
	"context"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Finding is one difference between what is wanted and what is on disk.
type Finding struct {
	Code diag.Code `json:"code"` // verify_changed, verify_missing, verify_extra or skill_unlocked
	Key  skill.Key `json:"key"`
	// Place is the slash path of the skill's directory below the root.
	Place string `json:"place"`
	// File is the slash path of the file inside the skill; empty when the whole
	// skill is meant.
	File string `json:"file,omitempty"`
	// Detail says expected and found, lower case, no full stop.
	Detail string `json:"detail"`
}

// Diag returns the finding as a diagnostic; skill_unlocked becomes a note
// unless strict.
func (f Finding) Diag(strict bool) *diag.Error { return f.diagnostic(strict) }

// Report is what Verify found, ordered by place, file and code.
type Report struct {
	Findings []Finding
	// Skills, Files and Bytes count what was hashed.
	Skills, Files int
	Bytes         int64
}

// Verify hashes every wanted skill in every target and compares it with want.
// It takes no lock and writes nothing. Path skills are checked for being in
// place only. The error is for what could not be read, not for findings.
func Verify(ctx context.Context, layout Layout, opt Options, want Desired) (*Report, error) {
	return verify(ctx, layout, opt, want)
}

// FileDiff is one file that differs between the store's tree and the disk.
type FileDiff struct {
	Path string `json:"path"`
	// Old is the stored file, nil for one that was added; New is the one on
	// disk, nil for one that was removed.
	Old, New *FileState
}

// FileState is a file's mode, hash and, up to MaxDiffBytes, content.
type FileState struct {
	File skill.File
	Data []byte // nil when larger than MaxDiffBytes
}

// MaxDiffBytes bounds the content a FileDiff carries: larger files are compared
// by hash alone.
const MaxDiffBytes = 1 << 20

// Diff compares the installed skill at place (target/key) with the stored tree
// d, file by file, ordered by path. Equal files are left out.
func Diff(ctx context.Context, layout Layout, opt Options, place string, d skill.Digest) ([]FileDiff, error) {
	return diff(ctx, layout, opt, place, d)
}

// Tree hashes the directory at the slash path place below the root and returns
// its tree, the signature file's bytes apart (nil without one).
func Tree(ctx context.Context, layout Layout, opt Options, place string) (*skill.Tree, []byte, error) {
	return treeAt(ctx, layout, opt, place)
}
