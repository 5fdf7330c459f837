package mirroring

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// NamedLock is a lock whose skills a mirror shall hold, and where it was read.
type NamedLock struct {
	Name string
	Lock *lockfile.Lock
}

// LockPlaces says which locks a mirror command works on.
type LockPlaces struct {
	// Places are lock files, directories that are searched for skills.lock, and
	// "-" for a lock on Stdin. None at all means this project's lock.
	Places []string
	// From is a file with one place a line, "-" is Stdin; empty is none.
	From  string
	Stdin io.Reader
}

// maxLocks bounds the locks of one run: ten times the sites docs/mirrors.md
// plans for have so many.
const maxLocks = 1_000_000

// Locks reads the locks. All that cannot be read are reported at once.
func Locks(p *workspace.Project, places LockPlaces) ([]NamedLock, error) {
	list := slices.Clone(places.Places)
	if places.From != "" {
		more, err := placesFrom(p, places)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	if len(list) == 0 && places.From == "" {
		return ownLock(p)
	}
	var out []NamedLock
	var faults diag.List
	for _, place := range list {
		locks, err := locksAt(p, place, places.Stdin)
		if err != nil {
			faults = append(faults, diag.All(err)...)
		}
		if out = append(out, locks...); len(out) > maxLocks {
			return nil, diag.New(diag.FetchTooLarge, "more than %d locks", maxLocks)
		}
	}
	return out, faults.Err()
}

// ownLock is the project's lock, which may stand without skills.toml.
func ownLock(p *workspace.Project) ([]NamedLock, error) {
	if p.Lock != nil {
		return []NamedLock{{p.Display(p.LockPath()), p.Lock}}, nil
	}
	if f := p.RootSearch().From(p.Opt.Dir); f.Lock {
		return locksAt(p, filepath.Join(f.Dir, lockfile.FileName), nil)
	}
	return nil, diag.New(diag.LockOutdated, "there is no %s here or above", lockfile.FileName).
		WithHint("`skillpm lock` writes one; or name locks: `skillpm mirror push DEST path/to/skills.lock`")
}

func placesFrom(p *workspace.Project, places LockPlaces) ([]string, error) {
	var data []byte
	var err error
	if places.From == "-" {
		data, err = readStdin(places.Stdin)
	} else {
		data, err = workspace.ReadBounded(absolute(p, places.From))
	}
	if err != nil {
		return nil, lockPlaceError(places.From, err)
	}
	var out []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out, lines.Err()
}

func readStdin(r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, workspace.Usage("nothing can be read from standard input here")
	}
	data, err := io.ReadAll(io.LimitReader(r, workspace.MaxFileBytes+1))
	if err == nil && len(data) > workspace.MaxFileBytes {
		err = diag.New(diag.FetchTooLarge, "standard input has more than %d bytes", workspace.MaxFileBytes)
	}
	return data, err
}

func absolute(p *workspace.Project, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Opt.Dir, path)
}

func lockPlaceError(place string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return workspace.Usage("`%s` does not exist", place)
	}
	return err
}

func locksAt(p *workspace.Project, place string, stdin io.Reader) ([]NamedLock, error) {
	if place == "-" {
		data, err := readStdin(stdin)
		if err != nil {
			return nil, err
		}
		return parseNamedLock("-", data)
	}
	path := absolute(p, place)
	info, err := os.Stat(path)
	if err != nil {
		return nil, lockPlaceError(place, workspace.FileError(err))
	}
	if info.IsDir() {
		return locksBelow(p, path)
	}
	data, err := workspace.ReadAs(diag.LockCorrupt, path)
	if err != nil {
		return nil, err
	}
	return parseNamedLock(place, data)
}

// locksBelow finds every skills.lock in a directory tree. Links are not
// followed; what other tools keep in their own directories is none of ours.
func locksBelow(p *workspace.Project, dir string) ([]NamedLock, error) {
	var out []NamedLock
	var faults diag.List
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return workspace.FileError(err)
		}
		if e.IsDir() {
			switch e.Name() {
			case ".git", "node_modules", workspace.StateDir:
				return fs.SkipDir
			}
			return nil
		}
		if e.Name() != lockfile.FileName || !e.Type().IsRegular() {
			return nil
		}
		data, err := workspace.ReadBounded(path)
		if err != nil {
			return err
		}
		locks, err := parseNamedLock(p.Display(path), data)
		faults = append(faults, diag.All(err)...)
		out = append(out, locks...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out)+len(faults) == 0 {
		return nil, workspace.Usage("no %s in `%s` or below it", lockfile.FileName, p.Display(dir))
	}
	return out, faults.Err()
}

func parseNamedLock(name string, data []byte) ([]NamedLock, error) {
	lock, err := lockfile.Parse(data)
	if err != nil {
		return nil, workspace.LockFindings(name, err)
	}
	return []NamedLock{{name, lock}}, nil
}

// mirrorOrder is one locked skill that a mirror shall hold.
type mirrorOrder struct {
	world.Request
	label string
}

// mirrorOrders lists the locked skills of all locks, each content once. Path
// skills are the project's own and lie in its repository.
func mirrorOrders(locks []NamedLock) ([]mirrorOrder, error) {
	type content struct{ tree, bundle skill.Digest }
	seen := map[content]bool{}
	var out []mirrorOrder
	for _, l := range locks {
		for _, e := range l.Lock.Skills {
			if e.Source.Type == lockfile.TypePath {
				continue
			}
			o, ok := world.WantOf(e)
			if !ok {
				return nil, diag.New(diag.LockCorrupt, "the source of `%s` is not readable", e.Key).At(l.Name, 0, 0)
			}
			if id := (content{o.Digest, o.Bundle}); !seen[id] {
				seen[id] = true
				out = append(out, mirrorOrder{o, e.Key + " " + e.Version})
			}
		}
	}
	return out, nil
}

func (o mirrorOrder) refs() []oci.Ref {
	refs := []oci.Ref{{Kind: oci.KindTree, Digest: o.Digest}}
	if o.Bundle != "" {
		refs = append(refs, oci.Ref{Kind: oci.KindBundle, Digest: o.Bundle})
	}
	return refs
}

// mirrorWants lists what a mirror must hold for the locks.
func mirrorWants(locks []NamedLock) ([]oci.Want, error) {
	orders, err := mirrorOrders(locks)
	if err != nil {
		return nil, err
	}
	seen := map[oci.Ref]bool{}
	var wants []oci.Want
	for _, o := range orders {
		for _, ref := range o.refs() {
			if !seen[ref] {
				seen[ref] = true
				wants = append(wants, oci.Want{Ref: ref, Label: o.label})
			}
		}
	}
	return wants, nil
}

// MirrorOptions are what the mirror commands share.
type MirrorOptions struct {
	// Replace stores again what is present, Quick looks at presence alone.
	Replace, Quick bool
	// PlainHTTP allows http to hosts other than loopback.
	PlainHTTP bool
	// Versions carries tag listings and the versions in range as well.
	Versions bool
	DryRun   bool
	Stdin    io.Reader
	Stdout   io.Writer
	Progress func(o oci.Outcome, done, total int)
}

func openMirror(ctx context.Context, p *workspace.Project, spec string, opt MirrorOptions, write bool) (*oci.Mirror, error) {
	m, err := oci.Open(ctx, spec, oci.Options{
		Write: write, PlainHTTP: opt.PlainHTTP, Limits: p.Config.Install.Limits(), Dir: p.Opt.Dir,
		Stdin: opt.Stdin, Stdout: opt.Stdout,
	})
	if err != nil {
		return nil, err
	}
	if p.Opt.Offline && !m.Offline() {
		return nil, errors.Join(diag.New(diag.FetchOffline, "mirror `%s` needs a network", m).
			WithHint("leave --offline out, or use a folder or an archive"), m.Close())
	}
	return m, nil
}

func runOptions(p *workspace.Project, opt MirrorOptions) oci.RunOptions {
	return oci.RunOptions{Parallel: p.Opt.Jobs, Replace: opt.Replace, Quick: opt.Quick, Progress: opt.Progress}
}
