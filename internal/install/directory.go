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
}

func (g *staging) directory(p string) (*directory, error) {
	if err := g.site.root.Mkdir(p, 0o755); err != nil {
		return nil, err
	}
	root, err := g.site.root.Sub(p)
	if err != nil {
		return nil, err
	}
	return &directory{root, map[string]bool{".": true}}, nil
}

func (d *directory) parent(p string) error {
	dir := path.Dir(p)
	if d.made[dir] {
		return nil
	}
	if err := d.parent(dir); err != nil {
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
	if err := d.parent(want.Path); err != nil {
		return got, err
	}
	perm := os.FileMode(0o644)
	if want.Exec {
		perm = 0o755
	}
	out, err := d.root.Create(want.Path, perm)
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

func (d *directory) link(old, p string) error {
	if err := d.parent(p); err != nil {
		return err
	}
	return d.root.LinkFrom(old, p)
}
