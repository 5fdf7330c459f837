package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Windows refuses to rename what another program holds open, and scanners hold
// new files open for moments. Two seconds is what cmd/go's robustio settled on.
const (
	renamePatience = 2 * time.Second
	renameFirst    = time.Millisecond
)

// Rename moves old to new, both below the root; a file at new is replaced. It
// tries again for up to two seconds where an open file is in the way.
func (r *Root) Rename(old, new string) error {
	old, err := r.existing(old)
	if err != nil {
		return err
	}
	if new, err = r.creatable(new); err != nil {
		return err
	}
	deadline := time.Now().Add(renamePatience)
	for pause := renameFirst; ; pause *= 2 {
		err := r.renameOnce(old, new)
		if !errors.Is(err, errBusy) && !isBusy(err) || time.Now().Add(pause).After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

func (r *Root) renameOnce(old, new string) error {
	return r.disk.do(OpRename, r.abs(new), func() error {
		if busy := r.disk.fakes().BusyRenames; busy != nil && busy.Add(-1) >= 0 {
			return &os.LinkError{Op: "rename", Old: r.abs(old), New: r.abs(new), Err: errBusy}
		}
		return r.full(r.root.Rename(old, new), new)
	})
}

// SyncDir brings the directory p, that is the names in it, to the disk. On
// Windows it does nothing: there is no such call.
func (r *Root) SyncDir(p string) error {
	p, err := r.target(p)
	if err != nil {
		return err
	}
	return r.disk.do(OpSyncDir, r.abs(p), func() error {
		f, err := r.root.Open(filepath.FromSlash(p))
		if err != nil {
			return r.full(err, p)
		}
		defer f.Close()
		return r.full(syncDir(f), p)
	})
}
