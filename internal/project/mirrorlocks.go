package project

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
func (p *Project) Locks(places LockPlaces) ([]NamedLock, error) {
	list := slices.Clone(places.Places)
	if places.From != "" {
		more, err := p.placesFrom(places)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	if len(list) == 0 && places.From == "" {
		return p.ownLock()
	}
	var out []NamedLock
	var faults diag.List
	for _, place := range list {
		locks, err := p.locksAt(place, places.Stdin)
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
func (p *Project) ownLock() ([]NamedLock, error) {
	if p.lock != nil {
		return []NamedLock{{p.display(p.lockPath()), p.lock}}, nil
	}
	if f := p.rootSearch().from(p.opt.Dir); f.lock {
		return p.locksAt(filepath.Join(f.dir, lockfile.FileName), nil)
	}
	return nil, diag.New(diag.LockOutdated, "there is no %s here or above", lockfile.FileName).
		WithHint("`skillpm lock` writes one; or name locks: `skillpm mirror push DEST path/to/skills.lock`")
}

func (p *Project) placesFrom(places LockPlaces) ([]string, error) {
	var data []byte
	var err error
	if places.From == "-" {
		data, err = readStdin(places.Stdin)
	} else {
		data, err = readBounded(p.absolute(places.From))
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
		return nil, usage("nothing can be read from standard input here")
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	if err == nil && len(data) > MaxFileBytes {
		err = diag.New(diag.FetchTooLarge, "standard input has more than %d bytes", MaxFileBytes)
	}
	return data, err
}

func (p *Project) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.opt.Dir, path)
}

func lockPlaceError(place string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usage("`%s` does not exist", place)
	}
	return err
}

func (p *Project) locksAt(place string, stdin io.Reader) ([]NamedLock, error) {
	if place == "-" {
		data, err := readStdin(stdin)
		if err != nil {
			return nil, err
		}
		return parseNamedLock("-", data)
	}
	path := p.absolute(place)
	info, err := os.Stat(path)
	if err != nil {
		return nil, lockPlaceError(place, fileError(err))
	}
	if info.IsDir() {
		return p.locksBelow(path)
	}
	data, err := readAs(diag.LockCorrupt, path)
	if err != nil {
		return nil, err
	}
	return parseNamedLock(place, data)
}

// locksBelow finds every skills.lock in a directory tree. Links are not
// followed; what other tools keep in their own directories is none of ours.
func (p *Project) locksBelow(dir string) ([]NamedLock, error) {
	var out []NamedLock
	var faults diag.List
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fileError(err)
		}
		if e.IsDir() {
			switch e.Name() {
			case ".git", "node_modules", stateDir:
				return fs.SkipDir
			}
			return nil
		}
		if e.Name() != lockfile.FileName || !e.Type().IsRegular() {
			return nil
		}
		data, err := readBounded(path)
		if err != nil {
			return err
		}
		locks, err := parseNamedLock(p.display(path), data)
		faults = append(faults, diag.All(err)...)
		out = append(out, locks...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out)+len(faults) == 0 {
		return nil, usage("no %s in `%s` or below it", lockfile.FileName, p.display(dir))
	}
	return out, faults.Err()
}

func parseNamedLock(name string, data []byte) ([]NamedLock, error) {
	lock, err := lockfile.Parse(data)
	if err != nil {
		return nil, lockFindings(name, err)
	}
	return []NamedLock{{name, lock}}, nil
}

// mirrorOrder is one locked skill that a mirror shall hold.
type mirrorOrder struct {
	order
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
			o, ok := wantOf(e)
			if !ok {
				return nil, diag.New(diag.LockCorrupt, "the source of `%s` is not readable", e.Key).At(l.Name, 0, 0)
			}
			if id := (content{o.digest, o.bundle}); !seen[id] {
				seen[id] = true
				out = append(out, mirrorOrder{o, e.Key + " " + e.Version})
			}
		}
	}
	return out, nil
}

func (o mirrorOrder) refs() []oci.Ref {
	refs := []oci.Ref{{Kind: oci.KindTree, Digest: o.digest}}
	if o.bundle != "" {
		refs = append(refs, oci.Ref{Kind: oci.KindBundle, Digest: o.bundle})
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

func (p *Project) openMirror(ctx context.Context, spec string, opt MirrorOptions, write bool) (*oci.Mirror, error) {
	m, err := oci.Open(ctx, spec, oci.Options{
		Write: write, PlainHTTP: opt.PlainHTTP, Limits: p.config.Install.Limits(), Dir: p.opt.Dir,
		Stdin: opt.Stdin, Stdout: opt.Stdout,
	})
	if err != nil {
		return nil, err
	}
	if p.opt.Offline && !m.Offline() {
		return nil, errors.Join(diag.New(diag.FetchOffline, "mirror `%s` needs a network", m).
			WithHint("leave --offline out, or use a folder or an archive"), m.Close())
	}
	return m, nil
}

func (p *Project) runOptions(opt MirrorOptions) oci.RunOptions {
	return oci.RunOptions{Parallel: p.opt.Jobs, Replace: opt.Replace, Quick: opt.Quick, Progress: opt.Progress}
}
