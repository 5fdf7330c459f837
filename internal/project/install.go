package project

import (
	"context"

	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/world"
)

// Install makes the disk equal the lock. A lock that the manifest has left
// behind is resolved first, unless opt.Frozen.
func Install(ctx context.Context, p *world.World, opt apply.InstallOptions) (*decide.Change, error) {
	if opt.NoManifest { // the lock speaks for the manifest that is not here
		p = p.With(p.Permit.NameRoots(p.Lock))
		p.ReportRetractions(p.Lock)
		return apply.Apply(ctx, p, decide.Transaction{Old: p.Lock, Lock: p.Lock}, opt)
	}
	retargeted, err := apply.Retarget(p.Project, opt)
	if err != nil {
		return nil, err
	}
	if retargeted != nil {
		if p, err = p.Edited(retargeted); err != nil {
			return nil, err
		}
		l, err := decide.PrunedLock(ctx, p)
		if err != nil {
			return nil, err
		}
		if l != nil {
			return apply.Apply(ctx, p, decide.Transaction{Old: p.Lock, Lock: l, Manifest: retargeted}, opt)
		}
	}
	// Mostly the lock is current: the disk is looked at while that is found out.
	lookCtx, stopLooking := context.WithCancel(ctx)
	defer stopLooking()
	ahead := apply.PreviewAhead(lookCtx, p.Local, opt)
	stale, err := decide.Staleness(ctx, p, opt.Frozen)
	if err != nil {
		return nil, err
	}
	if len(stale) == 0 {
		p.ReportRetractions(p.Lock)
		return apply.Apply(ctx, p, decide.Transaction{Old: p.Lock, Lock: p.Lock, Preview: ahead}, opt)
	}
	stopLooking()
	if opt.Frozen {
		return nil, stale.Err()
	}
	t, err := decide.Relock(ctx, p, retargeted, decide.ResolveOptions{Lock: p.Lock, Consent: opt.ResolveSubskills})
	if err != nil {
		return nil, err
	}
	return apply.Apply(ctx, p, t, opt)
}
