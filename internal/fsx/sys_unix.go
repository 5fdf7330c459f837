//go:build unix

package fsx

import (
	"errors"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

func syncDir(f *os.File) error {
	err := f.Sync()
	// Some network and FUSE file systems have no sync of a directory.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

func (r *Root) symlink(text, p string) error { return r.root.Symlink(text, p) }

// linkFrom links relative to the open parent, so that the new name cannot leave
// the root whatever links appear meanwhile.
func (r *Root) linkFrom(old, p string) error {
	if dir := path.Dir(p); dir != "." {
		parent, err := r.root.Open(dir)
		if err != nil {
			return err
		}
		defer parent.Close()
		return unix.Linkat(unix.AT_FDCWD, old, int(parent.Fd()), path.Base(p), 0)
	}
	r.self.Do(func() { r.selfFile, r.selfErr = r.root.Open(".") })
	if r.selfErr != nil {
		return r.selfErr
	}
	parent := r.selfFile
	return unix.Linkat(unix.AT_FDCWD, old, int(parent.Fd()), path.Base(p), 0)
}

func isBusy(error) bool { return false }

func isNoLinks(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EXDEV) ||
		errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.ENOSYS)
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func isDenied(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS)
}

func isCrossDevice(err error) bool { return errors.Is(err, syscall.EXDEV) }
