package install

import (
	"context"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// spot is a place that may be ours although nothing wanted goes there.
type spot struct {
	dir string
	key skill.Key
	// link is the text a link of ours would have there by the lock alone.
	link string
}

func (p spot) path() string { return path.Join(p.dir, string(p.key)) }

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
	// staged: a run that was killed before its journal left its staging behind,
	// or one is preparing skills now.
	staged bool
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
	if _, err := s.root.Lstat(s.state(stageName)); err == nil {
		v.staged = true
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
	s.staleSpots(v, want)
	if err := s.lookAll(ctx, v); err != nil {
		return nil, err
	}
	return v, s.findUnmanaged(v, want)
}

// keepMode keeps a copy where a link was wanted and could not be had: what was
// used is kept until the setting changes, or the place's skill becomes the
// project's own or stops being it.
func keepMode(p placement, r *receipt, link Link) placement {
	rec, ok := r.Places[p.path()]
	sameKind := (rec.Source != "") == (p.item.Path != "")
	if ok && r.Link == link && rec.Mode == ModeCopy && p.mode != ModeInPlace && sameKind {
		p.mode, p.link = ModeCopy, ""
	}
	return p
}

// staleSpots lists the places that the receipt or the old lock names and nothing
// wanted takes.
func (s *site) staleSpots(v *view, want Desired) {
	taken := map[string]bool{} // by real path too: an alias of a target is not stale
	for _, p := range v.want {
		taken[p.path()] = true
		taken[p.target.real+"/"+string(p.item.Key)] = true
	}
	dirs := slices.Concat(want.OldTargets, want.Targets)
	reals := map[string]string{}
	for _, p := range namedSpots(v.receipt, want.OldLock, dirs) {
		if taken[p.path()] {
			continue
		}
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
		if len(dirs) > 0 && dirs[0] != p.dir {
			if main, err := s.resolve(dirs[0]); err == nil {
				p.link = relative(real, main+"/"+string(p.key))
			}
		}
		v.stale = append(v.stale, p)
	}
}

// namedSpots returns every place that the receipt names, or that the old lock's
// keys have in dirs, ordered by path.
func namedSpots(r *receipt, old map[skill.Key]skill.Digest, dirs []string) []spot {
	spots := map[string]spot{}
	for p := range r.Places {
		if dir, key, err := splitPlace(p); err == nil {
			spots[p] = spot{dir: dir, key: key}
		}
	}
	for _, dir := range dirs {
		for key := range old {
			p := spot{dir: dir, key: key}
			if _, err := skill.ParseKey(string(key)); err == nil {
				spots[p.path()] = p
			}
		}
	}
	list := slices.Collect(maps.Values(spots))
	slices.SortFunc(list, func(a, b spot) int { return strings.Compare(a.path(), b.path()) })
	return list
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
				if err := diag.Guard(func() error { return f(ctx, i) }); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
