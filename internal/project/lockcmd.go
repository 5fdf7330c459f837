package project

import (
	"context"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
)

// LockOptions tunes Lock.
type LockOptions struct {
	// DryRun resolves and writes nothing.
	DryRun bool
	// Explain adds why each skill has its version.
	Explain bool
	// ResolveSubskills says yes once to repositories that dependencies bring.
	ResolveSubskills bool
}

// Lock resolves the manifest into skills.lock and leaves installed skills
// alone. A lock with the conflict markers of a merge is solved anew with both
// sides as preferences.
func (p *Project) Lock(ctx context.Context, opt LockOptions) (*Change, error) {
	io := InstallOptions{DryRun: opt.DryRun, ResolveSubskills: opt.ResolveSubskills, NoInstall: true, Explain: opt.Explain}
	p, healed := p.healed()
	stale, err := p.staleness(ctx, true)
	if err != nil {
		return nil, err
	}
	if len(stale) == 0 && !healed {
		p.reportRetractions(p.lock)
		return p.apply(ctx, transaction{old: p.lock, lock: p.lock}, io)
	}
	t, err := p.relock(ctx, nil, resolveOptions{lock: p.lock, consent: opt.ResolveSubskills})
	if err != nil {
		return nil, err
	}
	return p.apply(ctx, t, io)
}

// CheckLock says whether the lock is exactly what the manifest needs, without
// network; every difference is a finding lock_outdated.
func (p *Project) CheckLock(ctx context.Context) error {
	stale, err := p.staleness(ctx, true)
	if err != nil {
		return err
	}
	return stale.Err()
}

// OpenConflicted is Open for a lock with conflict markers: both sides become one
// lock of preferences, ours first.
func OpenConflicted(opt Options) (*Project, error) {
	p, err := Open(opt)
	if err == nil || diag.CodeOf(err) != diag.LockCorrupt || p == nil {
		return p, err
	}
	if !lockfile.HasConflict(p.lockData) {
		return nil, err
	}
	ours, theirs, bothErr := lockfile.Conflicted(p.lockData)
	if bothErr != nil {
		return nil, lockFindings(p.display(p.lockPath()), bothErr)
	}
	return p.withLock(mergeLocks(ours, theirs)), nil
}

// mergeLocks joins two locks for preference: entries of both, ours where both
// have one.
func mergeLocks(ours, theirs *lockfile.Lock) *lockfile.Lock {
	switch {
	case ours == nil:
		return theirs
	case theirs == nil:
		return ours
	}
	merged := *ours
	merged.Skills = nil
	merged.Skills = append(merged.Skills, ours.Skills...)
	for _, e := range theirs.Skills {
		if ours.Get(e.Key) == nil {
			merged.Skills = append(merged.Skills, e)
		}
	}
	return &merged
}
