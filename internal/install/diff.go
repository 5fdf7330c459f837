package install

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// MaxDiffBytes bounds the content a FileDiff carries: larger files are compared
// by hash alone.
const MaxDiffBytes = 1 << 20

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
	Data []byte // nil when larger than MaxDiffBytes, or no regular file
	// Odd says that a link or a special file is there; File has its path only.
	Odd bool
}

// Diff compares the installed skill at place (target/key) with the stored tree
// d, file by file, ordered by path. Equal files are left out. A tree that the
// store lacks is a *DamagedError; nothing at place is verify_missing.
func Diff(ctx context.Context, layout Layout, opt Options, place string, d skill.Digest) ([]FileDiff, error) {
	s, err := openSite(layout, opt)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.opt.Store == nil {
		return nil, errNoStore
	}
	model, err := s.opt.Store.Manifest(d)
	if isMissing(err) {
		return nil, &DamagedError{Trees: []skill.Digest{d}}
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.root.Lstat(place); fsx.IsNotExist(err) {
		return nil, diag.New(diag.VerifyMissing, "`%s` is not installed", place)
	}
	c, root, err := s.readAt(ctx, place)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return s.diffFiles(c, root, model, d)
}

func (s *site) diffFiles(c *content, root *fsx.Root, model *skill.Tree, d skill.Digest) ([]FileDiff, error) {
	now := map[string]FileState{}
	for _, e := range slices.Concat(c.odd, c.extraDirs(model)) {
		now[e.path] = FileState{File: skill.File{Path: e.path}, Odd: true}
	}
	for _, f := range c.files {
		now[f.Path] = FileState{File: f}
	}
	var list []FileDiff
	for _, old := range model.Files() {
		got, ok := now[old.Path]
		delete(now, old.Path)
		if !s.keepsExec() {
			got.File.Exec = old.Exec
		}
		if ok && !got.Odd && got.File == old {
			continue
		}
		diff := FileDiff{Path: old.Path, Old: &FileState{File: old}}
		if ok {
			diff.New = &got
		}
		list = append(list, diff)
	}
	for p, got := range now {
		list = append(list, FileDiff{Path: p, New: &got})
	}
	slices.SortFunc(list, func(a, b FileDiff) int { return strings.Compare(a.Path, b.Path) })
	for _, diff := range list {
		if err := s.loadDiff(diff, root, d); err != nil {
			return nil, fsx.Diag(err, "compare `"+diff.Path+"`")
		}
	}
	return list, nil
}

// loadDiff reads the contents that are small enough. A stored file that does not
// match is a damaged tree.
func (s *site) loadDiff(diff FileDiff, root *fsx.Root, d skill.Digest) error {
	var err error
	if diff.New != nil && !diff.New.Odd && diff.New.File.Size <= MaxDiffBytes {
		if diff.New.Data, err = root.ReadFile(diff.Path, MaxDiffBytes); err != nil {
			return err
		}
	}
	if diff.Old == nil || diff.Old.File.Size > MaxDiffBytes {
		return nil
	}
	f, err := s.opt.Store.Open(d, diff.Path)
	if err == nil {
		defer f.Close()
		diff.Old.Data, err = io.ReadAll(io.LimitReader(f, MaxDiffBytes))
	}
	if err != nil && !isMissing(err) {
		return err
	}
	if err != nil || skill.DigestOf(diff.Old.Data) != skill.DigestFromSum(diff.Old.File.SHA256) {
		if err := s.opt.Store.Discard(d); err != nil {
			return err
		}
		return &DamagedError{Trees: []skill.Digest{d}}
	}
	return nil
}
