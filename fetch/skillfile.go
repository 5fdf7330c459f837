package fetch

import (
	"context"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
)

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
	out, ids, err := findSkills(ctx, newObjects(s), at)
	if err != nil {
		return nil, err
	}
	blobs := map[ID][]int{}
	var order []ID
	for i, id := range ids {
		if out[i].Err != nil {
			continue
		}
		if blobs[id] == nil {
			order = append(order, id)
		}
		blobs[id] = append(blobs[id], i)
	}
	err = s.Blobs(ctx, order, func(id ID, data []byte) error {
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

// FindSkills is SkillFiles without Data: no file is read, and nothing is
// requested but links on the way.
func FindSkills(ctx context.Context, s Snapshot, at []SkillAt) ([]SkillFile, error) {
	out, _, err := findSkills(ctx, newObjects(s), at)
	return out, err
}

// findSkills returns the blobs of the SKILL.md files, too.
func findSkills(ctx context.Context, o *objects, at []SkillAt) ([]SkillFile, []ID, error) {
	out := make([]SkillFile, len(at))
	ids := make([]ID, len(at))
	err := o.settle(ctx, func() error {
		for i, a := range at {
			out[i] = SkillFile{At: a}
			ids[i], out[i].Err = out[i].find(o)
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, nil, err
	}
	return out, ids, nil
}

// find sets Name and GitTree and returns the blob of the SKILL.md.
func (f *SkillFile) find(o *objects) (ID, error) {
	v, _, err := o.view(f.At.Commit)
	if err != nil {
		return "", err
	}
	where := place{path: f.At.Path}
	at, err := where.enter(v)
	if err != nil {
		return "", err
	}
	name, n, err := where.skillFile(v, at)
	f.Name, f.GitTree = name, at.entry.ID
	return n.entry.ID, err
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
