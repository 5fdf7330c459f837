package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"

	"github.com/skillpm/skillpm/skill"
)

// Errors that have no number of their own on every system.
var (
	ErrTooLarge     = errors.New("the file is larger than allowed here")
	ErrNotDirectory = errors.New("a file is where a directory should be")

	errNoLinks  = errors.New("this disk has no such links")
	errReserved = errors.New("the name is reserved for a device")
	errFolded   = errors.New("Windows takes the name for another, or for a part of a file")
	errTooLong  = syscall.ENAMETOOLONG
	errBusy     = errors.New("a file below is open")
)

// existing maps p to the spelling on disk where the fake folds case.
func (r *Root) existing(p string) (string, error) {
	p = path.Clean(p)
	if !r.disk.fakes().CaseInsensitive || p == "." {
		return p, nil
	}
	done := "."
	for element := range strings.SplitSeq(p, "/") {
		done = path.Join(done, r.spelling(done, element))
	}
	return done, nil
}

func (r *Root) spelling(dir, element string) string {
	if _, err := r.root.Lstat(path.Join(dir, element)); err == nil {
		return element
	}
	f, err := r.root.Open(dir)
	if err != nil {
		return element
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return element
	}
	for _, name := range names {
		if skill.FoldPath(name) == skill.FoldPath(element) {
			return name
		}
	}
	return element
}

// creatable is existing for a path that is about to be made, with the faked
// rules for names.
func (r *Root) creatable(p string) (string, error) {
	p, err := r.existing(p)
	if err != nil {
		return "", err
	}
	fakes := r.disk.fakes()
	if fakes.ReservedNames && skill.IsWindowsDevice(path.Base(p)) {
		return "", &fs.PathError{Op: "create", Path: r.abs(p), Err: errReserved}
	}
	if (fakes.ReservedNames || runtime.GOOS == "windows") && foldedOnNTFS(path.Base(p)) {
		return "", &fs.PathError{Op: "create", Path: r.abs(p), Err: errFolded}
	}
	if fakes.MaxPath > 0 && len(r.abs(p)) > fakes.MaxPath {
		return "", &fs.PathError{Op: "create", Path: r.abs(p), Err: errTooLong}
	}
	return p, nil
}

// foldedOnNTFS reports whether name is not the name that a file of it would have
// there: what follows a colon names a stream of the file before it, and programs
// drop dots and blanks at the end.
func foldedOnNTFS(name string) bool {
	return strings.Contains(name, ":") || name != strings.TrimRight(name, ". ")
}

// IsNoLinks reports whether err says that the disk, or the user's rights on it,
// allow no such link, so that a copy is the way out.
func IsNoLinks(err error) bool {
	return errors.Is(err, errNoLinks) || errors.Is(err, errors.ErrUnsupported) || isNoLinks(err)
}

// IsNotExist reports whether err says that nothing is there, also because a
// parent is a file.
func IsNotExist(err error) bool {
	return os.IsNotExist(err) || errors.Is(err, syscall.ENOTDIR)
}
