package install

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// seenKind is what stands at a place.
type seenKind int

const (
	seenNothing seenKind = iota
	seenDir
	seenLink
	seenOther // a file, a device, …
)

// seen is what was found at a place.
type seen struct {
	kind seenKind
	link string // text of a link, with slashes
	// dangling: an absolute link, so one into the store, that leads nowhere.
	dangling bool
	digest   skill.Digest // of a directory that is a legal tree
	bundle   skill.Digest // of its signature file
	empty    bool         // a directory without any file
	fault    string       // why a directory is no tree
	sig      signature
	// vouched: the receipt's stat signature held and nothing was hashed.
	vouched bool
}

// spot is a place that may be ours although nothing wanted goes there.
type spot struct {
	dir string
	key skill.Key
	// link is the text a link of ours would have there by the lock alone.
	link string
}

func (p spot) path() string { return p.dir + "/" + string(p.key) }

// view is everything a plan is decided from. It is data: deciding touches
// nothing.
type view struct {
	at        time.Time // before anything was looked at
	want      []placement
	stale     []spot // ordered by path
	unmanaged []spot // ordered by path
	seen      map[string]seen
	receipt   *receipt
	targets   []string // of the wanted lock, resolved doubles left out
	old, new  map[skill.Key]skill.Digest
	link      Link
	force     bool
	pending   bool
}

// observe looks at every place that is wanted, was ours, or is in a target.
func (s *site) observe(ctx context.Context, want Desired) (*view, error) {
	r, err := s.readReceipt()
	if err != nil {
		return nil, err
	}
	v := &view{at: s.opt.Now(), receipt: r, old: want.OldLock, new: map[skill.Key]skill.Digest{}, link: want.Link, force: want.Force}
	if _, err := s.root.Lstat(s.state(journalName)); err == nil {
		v.pending = true
	}
	if v.want, err = s.placements(want); err != nil {
		return nil, err
	}
	for i, p := range v.want {
		v.want[i] = keepMode(p, r, want.Link)
		v.new[p.item.Key] = p.item.Digest
		if n := len(v.targets); n == 0 || v.targets[n-1] != p.target.dir {
			v.targets = append(v.targets, p.target.dir)
		}
	}
	if err := s.staleSpots(v, want); err != nil {
		return nil, err
	}
	if err := s.lookAll(ctx, v); err != nil {
		return nil, err
	}
	return v, s.findUnmanaged(v, want)
}

// keepMode keeps a copy where a link was wanted and could not be had: what was
// used is kept until the setting changes.
func keepMode(p placement, r *receipt, link Link) placement {
	rec, ok := r.Places[p.path()]
	if ok && r.Link == link && rec.Mode == ModeCopy && p.mode != ModeInPlace {
		p.mode, p.link = ModeCopy, ""
	}
	return p
}

// staleSpots lists the places that the receipt or the old lock names and nothing
// wanted takes.
func (s *site) staleSpots(v *view, want Desired) error {
	taken := map[string]bool{} // by real path, so that an alias of a target is not stale
	for _, p := range v.want {
		taken[p.path()] = true
		taken[p.target.real+"/"+string(p.item.Key)] = true
	}
	spots := map[string]spot{}
	for p := range v.receipt.Places {
		dir, key, err := splitPlace(p)
		if err == nil && !taken[p] {
			spots[p] = spot{dir: dir, key: key}
		}
	}
	dirs := slices.Concat(want.OldTargets, want.Targets)
	for _, dir := range dirs {
		for key := range want.OldLock {
			if _, err := skill.ParseKey(string(key)); err != nil {
				continue
			}
			if p := (spot{dir: dir, key: key}); !taken[p.path()] {
				spots[p.path()] = p
			}
		}
	}
	reals := map[string]string{}
	for _, p := range spots {
		real, ok := reals[p.dir]
		if !ok {
			var err error
			if real, err = s.resolve(p.dir); err != nil {
				s.opt.Note(diag.Note(diag.TargetUnsafe, "`%s` was a target and is left alone now: %v", p.dir, err))
			}
			reals[p.dir] = real
		}
		if real == "" || taken[real+"/"+string(p.key)] {
			continue
		}
		if main := mainTarget(dirs); main != p.dir {
			if at, err := s.resolve(main); err == nil {
				p.link = relative(real, at+"/"+string(p.key))
			}
		}
		v.stale = append(v.stale, p)
	}
	slices.SortFunc(v.stale, func(a, b spot) int { return strings.Compare(a.path(), b.path()) })
	return nil
}

// mainTarget is the target that held the content: the first of the old lock's,
// else of the wanted ones.
func mainTarget(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}

// lookAll fills v.seen and the digests of path skills that are copied, on as
// many goroutines as there are processors.
func (s *site) lookAll(ctx context.Context, v *view) error {
	type job struct {
		path   string
		key    skill.Key
		source *placement
	}
	var jobs []job
	for i := range v.want {
		p := &v.want[i]
		jobs = append(jobs, job{p.path(), p.item.Key, p})
	}
	for _, p := range v.stale {
		jobs = append(jobs, job{p.path(), p.key, nil})
	}
	found := make([]seen, len(jobs))
	l := s.looker()
	defer l.close()
	err := parallel(ctx, len(jobs), func(ctx context.Context, i int) (err error) {
		j := jobs[i]
		rec := v.receipt.Places[j.path]
		if j.source != nil && j.source.item.Path != "" && j.source.mode == ModeCopy {
			if err := s.lookAtSource(ctx, j.source, rec); err != nil {
				return err
			}
		}
		found[i], err = l.look(ctx, j.path, rec, v.new[j.key], v.old[j.key])
		return err
	})
	v.seen = make(map[string]seen, len(jobs))
	for i, j := range jobs {
		v.seen[j.path] = found[i]
	}
	return err
}

// parallel calls f for 0 to n-1 on as many goroutines as there are processors:
// the work is system calls and hashing, so more would only queue.
func parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// looker keeps the targets open while one plan or verification looks at their
// skills: a path from the project's root costs a call per element.
type looker struct {
	*site
	mu    sync.Mutex
	roots map[string]*fsx.Root
}

func (s *site) looker() *looker { return &looker{site: s, roots: map[string]*fsx.Root{}} }

func (l *looker) close() {
	for _, root := range l.roots {
		root.Close()
	}
}

// target returns the open directory dir.
func (l *looker) target(dir string) (*fsx.Root, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if root, ok := l.roots[dir]; ok {
		return root, nil
	}
	root, err := l.root.Sub(dir)
	if err == nil {
		l.roots[dir] = root
	}
	return root, err
}

// look says what stands at p.
func (l *looker) look(ctx context.Context, p string, rec place, candidates ...skill.Digest) (seen, error) {
	got, err := l.lookAt(ctx, p, rec, candidates)
	if fsx.IsNotExist(err) {
		return seen{}, nil
	}
	return got, fsx.Diag(err, "look at `"+p+"`")
}

func (l *looker) lookAt(ctx context.Context, p string, rec place, candidates []skill.Digest) (seen, error) {
	dir, name := splitLast(p)
	target, err := l.target(dir)
	if err != nil {
		return seen{}, err
	}
	info, err := target.Lstat(name)
	l.stats.Add(1)
	switch {
	case err != nil:
		return seen{}, err
	case info.IsDir():
		root, err := target.Sub(name)
		if err != nil {
			return seen{}, err
		}
		defer root.Close()
		return l.lookAtDir(ctx, root, info, rec, candidates)
	case !isLink(info):
		return seen{kind: seenOther}, nil
	}
	text, err := target.Readlink(name)
	got := seen{kind: seenLink, link: cleanLink(text)}
	if err == nil && filepath.IsAbs(text) {
		_, gone := l.opt.FS.Stat(text)
		got.dangling = fsx.IsNotExist(gone)
	}
	return got, err
}

// lookAtDir hashes a skill's directory unless the receipt's signature vouches.
func (s *site) lookAtDir(ctx context.Context, root *fsx.Root, top fs.FileInfo, rec place, candidates []skill.Digest) (seen, error) {
	entries, sig, err := s.walk(root, ".", top)
	if err == nil && sig.fresh(rec) {
		return seen{kind: seenDir, digest: rec.Digest, bundle: rec.Bundle, sig: sig, vouched: true}, nil
	}
	var c *content
	if err == nil {
		c, err = s.hashEntries(ctx, root, ".", entries, sig)
	}
	var digest skill.Digest
	if err == nil {
		digest, err = s.digest(c, append([]skill.Digest{rec.Digest}, candidates...)...)
	}
	if why, ok := faultOf(err); ok {
		return seen{kind: seenDir, fault: why, sig: sig}, nil
	}
	if err != nil {
		return seen{}, err
	}
	return seen{kind: seenDir, digest: digest, bundle: c.bundle, empty: len(entries) == 0, sig: sig}, nil
}

// findUnmanaged lists the skills in the targets that nobody ordered: whatever
// holds a SKILL.md, and every link.
func (s *site) findUnmanaged(v *view, want Desired) error {
	known := map[string]bool{}
	for _, p := range v.want {
		known[p.path()] = true
	}
	for _, p := range v.stale {
		known[p.path()] = true
	}
	targets, err := s.targets(want.Targets)
	if err != nil {
		return err
	}
	for _, t := range targets {
		infos, err := s.root.ReadDir(t.dir)
		if fsx.IsNotExist(err) {
			continue
		}
		if err != nil {
			return fsx.Diag(err, "read target `"+t.dir+"`")
		}
		s.stats.Add(int64(len(infos)))
		for _, info := range infos {
			p := spot{dir: t.dir, key: skill.Key(info.Name())}
			if !known[p.path()] && (isLink(info) || info.IsDir() && s.hasSkill(p.path())) {
				v.unmanaged = append(v.unmanaged, p)
			}
		}
	}
	return nil
}

// hasSkill reports whether dir holds a SKILL.md, in any case of letters: agents
// on case-folding disks load those too.
func (s *site) hasSkill(dir string) bool {
	if _, err := s.root.Lstat(path.Join(dir, "SKILL.md")); err == nil {
		return true
	}
	infos, err := s.root.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, info := range infos {
		if strings.EqualFold(info.Name(), "SKILL.md") {
			return true
		}
	}
	return false
}
