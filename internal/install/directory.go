package install

import (
	"io"
	"os"
	"path"

	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// directory is a new directory that is being filled by one goroutine.
type directory struct {
	root *fsx.Root
	made map[string]bool
	// last is the directory that the last file went to, kept open: files come in
	// the order of their paths, so the next one mostly goes there too.
	last    *fsx.Root
	lastDir string
}

func (g *staging) directory(p string) (*directory, error) {
	if err := g.site.root.Mkdir(p, 0o755); err != nil {
		return nil, err
	}
	root, err := g.site.root.Sub(p)
	if err != nil {
		return nil, err
	}
	return &directory{root: root, made: map[string]bool{".": true}}, nil
}

func (d *directory) close() {
	if d.last != nil {
		d.last.Close()
	}
	d.root.Close()
}

// parent returns the open directory of the file p, made where needed.
func (d *directory) parent(p string) (*fsx.Root, error) {
	dir := path.Dir(p)
	if dir == "." {
		return d.root, nil
	}
	if d.last != nil && d.lastDir == dir {
		return d.last, nil
	}
	if err := d.mkdir(dir); err != nil {
		return nil, err
	}
	next, err := d.root.Sub(dir)
	if err != nil {
		return nil, err
	}
	if d.last != nil {
		d.last.Close()
	}
	d.last, d.lastDir = next, dir
	return next, nil
}

func (d *directory) mkdir(dir string) error {
	if d.made[dir] {
		return nil
	}
	if err := d.mkdir(path.Dir(dir)); err != nil {
		return err
	}
	d.made[dir] = true
	return d.root.Mkdir(dir, 0o755)
}

// copy writes the content of in, at most want.Size bytes, and returns what it
// wrote with its hash: reading, hashing and writing in one pass, so the bytes
// that were verified are the bytes that were installed.
func (d *directory) copy(in io.Reader, want skill.File) (skill.File, error) {
	got := skill.File{Path: want.Path, Exec: want.Exec}
	parent, err := d.parent(want.Path)
	if err != nil {
		return got, err
	}
	perm := os.FileMode(0o644)
	if want.Exec {
		perm = 0o755
	}
	out, err := parent.Create(path.Base(want.Path), perm)
	if err != nil {
		return got, err
	}
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	got.SHA256, got.Size, err = h.file(in, out, want.Size)
	closed := out.Close()
	if _, ok := faultOf(err); ok {
		return got, closed // longer than wanted: the size tells
	}
	if err != nil {
		return got, err
	}
	return got, closed
}

// link makes p a hard link to the file at the absolute path old.
func (d *directory) link(old, p string) error {
	parent, err := d.parent(p)
	if err != nil {
		return err
	}
	return parent.LinkFrom(old, path.Base(p))
}
