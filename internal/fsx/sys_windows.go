package fsx

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

func syncDir(*os.File) error { return nil }

// unprivileged lets users in developer mode make symbolic links
// (SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE).
const unprivileged = 0x2

// symlink says that the link is to a directory: os.Root asks what the text leads
// to from where the link is made, and a link that is staged leads nowhere yet.
func (r *Root) symlink(text, p string) error {
	parent, err := r.root.OpenRoot(filepath.Dir(filepath.FromSlash(p)))
	if err != nil {
		return err
	}
	defer parent.Close()
	name, err := windows.UTF16PtrFromString(filepath.Join(parent.Name(), filepath.Base(p)))
	if err != nil {
		return err
	}
	target, err := windows.UTF16PtrFromString(text)
	if err != nil {
		return err
	}
	if err := windows.CreateSymbolicLink(name, target, windows.SYMBOLIC_LINK_FLAG_DIRECTORY|unprivileged); err != nil {
		return &os.LinkError{Op: "symlink", Old: text, New: r.abs(p), Err: err}
	}
	return nil
}

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
