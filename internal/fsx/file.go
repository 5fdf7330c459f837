package fsx

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// File is a new file that is being written. Not safe for concurrent use.
type File struct {
	disk *FS
	f    *os.File
	path string
}

// Create makes the new file p; anything that is already there is an error.
func (r *Root) Create(p string, perm fs.FileMode) (*File, error) {
	p, err := r.creatable(p)
	if err != nil {
		return nil, err
	}
	if r.disk.fakes().NoExec {
		perm &^= 0o111
	}
	out := &File{disk: r.disk, path: r.abs(p)}
	err = r.disk.do(OpCreate, out.path, func() (err error) {
		out.f, err = r.root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return r.full(err, p)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Write writes b.
func (f *File) Write(b []byte) (n int, err error) {
	err = f.disk.do(OpWrite, f.path, func() (err error) {
		n, err = f.f.Write(b)
		return f.full(err)
	})
	return n, err
}

// Sync brings the content to the disk.
func (f *File) Sync() error {
	return f.disk.do(OpSync, f.path, func() error { return f.full(f.f.Sync()) })
}

// Close closes the file. Even when the hook refuses, nothing stays open.
func (f *File) Close() error {
	err := f.disk.do(OpClose, f.path, func() error { return f.full(f.f.Close()) })
	if err != nil {
		f.f.Close()
	}
	return err
}

func (f *File) full(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: e.Op, Path: f.path, Err: e.Err}
	}
	return err
}

// WriteFile makes the new file p with data, neither atomic nor synced.
func (r *Root) WriteFile(p string, data []byte, perm fs.FileMode) error {
	return r.write(p, data, perm, false)
}

// WriteSynced makes the new file p with data and exactly the permission bits
// perm, and brings the content, not the name, to the disk.
func (r *Root) WriteSynced(p string, data []byte, perm fs.FileMode) error {
	return r.write(p, data, perm, true)
}

func (r *Root) write(p string, data []byte, perm fs.FileMode, sync bool) error {
	f, err := r.Create(p, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// TemporaryName returns the name under which WriteAtomic prepares the file p. It
// is always the same, so that the next run under the same lock finds and removes
// what a killed one left.
func TemporaryName(p string) string {
	return path.Join(path.Dir(p), "."+path.Base(p)+".skillpm-tmp")
}

// WriteAtomic replaces the file p, or creates it with perm: a reader sees the old
// content or the new. The permission bits of a file that is there stay. It is on
// disk when WriteAtomic returns. Two writers of one file must hold a lock.
func (r *Root) WriteAtomic(p string, data []byte, perm fs.FileMode) error {
	if info, err := r.Lstat(p); err == nil && info.Mode().IsRegular() {
		perm = info.Mode().Perm()
	}
	return r.writeVia(TemporaryName(p), p, data, perm, true)
}

// WriteRacing replaces the file p when several processes may do so at once: the
// last rename wins. It does not sync.
func (r *Root) WriteRacing(p string, data []byte, perm fs.FileMode) error {
	return r.writeVia(path.Join(path.Dir(p), ".tmp-"+rand.Text()), p, data, perm, false)
}

func (r *Root) writeVia(temporary, p string, data []byte, perm fs.FileMode, sync bool) (err error) {
	if err := r.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := r.Create(temporary, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.f.Close()
			r.Remove(temporary) // best effort: the next run removes it too
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if sync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := r.Rename(temporary, p); err != nil {
		return err
	}
	if sync {
		return r.SyncDir(path.Dir(p))
	}
	return nil
}
