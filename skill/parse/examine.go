package parse

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// TreeFile is one file or link of a skill's directory.
type TreeFile struct {
	Path string // '/'-separated, relative
	Exec bool
	Size int64
	// Link is the target as written; empty for a regular file.
	Link string
}

// Examination is one skill with everything that validation read of it.
type Examination struct {
	// Report is the outcome of Validate.
	Report *Report
	// Dir is the skill's absolute directory; empty where the path names no single
	// skill, and then nothing below is set.
	Dir string
	// Label is the skill as the user named it.
	Label string
	// Skill and Data are nil if the frontmatter could not be read strictly.
	Skill *Skill
	Data  []byte
	// Files are the directory's files in the order of their paths, links as
	// links.
	Files []TreeFile
	// BrokenLinks says that a link of the directory cannot be followed inside it.
	BrokenLinks bool
	// Loaded is what ValidateOptions.Load made of the skill.
	Loaded Loaded
	// Training is nil if there is no valid training.zon.
	Training *Training
}

// Examine validates the one skill that target names. Dir is empty in the result
// if target is missing or a layer of skills; the report says which skills it has.
func Examine(ctx context.Context, target string, opt ValidateOptions) (*Examination, error) {
	v, err := validateAll(ctx, []string{target}, opt)
	if err != nil {
		return nil, err
	}
	x := &Examination{Report: v.report()}
	if len(v.skills) != 1 || len(v.faults) > 0 {
		return x, nil
	}
	s := v.skills[0]
	if given := path.Clean(filepath.ToSlash(target)); s.label != given && path.Base(given) != s.fileName {
		return x, nil // the only skill of a layer
	}
	x.Dir, x.Label = s.dir, s.label
	if s.readable {
		x.Skill, x.Data, x.Training = s.skill, s.data, s.training
	}
	if s.tree != nil {
		x.Files = s.tree.list()
	}
	x.BrokenLinks, x.Loaded = len(s.badLinks) > 0, s.loaded
	return x, nil
}

// list returns the tree's files in the order of their paths.
func (t *tree) list() []TreeFile {
	var files []TreeFile
	for _, f := range t.files {
		files = append(files, TreeFile{Path: f.path, Exec: f.mode&0o100 != 0, Size: f.size, Link: f.link})
	}
	slices.SortFunc(files, func(a, b TreeFile) int { return strings.Compare(a.Path, b.Path) })
	return files
}
