package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
)

// maxProjectFile bounds a manifest or lock that is saved for undoing.
const maxProjectFile = 64 << 20

// errChanged says that a place is no longer as the plan saw it.
type errChanged struct{ place string }

func (e *errChanged) Error() string { return "`" + e.place + "` was changed meanwhile" }

// finish brings the journal to its end, from wherever it stands.
func (g *staging) finish(j *journal) error {
	for _, dir := range j.Dirs {
		if err := g.site.root.MkdirAll(dir, 0o755); err != nil {
			return fsx.Diag(err, "create target `"+dir+"`")
		}
	}
	for n, sw := range j.Swaps {
		if err := g.swapIn(sw, n); err != nil {
			if e, ok := errors.AsType[*errChanged](err); ok {
				return diag.New(diag.InstallConflict, "%s", e).WithHint("run the command again; nothing was lost")
			}
			if fsx.IsCrossDevice(err) {
				return g.site.unsafeTarget(path.Dir(sw.Place), "it is on another file system than `"+g.site.layout.State+"`, so a skill cannot be swapped in at once").WithCause(err)
			}
			return fsx.Diag(err, "install `"+sw.Place+"`")
		}
	}
	for n, f := range j.Files {
		if err := g.fileIn(f, n); err != nil {
			return fsx.Diag(err, "write `"+g.name(f)+"`")
		}
	}
	return fsx.Diag(g.sync(j), "install")
}

// swapIn does one swap: the old away, the new in place. The staging directory
// tells what was done already.
func (g *staging) swapIn(sw swap, n int) error {
	root := g.site.root
	if sw.Old && sw.New && !g.there(g.old(n)) && !g.there(g.new(n)) {
		return nil // no run leaves it so: the journal is stale, and nothing may go
	}
	if sw.Old && !g.there(g.old(n)) && g.there(sw.Place) {
		if now, err := g.site.was(sw.Place); err != nil || now != sw.Was {
			if err == nil {
				err = &errChanged{sw.Place}
			}
			return err
		}
		if err := root.Rename(sw.Place, g.old(n)); err != nil {
			return err
		}
	}
	if !sw.New || !g.there(g.new(n)) {
		return nil
	}
	if g.there(sw.Place) {
		return &errChanged{sw.Place}
	}
	return root.Rename(g.new(n), sw.Place)
}

// there reports whether something is at p. A look that fails counts as
// something, so that the rename that follows says what is wrong.
func (g *staging) there(p string) bool {
	_, err := g.site.root.Lstat(p)
	return !fsx.IsNotExist(err)
}

// was describes what stands at a place, as in swap.Was.
func (s *site) was(p string) (string, error) {
	info, err := s.root.Lstat(p)
	if err != nil {
		return "", err
	}
	switch {
	case info.IsDir():
		_, sig, err := s.walk(s.root, p, info)
		if _, ok := faultOf(err); ok {
			return "odd", nil // forced: too much to sign, and given up by the user
		}
		return sig.sum, err
	case isLink(info):
		text, err := s.root.Readlink(p)
		return "link:" + cleanLink(text), err
	}
	return "other", nil
}

// fileIn puts a staged file in place. It was written and synced beside the
// journal, so this is a rename, which needs no space. A file that somebody
// changed since it was saved is left alone: theirs is newer.
func (g *staging) fileIn(f fileSwap, n int) error {
	staged := g.file(n)
	if !g.there(staged) {
		return nil
	}
	if f.Path != "" {
		changed, err := g.changedSince(f, n)
		if err != nil {
			return err
		}
		if changed {
			g.site.opt.Note(diag.Warn(diag.LockOutdated, "`%s` was changed while a run was unfinished, and was left as it is", filepath.Base(f.Path)))
			return g.site.root.Remove(staged)
		}
	}
	return g.move(staged, f)
}

func (g *staging) changedSince(f fileSwap, n int) (bool, error) {
	now, err := readFile(g.site.opt.FS, f.Path)
	if fsx.IsNotExist(err) {
		return f.Old, nil
	}
	if err != nil {
		return false, err
	}
	if !f.Old {
		return true, nil
	}
	old, err := g.site.root.ReadFile(g.file(n)+".old", maxProjectFile)
	return !bytes.Equal(now, old), err
}

// move renames a staged file to where f belongs; across file systems, as a
// configuration directory may be, it writes atomically instead.
func (g *staging) move(staged string, f fileSwap) error {
	if f.Path == "" {
		return g.site.root.Rename(staged, g.site.state(receiptName))
	}
	rel, err := filepath.Rel(g.site.layout.Root, f.Path)
	if err == nil && filepath.IsLocal(rel) {
		err := g.site.root.Rename(staged, filepath.ToSlash(rel))
		if err == nil || !fsx.IsCrossDevice(err) {
			return err
		}
	}
	data, err := g.site.root.ReadFile(staged, maxProjectFile)
	if err != nil {
		return err
	}
	info, err := g.site.root.Lstat(staged)
	if err != nil {
		return err
	}
	if err := g.site.opt.FS.WriteAtomic(f.Path, data, info.Mode().Perm()); err != nil {
		return err
	}
	return g.site.root.Remove(staged)
}

// undo brings everything back to where it was, from wherever it stands.
func (g *staging) undo(j *journal) error {
	for n := len(j.Files) - 1; n >= 0; n-- {
		if err := g.fileOut(j.Files[n], n); err != nil {
			return fsx.Diag(err, "restore `"+g.name(j.Files[n])+"`")
		}
	}
	for n := len(j.Swaps) - 1; n >= 0; n-- {
		if err := g.swapOut(j.Swaps[n], n); err != nil {
			return fsx.Diag(err, "restore `"+j.Swaps[n].Place+"`")
		}
	}
	for i := len(j.Dirs) - 1; i >= 0; i-- {
		if err := g.site.root.Remove(j.Dirs[i]); err != nil && g.there(j.Dirs[i]) && !g.filled(j.Dirs[i]) {
			return fsx.Diag(err, "restore")
		}
	}
	return nil
}

// filled reports whether a directory we made has got other content since.
func (g *staging) filled(dir string) bool {
	infos, err := g.site.root.ReadDir(dir)
	return err == nil && len(infos) > 0
}

func (g *staging) swapOut(sw swap, n int) error {
	root := g.site.root
	if sw.New && !g.there(g.new(n)) && g.there(sw.Place) {
		if err := root.Rename(sw.Place, g.new(n)); err != nil {
			return err
		}
	}
	if !sw.Old || !g.there(g.old(n)) {
		return nil
	}
	if g.there(sw.Place) {
		return &errChanged{sw.Place}
	}
	return root.Rename(g.old(n), sw.Place)
}

func (g *staging) fileOut(f fileSwap, n int) error {
	if g.there(g.file(n)) {
		return nil // was never put in place
	}
	if f.Old {
		if saved := g.file(n) + ".old"; g.there(saved) {
			return g.move(saved, f)
		}
		return nil
	}
	return g.removeFile(f)
}

func (g *staging) removeFile(f fileSwap) error {
	var err error
	if f.Path == "" {
		err = g.site.root.Remove(g.site.state(receiptName))
	} else {
		err = g.site.opt.FS.Remove(f.Path)
	}
	if fsx.IsNotExist(err) {
		return nil
	}
	return err
}

// sync brings the names to the disk before the journal goes: a power cut must
// not keep the one and lose the other.
func (g *staging) sync(j *journal) error {
	done := map[string]bool{}
	for _, sw := range j.Swaps {
		if dir := path.Dir(sw.Place); !done[dir] {
			done[dir] = true
			if err := g.site.root.SyncDir(dir); err != nil && !fsx.IsNotExist(err) {
				return err
			}
		}
	}
	for _, f := range j.Files {
		if dir := filepath.Dir(f.Path); f.Path != "" && !done[dir] {
			done[dir] = true
			if err := g.site.opt.FS.SyncDir(dir); err != nil {
				return err
			}
		}
	}
	return g.site.root.SyncDir(g.site.layout.State)
}

func (g *staging) name(f fileSwap) string {
	if f.Path == "" {
		return g.site.state(receiptName)
	}
	return filepath.Base(f.Path)
}

func readFile(disk *fsx.FS, name string) ([]byte, error) {
	root, err := disk.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(filepath.Base(name), maxProjectFile)
}

func permOf(disk *fsx.FS, name string, otherwise fs.FileMode) fs.FileMode {
	if info, err := disk.Stat(name); err == nil && info.Mode().IsRegular() {
		return info.Mode().Perm()
	}
	if otherwise == 0 {
		otherwise = os.FileMode(0o644)
	}
	return otherwise
}
