package install

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// Agents look for SKILL.md at any depth of a target, some in dot directories
// too. What they would find below these bounds is theirs to say no to: deeper
// than any of them is known to look, and more directories than a target has.
const (
	unmanagedDepth = 6
	unmanagedDirs  = 2000
)

// scan looks for skills that nobody ordered.
type scan struct {
	*site
	known map[string]bool // places, and the directories of path skills in targets
	left  int             // directories that may still be entered
	found []spot
}

// findUnmanaged lists the skills in the targets that nobody ordered: whatever
// holds a SKILL.md, the target itself included, and every link. Directories that
// a place takes are not entered, so that a target of ours costs one listing. A
// directory that is too many to be entered is listed, never passed over.
func (s *site) findUnmanaged(v *view, want Desired) error {
	c := &scan{site: s, known: map[string]bool{}, left: unmanagedDirs}
	for _, p := range v.want {
		c.known[p.path()] = true
	}
	for _, p := range v.stale {
		c.known[p.path()] = true
	}
	targets, err := s.targets(want.Targets)
	if err != nil {
		return err
	}
	base, err := filepath.EvalSymlinks(s.layout.Root)
	if err != nil {
		return fsx.Diag(err, "open `"+s.layout.Root+"`")
	}
	for _, t := range targets {
		for _, p := range v.want { // a path skill may lie deeper in a target than a place
			if p.source == "" {
				continue
			}
			rel, err := filepath.Rel(filepath.Join(base, filepath.FromSlash(t.real)), p.source)
			if err == nil && filepath.IsLocal(rel) {
				c.known[path.Join(t.dir, filepath.ToSlash(rel))] = true
			}
		}
		infos, err := s.root.ReadDir(t.dir)
		if fsx.IsNotExist(err) {
			continue
		}
		if err != nil {
			return fsx.Diag(err, "read target `"+t.dir+"`")
		}
		if holdsSkill(infos) {
			c.add(t.dir)
		}
		c.below(t.dir, infos, 1)
	}
	v.unmanaged = c.found
	return nil
}

func (c *scan) add(p string) {
	dir, name := splitLast(p)
	c.found = append(c.found, spot{dir: dir, key: skill.Key(name)})
}

// below looks at the entries of dir, which is depth levels deep in its target. A
// skill is not searched for further skills: it is reported as a whole.
func (c *scan) below(dir string, infos []fs.FileInfo, depth int) {
	c.stats.Add(int64(len(infos)))
	for _, info := range infos {
		p := path.Join(dir, info.Name())
		switch {
		case c.known[p]:
		case isLink(info):
			if depth == 1 || c.leadsToSkill(p) {
				c.add(p)
			}
		case info.IsDir():
			c.enter(p, depth)
		}
	}
}

func (c *scan) enter(p string, depth int) {
	if c.left--; c.left < 0 {
		if c.left == -1 {
			c.add(p)
		}
		return
	}
	infos, err := c.root.ReadDir(p)
	switch {
	case err != nil: // an agent cannot read it either
	case holdsSkill(infos):
		c.add(p)
	case depth < unmanagedDepth:
		c.below(p, infos, depth+1)
	}
}

// leadsToSkill reports whether a skill lies right behind the link p; the link is
// not followed further.
func (c *scan) leadsToSkill(p string) bool {
	_, err := c.opt.FS.Stat(filepath.Join(c.layout.Root, filepath.FromSlash(p), "SKILL.md"))
	return err == nil
}

// holdsSkill reports whether a directory's entries have a SKILL.md, in any case
// of letters: agents on case-folding disks load those too.
func holdsSkill(infos []fs.FileInfo) bool {
	for _, info := range infos {
		if strings.EqualFold(info.Name(), "SKILL.md") {
			return true
		}
	}
	return false
}
