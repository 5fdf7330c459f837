package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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

// existing maps p to the spelling on disk where the fake folds case, and its
// directory through absolute links where the root follows them.
func (r *Root) existing(p string) (string, error) {
	p = path.Clean(p)
	if dir := path.Dir(p); r.follow && dir != "." {
		p = path.Join(r.through(dir), path.Base(p))
	}
	if !r.disk.fakes().CaseInsensitive || p == "." {
		return p, nil
	}
	done := "."
	for element := range strings.SplitSeq(p, "/") {
		done = path.Join(done, r.spelling(done, element))
	}
	return done, nil
}

// target is existing for calls that follow a link at p itself.
func (r *Root) target(p string) (string, error) {
	p, err := r.existing(p)
	if err == nil && r.follow {
		p = r.through(p)
	}
	return p, err
}

// through returns where p leads when links that os.Root refuses, since their
// text is absolute, end inside the root. What it returns is opened by os.Root
// again, so that nothing leads out however the links change.
func (r *Root) through(p string) string {
	done := "."
	for element := range strings.SplitSeq(p, "/") {
		done = r.hop(path.Join(done, element))
	}
	return done
}

func (r *Root) hop(p string) string {
	if known, ok := r.hops.Load(p); ok {
		return known.(string)
	}
	to := p
	if _, err := r.root.Readlink(p); err == nil {
		if _, err := r.root.Stat(p); err != nil {
			to = r.inside(p)
		}
	}
	r.hops.Store(p, to)
	return to
}

// inside resolves every link of p; where that leaves the root, p stays as it is.
func (r *Root) inside(p string) string {
	base, err := filepath.EvalSymlinks(r.root.Name())
	if err != nil {
		return p
	}
	real, err := filepath.EvalSymlinks(filepath.Join(base, filepath.FromSlash(p)))
	if err != nil {
		return p
	}
	rel, err := filepath.Rel(base, real)
	if err != nil || !filepath.IsLocal(rel) {
		return p
	}
	return filepath.ToSlash(rel)
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
