package install

import (
	"context"
	"errors"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/flock"
	"github.com/skillpm/skillpm/internal/fsx"
)

// Session is a run that holds the project's lock. Not safe for concurrent use.
type Session struct {
	site *site
	lock *flock.Lock
}

// Begin waits for the project's lock, finishes or undoes a killed run, and
// clears what dead runs left. Errors: project_locked, receipt_version,
// manifest_foreign (the private directory belongs to another tool),
// target_unsafe, install_conflict (a killed run's places were changed since),
// disk_full, permission_denied. Close must be called.
func Begin(ctx context.Context, layout Layout, opt Options) (*Session, error) {
	s, err := openSite(layout, opt)
	if err != nil {
		return nil, err
	}
	session := &Session{site: s}
	if err := session.begin(ctx); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return session, nil
}

func (s *Session) begin(ctx context.Context) error {
	if err := s.site.checkState(); err != nil {
		return err
	}
	if err := s.site.root.MkdirAll(s.site.layout.State, 0o755); err != nil {
		return fsx.Diag(err, "create `"+s.site.layout.State+"`")
	}
	wait := s.site.opt.Wait
	if wait == 0 {
		wait = DefaultWait
	}
	lock, err := flock.Acquire(ctx, s.site.abs(lockName), flock.Options{Wait: wait, Announce: s.site.opt.Announce})
	if err != nil {
		return err
	}
	s.lock = lock
	// What was seen before the lock is a hint; the receipt's version is checked
	// again by every plan.
	if _, _, err := s.site.loadReceipt(); err != nil {
		return err
	}
	if err := s.site.recover(ctx); err != nil {
		return err
	}
	return fsx.Diag(s.site.ignoreState(), "prepare `"+s.site.layout.State+"`")
}

// ignoreState tells git to ignore the private directory.
func (s *site) ignoreState() error {
	ignore := s.state(".gitignore")
	if _, err := s.root.Lstat(ignore); err == nil {
		return nil
	}
	return s.root.WriteAtomic(ignore, []byte("*\n"), 0o644)
}

// Plan looks at the disk and says what Apply would do. It writes nothing.
func (s *Session) Plan(ctx context.Context, want Desired) (*Plan, error) {
	plan, err := s.site.plan(ctx, want)
	if err != nil {
		return nil, err
	}
	plan.owner = s.site
	return plan, nil
}

func (s *site) plan(ctx context.Context, want Desired) (*Plan, error) {
	before := s.counters()
	v, err := s.observe(ctx, want)
	if err != nil {
		return nil, err
	}
	plan := decide(v)
	now := s.counters()
	plan.cost = Counters{now.Stats - before.Stats, now.Hashed - before.Hashed, now.Copied - before.Copied}
	return plan, nil
}

// Close releases the lock. A second call does nothing.
func (s *Session) Close() error {
	if s.site == nil {
		return nil
	}
	err := errors.Join(s.lock.Release(), s.site.close())
	s.site, s.lock = nil, nil
	return err
}

// Preview is Plan without the lock, for --dry-run and the no-op path: if the
// plan's NoOp is true there is nothing to lock, recover or write. It opens no
// network and no index, writes nothing, and hashes only what the receipt does
// not vouch for.
func Preview(ctx context.Context, layout Layout, opt Options, want Desired) (*Plan, error) {
	s, err := openSite(layout, opt)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.checkState(); err != nil {
		return nil, err
	}
	return s.plan(ctx, want)
}

// Refresh writes the stat signatures of a plan that is a NoOp but had to hash,
// so that the next run need not, and clears what a killed run staged. It waits
// for nobody and fails silently: it saves time and space and nothing else. No
// receipt is written when no signature would prove anything yet.
func Refresh(ctx context.Context, layout Layout, opt Options, plan *Plan) {
	worth := plan.worthRefreshing()
	if !plan.NoOp() || !worth && !plan.view.staged {
		return
	}
	opt.Wait, opt.Announce, opt.Note = -1, nil, func(*diag.Error) {}
	s, err := Begin(ctx, layout, opt)
	if err != nil {
		return
	}
	defer s.Close()
	if !worth {
		return // beginning has cleared
	}
	if now, err := s.site.readReceipt(); err != nil || !now.sameBut(plan.view.receipt) {
		return // another run was here since
	}
	if data, err := plan.next.bytes(); err == nil {
		_ = s.site.root.WriteAtomic(s.site.state(receiptName), data, 0o644)
	}
}

// worthRefreshing reports whether a signature that did not vouch would now.
func (p *Plan) worthRefreshing() bool {
	for _, a := range p.Actions {
		if a.Kind == Keep && a.seen.kind == seenDir && !a.seen.vouched && a.seen.sig.fresh(p.next.Places[a.Path()]) {
			return true
		}
	}
	return false
}
