package project

import (
	"context"

	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
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
func Lock(ctx context.Context, p *world.World, opt LockOptions) (*decide.Change, error) {
	io := apply.InstallOptions{DryRun: opt.DryRun, ResolveSubskills: opt.ResolveSubskills, NoInstall: true, Explain: opt.Explain}
	p, healed := decide.Healed(p)
	stale, err := decide.Staleness(ctx, p, true)
	if err != nil {
		return nil, err
	}
	if len(stale) == 0 && !healed {
		p.ReportRetractions(p.Lock)
		return apply.Apply(ctx, p, decide.Transaction{Old: p.Lock, Lock: p.Lock}, io)
	}
	t, err := decide.Relock(ctx, p, nil, decide.ResolveOptions{Lock: p.Lock, Consent: opt.ResolveSubskills})
	if err != nil {
		return nil, err
	}
	return apply.Apply(ctx, p, t, io)
}

// CheckLock says whether the lock is exactly what the manifest needs, without
// network; every difference is a finding lock_outdated.
func CheckLock(ctx context.Context, p *world.World) error {
	stale, err := decide.Staleness(ctx, p, true)
	if err != nil {
		return err
	}
	return stale.Err()
}

// OpenConflicted is Open for a lock with conflict markers: both sides become one
// lock of preferences, ours first.
func OpenConflicted(opt workspace.Options) (*world.World, error) {
	p, err := world.Open(opt)
	if err == nil || diag.CodeOf(err) != diag.LockCorrupt || p == nil {
		return p, err
	}
	if !lockfile.HasConflict(p.LockData) {
		return nil, err
	}
	ours, theirs, bothErr := lockfile.Conflicted(p.LockData)
	if bothErr != nil {
		return nil, workspace.LockFindings(p.Display(p.LockPath()), bothErr)
	}
	return p.WithLock(decide.MergeLocks(ours, theirs)), nil
}
