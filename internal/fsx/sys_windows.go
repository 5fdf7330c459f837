package fsx

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

func syncDir(*os.File) error { return nil }

// linkFrom has no call relative to a handle here, so the parent is resolved
// through the root first: one that leads out is refused.
func (r *Root) linkFrom(old, p string) error {
	parent, err := r.root.OpenRoot(filepath.Dir(filepath.FromSlash(p)))
	if err != nil {
		return err
	}
	defer parent.Close()
	return os.Link(old, filepath.Join(parent.Name(), filepath.Base(p)))
}

func isBusy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

func isNoLinks(err error) bool {
	return errors.Is(err, windows.ERROR_PRIVILEGE_NOT_HELD) || errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) ||
		errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_TOO_MANY_LINKS)
}

func isDiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

func isDenied(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, windows.ERROR_WRITE_PROTECT)
}

func isCrossDevice(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }
