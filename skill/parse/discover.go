package parse

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// How far a layer is searched. The deepest real skill lies 9 levels down; the
// loaders themselves stop at 4 to 6 levels and 2,000 directories.
const (
	maxLayerDepth = 16
	maxLayerDirs  = 200_000
)

// found is one skill's directory below a layer.
type found struct {
	dir      string        // absolute, as reached: links are not resolved
	rel      string        // '/'-separated, relative to the layer, "" for the layer itself
	fileName string        // the skill file's spelling
	deep     bool          // more than one level below its layer
	fault    *diag.Error   // why it cannot be looked at
	entries  []fs.DirEntry // of dir, if it was listed
}

// layerWalk searches one layer.
type layerWalk struct {
	ctx   context.Context
	base  string
	limit int // directories still to be read
	depth int // the deepest level to search
	list  []found
	links []found // linked directories, judged after the rest
}

// discover lists the skills at or below base: a directory with a skill file is
// one and is not searched further. Dotted directories and node_modules are left
// out, as loaders do; a linked directory counts where its target is in the layer
// and not listed itself. complete is false where a limit ended the search.
func discover(ctx context.Context, base string, depth, dirs int) (list []found, complete bool, err error) {
	w := &layerWalk{ctx: ctx, base: base, limit: dirs, depth: depth}
	if err := w.dir("", 0, 0); err != nil {
		return nil, false, err
	}
	w.followLinks()
	return w.list, w.limit > 0, nil
}

func (w *layerWalk) dir(rel string, depth, level int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.limit--; w.limit <= 0 || depth > w.depth {
		return nil
	}
	dir := filepath.Join(w.base, filepath.FromSlash(rel))
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.list = append(w.list, found{dir: dir, rel: rel, fault: ioFinding(path.Join(".", rel), err)})
		return nil
	}
	if name := skillFileOf(entries); name != "" {
		w.list = append(w.list, found{dir: dir, rel: rel, fileName: name, deep: level > 1, entries: entries})
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		below := path.Join(rel, name)
		next := level + 1
		if name == "skills" {
			next = 0 // a layer of its own
		}
		switch {
		case strings.HasPrefix(name, ".") || name == "node_modules":
		case e.IsDir():
			if err := w.dir(below, depth+1, next); err != nil {
				return err
			}
		case e.Type()&fs.ModeSymlink != 0:
			w.links = append(w.links, found{dir: filepath.Join(dir, name), rel: below, deep: next > 1})
		}
	}
	return nil
}

// skillFileOf returns the skill file's spelling: SKILL.md if there is one, else
// another case of it, else "".
func skillFileOf(entries []fs.DirEntry) string {
	other := ""
	for _, e := range entries {
		switch name := e.Name(); {
		case name == FileName:
			return name
		case strings.EqualFold(name, FileName) && !e.IsDir():
			other = name
		}
	}
	return other
}

// followLinks adds the linked directories that are skills. A link to a skill
// that is listed already is an alias, not a second skill.
func (w *layerWalk) followLinks() {
	if len(w.links) == 0 {
		return
	}
	listed := map[string]bool{}
	for _, f := range w.list {
		listed[f.rel] = true
	}
	root, err := os.OpenRoot(w.base)
	if err != nil {
		return
	}
	defer root.Close()
	for _, l := range w.links {
		if skill, ok := linkedSkill(root, l, listed); ok {
			w.list = append(w.list, skill)
		}
	}
}

// linkedSkill judges a link in a layer. One that cannot be followed is reported
// where only skills' directories are expected: elsewhere it may be any file.
func linkedSkill(root *os.Root, l found, listed map[string]bool) (found, bool) {
	info, _, fault := followLink(root, l.rel)
	if fault != nil {
		if fault.code != diag.SymlinkEscapes {
			l.fault = diag.New(fault.code, "the link %s", fault.why)
			return l, path.Base(filepath.ToSlash(filepath.Dir(l.dir))) == "skills" && path.Ext(l.rel) == ""
		}
		outside, err := os.Stat(l.dir)
		if err != nil || !outside.IsDir() {
			return l, false
		}
		entries, err := os.ReadDir(l.dir)
		if err != nil || skillFileOf(entries) == "" {
			return l, false
		}
		l.fault = diag.New(fault.code, "the directory is a link that %s", strings.Replace(fault.why, "the skill", "the layer", 1))
		return l, true
	}
	if !info.IsDir() {
		return l, false
	}
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return l, false
	}
	if l.fileName = skillFileOf(entries); l.fileName == "" {
		return l, false
	}
	if real, err := filepath.EvalSymlinks(l.dir); err == nil {
		if base, err := filepath.EvalSymlinks(root.Name()); err == nil {
			if rel, err := filepath.Rel(base, real); err == nil && listed[filepath.ToSlash(rel)] {
				return l, false
			}
		}
	}
	return l, true
}
