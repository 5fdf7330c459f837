package fsx

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/skillpm/skillpm/internal/diag"
)

// Diag turns an error of the file system into a finding: disk_full,
// permission_denied, path_unsafe for a name that Windows would change, or, for
// every other, disk_failed. doing says what was being done, lower case, such as
// "install `pdf`". Whatever is no error of the file system, findings and nil
// among them, stays as it is.
func Diag(err error, doing string) error {
	if err == nil || !ofFileSystem(err) {
		return err
	}
	if _, ok := errors.AsType[*diag.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, errFolded):
		return diag.New(diag.PathUnsafe, "%s: a name cannot be written here as it is", doing).WithCause(err).
			WithHint("ask the author to rename the file")
	case isDiskFull(err):
		return diag.New(diag.DiskFull, "%s: the disk is full", doing).WithCause(err).
			WithHint("free some space and run the command again")
	case isDenied(err):
		return diag.New(diag.PermissionDenied, "%s: not allowed to", doing).WithCause(err).
			WithHint("check who owns the directory and whether it is mounted read-only")
	}
	return diag.New(diag.DiskFailed, "%s: the file system refused", doing).WithCause(err)
}

func ofFileSystem(err error) bool {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*os.LinkError](err); ok {
		return true
	}
	_, ok := errors.AsType[syscall.Errno](err)
	return ok
}

// IsCrossDevice reports whether a rename or link failed because the two places
// are on different file systems.
func IsCrossDevice(err error) bool { return isCrossDevice(err) }
