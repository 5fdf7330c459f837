package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Op names a kind of file-system call.
type Op string

// The kinds of calls a Hook sees.
const (
	OpOpen    Op = "open"
	OpRead    Op = "read"
	OpStat    Op = "stat"
	OpReadDir Op = "readdir"
	OpCreate  Op = "create"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpClose   Op = "close"
	OpChmod   Op = "chmod"
	OpMkdir   Op = "mkdir"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpSymlink Op = "symlink"
	OpLink    Op = "link"
	OpSyncDir Op = "syncdir"
	OpTimes   Op = "times"
)

// Writes reports whether a call of this kind can change the disk.
func (op Op) Writes() bool {
	switch op {
	case OpOpen, OpRead, OpStat, OpReadDir, OpClose:
		return false
	}
	return true
}

// Call is what a Hook is told.
type Call struct {
	Op    Op
	Path  string // the path acted on; of a rename or link, the new one
	After bool   // false before the call, true after it
	Err   error  // after the call: what it returned
}

// Hook is called around every call. An error returned before the call replaces
// it: the disk is not touched. An error returned after it is reported although
// the call was done. Skip returned before a call leaves it out as if it had been
// done, which makes tests that do not pull the plug fast: syncs are most of
// their time. It must be safe for concurrent use.
type Hook func(Call) error

// Skip is what a Hook returns to leave a call out.
var Skip = errors.New("leave this call out")

// Fakes make the disk behave like others do. They are for tests.
type Fakes struct {
	NoSymlinks      bool // symbolic links are refused, as on Windows without the privilege
	NoHardlinks     bool // hard links are refused, as on FAT and across devices
	NoExec          bool // the executable bit is not kept, as on Windows
	CaseInsensitive bool // PDF and pdf are one name, as on macOS and Windows
	ReservedNames   bool // CON, NUL, "a:b", "a." and the like cannot be created, as on Windows
	MaxPath         int  // longest absolute path in bytes; 0 is no bound
	// BusyRenames is how many of the next renames fail because a file below is
	// open, as on Windows. nil fails none.
	BusyRenames *atomic.Int64
}

// FS is a disk. A nil *FS is the real one.
type FS struct {
	Hook  Hook
	Fakes Fakes
}

// do runs f between the two calls of the hook.
func (d *FS) do(op Op, path string, f func() error) error {
	if d == nil || d.Hook == nil {
		return f()
	}
	if err := d.Hook(Call{Op: op, Path: path}); err == Skip {
		return nil
	} else if err != nil {
		return &fs.PathError{Op: string(op), Path: path, Err: err}
	}
	err := f()
	if after := d.Hook(Call{Op: op, Path: path, After: true, Err: err}); after != nil && err == nil {
		return &fs.PathError{Op: string(op), Path: path, Err: after}
	}
	return err
}

func (d *FS) fakes() Fakes {
	if d == nil {
		return Fakes{}
	}
	return d.Fakes
}

// hooked reports whether somebody watches, so that compound calls must be made
// of single ones.
func (d *FS) hooked() bool { return d != nil && d.Hook != nil }

// OpenRoot opens an existing directory, following links to it.
func (d *FS) OpenRoot(dir string) (*Root, error) {
	var r *os.Root
	err := d.do(OpOpen, dir, func() (err error) {
		r, err = os.OpenRoot(dir)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Root{disk: d, root: r}, nil
}

// MakeRoot creates dir and its parents where needed and opens it.
func (d *FS) MakeRoot(dir string, perm fs.FileMode) (*Root, error) {
	r, err := d.OpenRoot(dir)
	if err == nil || !os.IsNotExist(err) {
		return r, err
	}
	if err := d.do(OpMkdir, dir, func() error { return os.MkdirAll(dir, perm) }); err != nil {
		return nil, err
	}
	return d.OpenRoot(dir)
}

// Stat returns what is at an absolute path, following links.
func (d *FS) Stat(path string) (info fs.FileInfo, err error) {
	err = d.do(OpStat, path, func() (err error) {
		info, err = os.Stat(path)
		return err
	})
	return info, err
}

// Open opens the file at an absolute path for reading. Its reads are not seen
// by the hook.
func (d *FS) Open(path string) (f *os.File, err error) {
	err = d.do(OpOpen, path, func() (err error) {
		f, err = os.Open(path)
		return err
	})
	return f, err
}

// WriteAtomic replaces the file at an absolute path, like Root.WriteAtomic; its
// directory must exist.
func (d *FS) WriteAtomic(path string, data []byte, perm fs.FileMode) error {
	root, err := d.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return root.WriteAtomic(filepath.Base(path), data, perm)
}

// Remove removes the file at an absolute path.
func (d *FS) Remove(path string) error {
	root, err := d.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Remove(filepath.Base(path))
}

// SyncDir brings the names in the directory at an absolute path to the disk.
func (d *FS) SyncDir(path string) error {
	root, err := d.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.SyncDir(".")
}
