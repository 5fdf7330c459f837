package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
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
// (submodule_in_skill). Several faults of links and paths are a diag.List.
func Load(ctx context.Context, s Snapshot, commit ID, path string, opt LoadOptions, sink Sink) (*Content, error) {
	v, c, err := newView(s, commit)
	if err != nil {
		return nil, err
	}
	if opt.Limits == (skill.Limits{}) {
		opt.Limits = skill.DefaultLimits
	}
	where := place{repository: opt.Repository, path: path}
	var plan *expander
	err = v.settle(ctx, func() error {
		at, err := where.enter(v)
		if err != nil {
			return err
		}
		plan = &expander{v: v, ctx: ctx, place: where, limits: opt.Limits}
		return plan.run(at)
	})
	if err != nil {
		return nil, err
	}
	if err := plan.findings.Err(); err != nil {
		return nil, err
	}
	content := &Content{GitTree: plan.gitTree, SkillFile: plan.skillFile, Time: c.Time}
	content.Tree, content.Signature, err = plan.read(sink)
	if err != nil {
		return nil, err
	}
	return content, nil
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

// read fetches the planned files and hands them on.
func (x *expander) read(sink Sink) (*skill.Tree, []byte, error) {
	paths := make(map[ID][]int, len(x.files))
	ids := make([]ID, 0, len(x.files))
	for i, f := range x.files {
		if paths[f.id] == nil {
			ids = append(ids, f.id)
		}
		paths[f.id] = append(paths[f.id], i)
	}
	files := make([]skill.File, 0, len(x.files))
	var signature []byte
	var total int64
	err := x.v.s.Blobs(x.ctx, ids, func(id ID, data []byte) error {
		sum := sha256.Sum256(data)
		for _, i := range paths[id] {
			planned := x.files[i]
			if int64(len(data)) > x.limits.FileBytes {
				return x.tooLarge("file %q has %d bytes; the limit is %d", planned.path, len(data), x.limits.FileBytes)
			}
			if planned.path == skill.SignatureFile {
				signature = slices.Clone(data)
				if signature == nil {
					signature = []byte{}
				}
				continue
			}
			if isLFSPointer(data) {
				x.lfsPointer(planned.path)
				continue
			}
			if total += int64(len(data)); total > x.limits.Bytes {
				return x.tooLarge("more than %d bytes in all", x.limits.Bytes)
			}
			f := skill.File{Path: planned.path, Exec: planned.exec, Size: int64(len(data)), SHA256: sum}
			files = append(files, f)
			if sink == nil {
				continue
			}
			if err := sink(f, data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if err := x.findings.Err(); err != nil {
		x.findings.Sort()
		return nil, nil, x.findings.Err()
	}
	tree, err := skill.NewTree(files, x.limits)
	if err != nil {
		return nil, nil, x.treeFault(err)
	}
	return tree, signature, nil
}

func (x *expander) treeFault(err error) error {
	return diag.New(diag.Code(skill.CodeOf(err)), "%s: %v", x.place, err)
}

// lfsHeader begins every pointer file of Git LFS, which by its specification
// have fewer than 1024 bytes.
var lfsHeader = []byte("version https://git-lfs.github.com/spec/v1\n")

func isLFSPointer(data []byte) bool {
	return len(data) < 1024 && bytes.HasPrefix(data, lfsHeader) && bytes.Contains(data, []byte("\noid sha256:"))
}

func (x *expander) lfsPointer(path string) {
	x.finding(diag.LfsPointer, path, "`%s` is a pointer of Git LFS, not the file itself", "the author has to commit the file itself, or the skill has to do without it")
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

// MaxSkillFile is the largest SKILL.md that is read, in bytes: the largest of
// 14,569 real ones has 294 KB.
const MaxSkillFile = 4 << 20

// SkillFiles reads the SKILL.md of many places, with as few requests as links
// allow (usually one). The result has the order of at. A place without a skill
// has Err set (code skill_not_found, rule T6: its tag is no candidate); the
// function's own error is one that concerns all.
func SkillFiles(ctx context.Context, s Snapshot, at []SkillAt) ([]SkillFile, error) {
	out := make([]SkillFile, len(at))
	blobs := map[ID][]int{}
	for i, a := range at {
		out[i].At = a
		id, err := out[i].find(ctx, s)
		if _, fault := errors.AsType[*diag.Error](err); fault && diag.CodeOf(err) != diag.PackInvalid {
			out[i].Err = err
			continue
		}
		if err != nil {
			return nil, err
		}
		blobs[id] = append(blobs[id], i)
	}
	ids := make([]ID, 0, len(blobs))
	for id := range blobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	err := s.Blobs(ctx, ids, func(id ID, data []byte) error {
		for _, i := range blobs[id] {
			if len(data) > MaxSkillFile {
				out[i].Err = diag.New(diag.TreeTooLarge, "%s: `%s` has %d bytes; the limit is %d",
					place{path: out[i].At.Path}, out[i].Name, len(data), MaxSkillFile)
				continue
			}
			out[i].Data = slices.Clone(data)
		}
		return nil
	})
	return out, err
}

// find sets Name and GitTree and returns the blob of the SKILL.md.
func (f *SkillFile) find(ctx context.Context, s Snapshot) (ID, error) {
	v, _, err := newView(s, f.At.Commit)
	if err != nil {
		return "", err
	}
	where := place{path: f.At.Path}
	var id ID
	err = v.settle(ctx, func() error {
		at, err := where.enter(v)
		if err != nil {
			return err
		}
		file, n, err := where.skillFile(v, at)
		if err != nil {
			return err
		}
		f.Name, f.GitTree, id = file, at.entry.ID, n.entry.ID
		return nil
	})
	return id, err
}

// skillFile finds the SKILL.md in directory at.
func (p place) skillFile(v *view, at node) (name string, n node, err error) {
	list, err := v.dir(at.entry.ID)
	if err != nil {
		return "", node{}, err
	}
	for _, e := range skillFiles(list) {
		if !e.IsFile() && !e.IsLink() {
			continue
		}
		n, err := v.walk(at.at, e.Name)
		switch {
		case isLinkFault(err):
			return "", node{}, diag.New(linkCode(err), "%s: the link `%s` %v", p, e.Name, err)
		case err != nil:
			return "", node{}, err
		case n.entry.IsFile():
			return e.Name, n, nil
		}
	}
	return "", node{}, p.notFound("the directory has no SKILL.md")
}

// hasSignatureName reports whether name is the signature's in some spelling.
func hasSignatureName(name string) bool {
	return strings.EqualFold(name, skill.SignatureFile) || skill.FoldPath(name) == skill.SignatureFile
}
