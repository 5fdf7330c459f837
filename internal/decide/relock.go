package decide

import (
	"context"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
)

// Transaction is what a run is about to make true: a lock, a manifest if it was
// edited, and what led there.
type Transaction struct {
	Old, Lock *lockfile.Lock
	Manifest  []byte // nil where skills.toml stays
	Behind    []Behind
	Skipped   []SkippedSkill
	// Preview returns the plan for lock where it is being made already.
	Preview func() (*install.Plan, error)
}

// Relock resolves the manifest into a new lock. edited are the bytes that the
// run wants to write as skills.toml, nil if it leaves the file; a source that was
// consented to is added to them.
func Relock(ctx context.Context, p *world.World, edited []byte, opt ResolveOptions) (Transaction, error) {
	r, err := resolve(ctx, p, opt)
	if err != nil {
		return Transaction{}, err
	}
	l, err := buildLock(ctx, r.universe.p, r)
	if err != nil {
		return Transaction{}, err
	}
	t := Transaction{Old: opt.Lock, Lock: l, Manifest: edited}
	for _, b := range r.solution.Behind {
		because := make([]string, len(b.Because))
		for i, k := range b.Because {
			because[i] = string(k)
		}
		t.Behind = append(t.Behind, Behind{string(b.Name), b.Chosen.String(), b.Newest.String(), because})
	}
	if len(r.newSources) > 0 {
		if t.Manifest == nil {
			t.Manifest = p.ManifestData
		}
		if t.Manifest, err = trustSources(t.Manifest, r.newSources); err != nil {
			return Transaction{}, err
		}
	}
	return t, nil
}

// trustSources adds repositories that somebody agreed to.
func trustSources(data []byte, sources []string) ([]byte, error) {
	edit, err := manifest.NewEdit(data)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if err := edit.AddTrustSource(s); err != nil {
			return nil, err
		}
	}
	return edit.Bytes()
}

// PrunedLock returns the lock without what the manifest no longer reaches, nil
// if the lock and manifest differ in more than that.
func PrunedLock(ctx context.Context, p *world.World) (*lockfile.Lock, error) {
	if p.Lock == nil {
		return nil, nil
	}
	want := emptyLock(p.Project)
	l := *p.Lock
	l.Root, l.Targets = want.Root, want.Targets
	l.Root.Unknown = p.Lock.Root.Unknown
	gone := map[string]bool{}
	for _, key := range l.Unreachable() {
		gone[key] = true
	}
	uses := uses(p.Project)
	l.Skills = nil
	for _, e := range p.Lock.Skills {
		if gone[e.Key] {
			continue
		}
		if e.Use != uses[e.Key] {
			copied := *e
			copied.Use = uses[e.Key]
			e = &copied
		}
		l.Skills = append(l.Skills, e)
	}
	recordRefs(&l, lockedRef)
	l.Sort(p.Order())
	pruned := p.WithLock(&l)
	stale, err := Staleness(ctx, pruned, false)
	if err != nil {
		return nil, err
	}
	unreadable := len(stalePaths(pruned.Project)) > 0 // a path skill's fault is its own
	for _, s := range stale {
		if s.Code == diag.LockOutdated || !unreadable {
			return nil, nil
		}
	}
	return &l, nil
}
