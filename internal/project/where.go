package project

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
)

// safeDirectories is the variable that lists directories, separated like PATH,
// in which a project is used although it belongs to somebody else; * names all.
const safeDirectories = "SKILLPM_SAFE_DIRECTORY"

// rootSearch is the search for the project that a directory belongs to. It ends at the
// root of the git work tree and at the home directory, both included, and before
// an ancestor that belongs to somebody else: what stands there may be anybody's.
type rootSearch struct {
	home string
	safe []string
	// owner returns who a file belongs to, and whether that is known.
	owner func(fs.FileInfo) (uid int, known bool)
	self  int
}

func (p *Project) rootSearch() rootSearch {
	return rootSearch{
		home: p.opt.Home, safe: filepath.SplitList(p.getenv(safeDirectories)),
		owner: fsx.Owner, self: fsx.Self(),
	}
}

// Locate returns the directory of the project that opt.Dir belongs to, "" if
// none, and which of its two files are there. Nothing is opened.
func Locate(opt Options) (root string, manifest, lock bool) {
	f := (&Project{opt: opt}).rootSearch().from(opt.Dir)
	return f.dir, f.manifest, f.lock
}

// CheckoutPath returns file, relative to dir or absolute, as a slash path from the
// root of dir's git work tree, where it lies in one. Services that show findings
// beside the code know files by that name alone.
func CheckoutPath(dir, file string) string {
	top, ok := gitTop(dir)
	if !ok || file == "" {
		return file
	}
	path := filepath.FromSlash(file)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(top, path)
	if err != nil || !filepath.IsLocal(rel) {
		return file
	}
	return filepath.ToSlash(rel)
}

// found is where a search ended.
type found struct {
	// dir is the nearest directory with skills.toml or skills.lock, "" if none has.
	dir            string
	manifest, lock bool
	// passed is the nearest file that was not used, and why, for the message.
	passed, why string
}

// from looks in dir, whoever owns it, and then in its ancestors. The nearest
// directory with either file is the project: a lock that stands alone is not
// read together with the manifest of a directory above.
func (u rootSearch) from(dir string) found {
	for at := filepath.Clean(dir); ; {
		if f := u.look(at); f.dir != "" {
			return f
		}
		parent := filepath.Dir(at)
		why := u.border(at, parent)
		if parent == at {
			return found{}
		}
		if why != "" {
			return u.beyond(parent, why)
		}
		at = parent
	}
}

func (u rootSearch) look(dir string) found {
	f := found{manifest: isFile(filepath.Join(dir, manifest.FileName)), lock: isFile(filepath.Join(dir, lockfile.FileName))}
	if f.manifest || f.lock {
		f.dir = dir
	}
	return f
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// border says why the search does not go from dir to its parent, "" if it does.
func (u rootSearch) border(dir, parent string) string {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return "it lies above the git work tree " + dir
	}
	if u.isHome(dir) {
		return "it lies above the home directory"
	}
	for _, name := range []string{"", manifest.FileName, lockfile.FileName, ".git"} {
		if !u.ours(filepath.Join(parent, name)) && !u.isSafe(parent) {
			return "it belongs to somebody else"
		}
	}
	return ""
}

// isHome reports whether dir is the home directory, under whatever name.
func (u rootSearch) isHome(dir string) bool {
	if u.home == "" {
		return false
	}
	home, err := os.Stat(u.home)
	if err != nil {
		return false
	}
	here, err := os.Stat(dir)
	return err == nil && os.SameFile(home, here)
}

// ours reports whether the user owns a file, or nothing is known against it.
func (u rootSearch) ours(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return true
	}
	uid, known := u.owner(info)
	return !known || uid == u.self
}

func (u rootSearch) isSafe(dir string) bool {
	return slices.ContainsFunc(u.safe, func(s string) bool { return s == "*" || filepath.Clean(s) == dir })
}

// beyond finds what the search would have used had it gone on.
func (u rootSearch) beyond(dir, why string) found {
	for {
		if f := u.look(dir); f.dir != "" {
			return found{passed: dir, why: why}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return found{}
		}
		dir = parent
	}
}

// noManifest is manifest_missing for a search that found no manifest.
func (f found) noManifest(dir string) *diag.Error {
	e := manifest.Missing(dir)
	switch {
	case f.lock:
		e = diag.New(diag.ManifestMissing, "%s stands alone in `%s`, without %s", lockfile.FileName, f.dir, manifest.FileName).
			WithHint("`skillpm install --no-manifest` and `skillpm verify --no-manifest` take the lock alone")
	case f.passed != "":
		e.WithDetail("the project in `%s` is not used: %s", f.passed, f.why).
			WithHint("`skillpm -C %s …` works there; `skillpm init` writes a %s here", f.passed, manifest.FileName)
	}
	return e
}

// noLockFile is lock_outdated for a search that found no lock.
func (f found) noLockFile(dir string) *diag.Error {
	e := diag.New(diag.LockOutdated, "no %s in `%s` or above it", lockfile.FileName, dir).WithHint("`skillpm lock` writes one")
	switch {
	case f.manifest:
		e = diag.New(diag.LockOutdated, "no %s beside `%s`", lockfile.FileName, filepath.Join(f.dir, manifest.FileName)).WithHint("`skillpm lock` writes one")
	case f.passed != "":
		e.WithDetail("the project in `%s` is not used: %s", f.passed, f.why).WithHint("`skillpm -C %s …` works there", f.passed)
	}
	return e
}
