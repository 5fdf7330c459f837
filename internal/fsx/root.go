package fsx

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Root is a directory that paths cannot leave: os.Root with hooks and fakes.
// Safe for concurrent use.
type Root struct {
	disk *FS
	root *os.Root
	// follow lets paths lead through absolute links that end inside; hops are the
	// directories looked at for it, each with where it leads.
	follow bool
	hops   sync.Map

	self     sync.Once
	selfFile *os.File // the directory itself, opened by linkFrom
	selfErr  error
}

// FollowInside makes paths lead through absolute links too, as long as they end
// inside the root; os.Root alone refuses every absolute link. It must be called
// before the root is shared. Links are looked at once: one that is exchanged
// later is refused, or leads where it led.
func (r *Root) FollowInside() { r.follow = true }

// Name returns the directory as it was opened.
func (r *Root) Name() string { return r.root.Name() }

// Close closes the directory. Files opened through it stay open.
func (r *Root) Close() error {
	if r.selfFile != nil {
		r.selfFile.Close()
	}
	return r.root.Close()
}

// abs returns p for messages and hooks.
func (r *Root) abs(p string) string { return filepath.Join(r.root.Name(), filepath.FromSlash(p)) }

// Sub opens the directory at p as a root of its own.
func (r *Root) Sub(p string) (*Root, error) {
	p, err := r.target(p)
	if err != nil {
		return nil, err
	}
	var sub *os.Root
	err = r.disk.do(OpOpen, r.abs(p), func() (err error) {
		sub, err = r.root.OpenRoot(p)
		return r.full(err, p)
	})
	if err != nil {
		return nil, err
	}
	return &Root{disk: r.disk, root: sub}, nil
}

// full puts the whole path into an error of os.Root, which names the relative one.
func (r *Root) full(err error, p string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: e.Op, Path: r.abs(p), Err: e.Err}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return &os.LinkError{Op: e.Op, Old: r.abs(e.Old), New: r.abs(p), Err: e.Err}
	}
	return err
}

// Open opens the file or directory at p for reading.
func (r *Root) Open(p string) (f *os.File, err error) {
	if p, err = r.target(p); err != nil {
		return nil, err
	}
	err = r.disk.do(OpOpen, r.abs(p), func() (err error) {
		f, err = r.root.Open(p)
		return r.full(err, p)
	})
	return f, err
}

// ReadFile returns the content of the file at p, at most limit bytes; a longer
// file is an error. limit 0 is no bound.
func (r *Root) ReadFile(p string, limit int64) ([]byte, error) {
	f, err := r.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data []byte
	err = r.disk.do(OpRead, r.abs(p), func() (err error) {
		if limit == 0 {
			data, err = io.ReadAll(f)
			return r.full(err, p)
		}
		data, err = io.ReadAll(io.LimitReader(f, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = &fs.PathError{Op: "read", Path: r.abs(p), Err: ErrTooLarge}
		}
		return r.full(err, p)
	})
	return data, err
}

// Lstat returns what is at p without following a link there.
func (r *Root) Lstat(p string) (info fs.FileInfo, err error) {
	if p, err = r.existing(p); err != nil {
		return nil, err
	}
	err = r.disk.do(OpStat, r.abs(p), func() (err error) {
		info, err = r.root.Lstat(p)
		return r.full(err, p)
	})
	return info, err
}

// Stat returns what is at p, following links inside the root.
func (r *Root) Stat(p string) (info fs.FileInfo, err error) {
	if p, err = r.target(p); err != nil {
		return nil, err
	}
	err = r.disk.do(OpStat, r.abs(p), func() (err error) {
		info, err = r.root.Stat(p)
		return r.full(err, p)
	})
	return info, err
}

// Readlink returns the text of the link at p.
func (r *Root) Readlink(p string) (text string, err error) {
	if p, err = r.existing(p); err != nil {
		return "", err
	}
	err = r.disk.do(OpStat, r.abs(p), func() (err error) {
		text, err = r.root.Readlink(p)
		return r.full(err, p)
	})
	return text, err
}

// ReadDir returns the entries of the directory at p, sorted by name, each with
// its Lstat.
func (r *Root) ReadDir(p string) ([]fs.FileInfo, error) {
	p, err := r.target(p)
	if err != nil {
		return nil, err
	}
	var infos []fs.FileInfo
	err = r.disk.do(OpReadDir, r.abs(p), func() error {
		f, err := r.root.Open(p)
		if err != nil {
			return r.full(err, p)
		}
		defer f.Close()
		infos, err = f.Readdir(-1)
		return r.full(err, p)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return infos, nil
}

// Mkdir creates the directory p.
func (r *Root) Mkdir(p string, perm fs.FileMode) error {
	p, err := r.creatable(p)
	if err != nil {
		return err
	}
	return r.disk.do(OpMkdir, r.abs(p), func() error { return r.full(r.root.Mkdir(p, perm), p) })
}

// MkdirAll creates the directory p and its parents where they are missing.
func (r *Root) MkdirAll(p string, perm fs.FileMode) error {
	if info, err := r.Stat(p); err == nil && info.IsDir() {
		return nil
	}
	if parent := path.Dir(p); parent != "." && parent != p {
		if err := r.MkdirAll(parent, perm); err != nil {
			return err
		}
	}
	if err := r.Mkdir(p, perm); err != nil && !os.IsExist(err) {
		return err
	}
	info, err := r.Stat(p)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: r.abs(p), Err: ErrNotDirectory}
	}
	return nil
}

// Chmod sets the permission bits of the file at p, before nothing: no umask.
func (r *Root) Chmod(p string, perm fs.FileMode) error {
	p, err := r.existing(p)
	if err != nil {
		return err
	}
	return r.disk.do(OpChmod, r.abs(p), func() error { return r.full(r.root.Chmod(p, perm), p) })
}

// Remove removes the file, link or empty directory at p.
func (r *Root) Remove(p string) error {
	p, err := r.existing(p)
	if err != nil {
		return err
	}
	return r.disk.do(OpRemove, r.abs(p), func() error { return r.full(r.root.Remove(p), p) })
}

// RemoveAll removes p and what is below it; a missing p is no error.
func (r *Root) RemoveAll(p string) error {
	if !r.disk.hooked() {
		p, err := r.existing(p)
		if err != nil {
			return err
		}
		return r.full(r.root.RemoveAll(p), p)
	}
	// A kill can fall between any two removals, so a watcher sees each.
	info, err := r.Lstat(p)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := r.ReadDir(p)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := r.RemoveAll(path.Join(p, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := r.Remove(p); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Symlink makes p a symbolic link to a directory, with the given text, which may
// point anywhere: it is followed only inside the root. The directory need not
// be there yet.
func (r *Root) Symlink(text, p string) error {
	p, err := r.creatable(p)
	if err != nil {
		return err
	}
	return r.disk.do(OpSymlink, r.abs(p), func() error {
		if r.disk.fakes().NoSymlinks {
			return &os.LinkError{Op: "symlink", Old: text, New: r.abs(p), Err: errNoLinks}
		}
		err := r.symlink(filepath.FromSlash(text), p)
		if e, ok := errors.AsType[*os.LinkError](err); ok {
			return &os.LinkError{Op: e.Op, Old: text, New: r.abs(p), Err: e.Err}
		}
		return err
	})
}

// LinkFrom makes p a hard link to the file at the absolute path old, which may
// lie outside the root.
func (r *Root) LinkFrom(old, p string) error {
	p, err := r.creatable(p)
	if err != nil {
		return err
	}
	return r.disk.do(OpLink, r.abs(p), func() error {
		if r.disk.fakes().NoHardlinks {
			return &os.LinkError{Op: "link", Old: old, New: r.abs(p), Err: errNoLinks}
		}
		if err := r.linkFrom(old, p); err != nil {
			return &os.LinkError{Op: "link", Old: old, New: r.abs(p), Err: err}
		}
		return nil
	})
}
