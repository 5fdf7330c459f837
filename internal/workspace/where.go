package workspace

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

// RootSearch is the search for the project that a directory belongs to. It ends at the
// root of the git work tree and at the home directory, both included, and before
// an ancestor that belongs to somebody else: what stands there may be anybody's.
type RootSearch struct {
	Home string
	Safe []string
	// Owner returns who a file belongs to, and whether that is known.
	Owner func(fs.FileInfo) (uid int, known bool)
	Self  int
}

// RootSearch is the search for the project's root by this run's settings.
func (p *Project) RootSearch() RootSearch {
	return RootSearch{
		Home: p.Opt.Home, Safe: filepath.SplitList(p.Getenv(safeDirectories)),
		Owner: fsx.Owner, Self: fsx.Self(),
	}
}

// Locate returns the directory of the project that opt.Dir belongs to, "" if
// none, and which of its two files are there. Nothing is opened.
func Locate(opt Options) (root string, manifest, lock bool) {
	f := (&Project{Opt: opt}).RootSearch().From(opt.Dir)
	return f.Dir, f.Manifest, f.Lock
}

// CheckoutPath returns file, relative to dir or absolute, as a slash path from the
// root of dir's git work tree, where it lies in one. Services that show findings
// beside the code know files by that name alone.
func CheckoutPath(dir, file string) string {
	top, ok := GitTop(dir)
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

// Found is where a search ended.
type Found struct {
	// Dir is the nearest directory with skills.toml or skills.lock, "" if none has.
	Dir            string
	Manifest, Lock bool
	// Passed is the nearest file that was not used, and why, for the message.
	Passed, why string
}

// From looks in dir, whoever owns it, and then in its ancestors. The nearest
// directory with either file is the project: a lock that stands alone is not
// read together with the manifest of a directory above.
func (u RootSearch) From(dir string) Found {
	for at := filepath.Clean(dir); ; {
		if f := u.look(at); f.Dir != "" {
			return f
		}
		parent := filepath.Dir(at)
		why := u.border(at, parent)
		if parent == at {
			return Found{}
		}
		if why != "" {
			return u.beyond(parent, why)
		}
		at = parent
	}
}

func (u RootSearch) look(dir string) Found {
	f := Found{Manifest: IsFile(filepath.Join(dir, manifest.FileName)), Lock: IsFile(filepath.Join(dir, lockfile.FileName))}
	if f.Manifest || f.Lock {
		f.Dir = dir
	}
	return f
}

// IsFile reports whether path is there and no directory.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// border says why the search does not go from dir to its parent, "" if it does.
func (u RootSearch) border(dir, parent string) string {
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
func (u RootSearch) isHome(dir string) bool {
	if u.Home == "" {
		return false
	}
	home, err := os.Stat(u.Home)
	if err != nil {
		return false
	}
	here, err := os.Stat(dir)
	return err == nil && os.SameFile(home, here)
}

// ours reports whether the user owns a file, or nothing is known against it.
func (u RootSearch) ours(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return true
	}
	uid, known := u.Owner(info)
	return !known || uid == u.Self
}

func (u RootSearch) isSafe(dir string) bool {
	return slices.ContainsFunc(u.Safe, func(s string) bool { return s == "*" || filepath.Clean(s) == dir })
}

// beyond finds what the search would have used had it gone on.
func (u RootSearch) beyond(dir, why string) Found {
	for {
		if f := u.look(dir); f.Dir != "" {
			return Found{Passed: dir, why: why}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Found{}
		}
		dir = parent
	}
}

// NoManifest is manifest_missing for a search that found no manifest.
func (f Found) NoManifest(dir string) *diag.Error {
	e := manifest.Missing(dir)
	switch {
	case f.Lock:
		e = diag.New(diag.ManifestMissing, "%s stands alone in `%s`, without %s", lockfile.FileName, f.Dir, manifest.FileName).
			WithHint("`skillpm install --no-manifest` and `skillpm verify --no-manifest` take the lock alone")
	case f.Passed != "":
		e.WithDetail("the project in `%s` is not used: %s", f.Passed, f.why).
			WithHint("`skillpm -C %s …` works there; `skillpm init` writes a %s here", f.Passed, manifest.FileName)
	}
	return e
}

// NoLockFile is lock_outdated for a search that found no lock.
func (f Found) NoLockFile(dir string) *diag.Error {
	e := diag.New(diag.LockOutdated, "no %s in `%s` or above it", lockfile.FileName, dir).WithHint("`skillpm lock` writes one")
	switch {
	case f.Manifest:
		e = diag.New(diag.LockOutdated, "no %s beside `%s`", lockfile.FileName, filepath.Join(f.Dir, manifest.FileName)).WithHint("`skillpm lock` writes one")
	case f.Passed != "":
		e.WithDetail("the project in `%s` is not used: %s", f.Passed, f.why).WithHint("`skillpm -C %s …` works there", f.Passed)
	}
	return e
}
