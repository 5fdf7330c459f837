package project

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// InstallOptions tunes Install and the last step of Add, Remove and Update.
type InstallOptions struct {
	TrustOptions
	// Frozen only reads the lock: any difference is lock_outdated.
	Frozen bool
	// Force gives up local edits and foreign directories in the way.
	Force bool
	// DryRun says what would happen and writes nothing.
	DryRun bool
	// ResolveSubskills says yes once to repositories that dependencies bring.
	ResolveSubskills bool
	// NoInstall changes manifest and lock only.
	NoInstall bool
	// NoManifest takes the lock alone, for a checkout without skills.toml.
	NoManifest bool
	// Agents and Targets are added to those of skills.toml.
	Agents, Targets []string
	// Explain adds why each skill has its version.
	Explain bool
	// ReservedNames is a file of names that no skill may have; "" reserves none.
	ReservedNames string
}

// Install makes the disk equal the lock. A lock that the manifest has left
// behind is resolved first, unless opt.Frozen.
func (p *Project) Install(ctx context.Context, opt InstallOptions) (*Change, error) {
	if opt.NoManifest { // the lock speaks for the manifest that is not here
		p = p.with(p.permit.nameRoots(p.lock))
		p.reportRetractions(p.lock)
		return p.apply(ctx, transaction{old: p.lock, lock: p.lock}, opt)
	}
	retargeted, err := p.retarget(opt)
	if err != nil {
		return nil, err
	}
	if retargeted != nil {
		if p, err = p.edited(retargeted); err != nil {
			return nil, err
		}
		l, err := p.prunedLock(ctx)
		if err != nil {
			return nil, err
		}
		if l != nil {
			return p.apply(ctx, transaction{old: p.lock, lock: l, manifest: retargeted}, opt)
		}
	}
	// Mostly the lock is current: the disk is looked at while that is found out.
	lookCtx, stopLooking := context.WithCancel(ctx)
	defer stopLooking()
	ahead := p.previewAhead(lookCtx, opt)
	stale, err := p.staleness(ctx, opt.Frozen)
	if err != nil {
		return nil, err
	}
	if len(stale) == 0 {
		p.reportRetractions(p.lock)
		return p.apply(ctx, transaction{old: p.lock, lock: p.lock, preview: ahead}, opt)
	}
	stopLooking()
	if opt.Frozen {
		return nil, stale.Err()
	}
	t, err := p.relock(ctx, retargeted, resolveOptions{lock: p.lock, consent: opt.ResolveSubskills})
	if err != nil {
		return nil, err
	}
	return p.apply(ctx, t, opt)
}

// transaction is what a run is about to make true: a lock, a manifest if it was
// edited, and what led there.
type transaction struct {
	old, lock *lockfile.Lock
	manifest  []byte // nil where skills.toml stays
	behind    []Behind
	skipped   []SkippedSkill
	// preview returns the plan for lock where it is being made already.
	preview func() (*install.Plan, error)
}

// previewAhead begins to look at the disk for the lock as it is, and returns how
// to wait for the plan. Its notes are passed on only if it is waited for.
func (p *Project) previewAhead(ctx context.Context, opt InstallOptions) func() (*install.Plan, error) {
	if p.lock == nil || opt.NoInstall {
		return nil
	}
	want, options := p.desired(p.lock, p.lock, opt.Force), p.installOptions()
	var notes diag.List
	var mu sync.Mutex
	options.Note = func(e *diag.Error) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, e)
	}
	var plan *install.Plan
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = diag.Guard(func() error {
			var err error
			plan, err = install.Preview(ctx, p.layout(), options, want)
			return err
		})
	}()
	return func() (*install.Plan, error) {
		<-done
		for _, n := range notes {
			p.opt.Report(n)
		}
		return plan, err
	}
}

// relock resolves the manifest into a new lock. edited are the bytes that the
// run wants to write as skills.toml, nil if it leaves the file; a source that was
// consented to is added to them.
func (p *Project) relock(ctx context.Context, edited []byte, opt resolveOptions) (transaction, error) {
	r, err := p.resolve(ctx, opt)
	if err != nil {
		return transaction{}, err
	}
	l, err := r.universe.p.buildLock(ctx, r)
	if err != nil {
		return transaction{}, err
	}
	t := transaction{old: opt.lock, lock: l, manifest: edited}
	for _, b := range r.solution.Behind {
		because := make([]string, len(b.Because))
		for i, k := range b.Because {
			because[i] = string(k)
		}
		t.behind = append(t.behind, Behind{string(b.Name), b.Chosen.String(), b.Newest.String(), because})
	}
	if len(r.newSources) > 0 {
		if t.manifest == nil {
			t.manifest = p.manifestData
		}
		if t.manifest, err = trustSources(t.manifest, r.newSources); err != nil {
			return transaction{}, err
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

// desired is what a lock wants on disk.
func (p *Project) desired(old, l *lockfile.Lock, force bool) install.Desired {
	d := install.Desired{
		Targets: l.Targets, Link: install.Link(p.config.Install.Link),
		ExposeDirect: p.config.Install.Expose == "direct", Force: force, OldLock: map[skill.Key]skill.Digest{},
	}
	if p.opt.Global {
		d.Targets = homeTargets(l.Targets)
	}
	for _, e := range l.Skills {
		item := install.Item{Key: skill.Key(e.Key), Digest: e.Digest}
		if e.Signature != nil {
			item.Bundle = e.Signature.Bundle
		}
		if e.Source.Type == lockfile.TypePath {
			item.Path, item.Digest = p.itemPath(e.Source.Path), ""
		}
		_, direct := l.Root.Requires[e.Key]
		item.Transitive = !direct
		d.Items = append(d.Items, item)
	}
	for _, lock := range []*lockfile.Lock{p.lock, old} {
		if lock == nil {
			continue
		}
		d.OldTargets = lock.Targets
		if p.opt.Global {
			d.OldTargets = homeTargets(lock.Targets)
		}
		for _, e := range lock.Skills {
			d.OldLock[skill.Key(e.Key)] = e.Digest
		}
	}
	return d
}

// apply carries a transaction out: bytes, checks, trust, disk, files.
func (p *Project) apply(ctx context.Context, t transaction, opt InstallOptions) (*Change, error) {
	if err := p.checkReserved(opt.ReservedNames, t.lock); err != nil {
		return nil, err
	}
	if err := p.checkPathPlaces(t.lock); err != nil {
		return nil, err
	}
	change := &Change{
		Skills: lockChanges(t.old, t.lock), Targets: t.lock.Targets, DryRun: opt.DryRun, Frozen: opt.Frozen,
		Behind: t.behind, Skipped: t.skipped, NoInstall: opt.NoInstall,
	}
	if opt.Explain {
		change.Explained = p.explain(t.lock, t.behind)
	}
	canonical := t.lock.Bytes()
	lock, err := p.lockToWrite(t.lock, canonical)
	if err != nil {
		return nil, err
	}
	change.LockChanged = !slices.Equal(lock, p.lockData) && !opt.Frozen && !opt.NoManifest
	files := p.fileChanges(t, change.LockChanged, lock)
	want := p.desired(t.old, t.lock, opt.Force)
	if opt.NoInstall {
		return change, p.writeOnly(ctx, t, change, files, opt)
	}
	preview := t.preview
	if preview == nil {
		preview = func() (*install.Plan, error) {
			return install.Preview(ctx, p.layout(), p.installOptions(), want)
		}
	}
	plan, err := preview()
	if err != nil {
		return nil, err
	}
	change.Plan = plan.Actions
	change.disk(plan.Actions)
	if plan.NoOp() && len(files) == 0 && p.judgedBefore(canonical) {
		change.UpToDate = true
		if !opt.DryRun {
			p.cache.Flush(ctx) // only a run that resolved has learnt anything
			install.Refresh(ctx, p.layout(), p.installOptions(), plan)
		}
		return change, p.unmanaged(change)
	}
	if err := plan.Conflicts().Err(); err != nil && !opt.DryRun {
		return nil, err
	}
	if err := p.check(ctx, t, change, plan, opt.TrustOptions); err != nil {
		return nil, err
	}
	if opt.DryRun {
		return change, plan.Conflicts().Err()
	}
	if err := p.unmanaged(change); err != nil {
		return nil, err
	}
	if plan.NoOp() && len(files) == 0 {
		change.UpToDate = true
		p.cache.Flush(ctx)
		install.Refresh(ctx, p.layout(), p.installOptions(), plan)
		return change, nil
	}
	if err := p.commit(ctx, t, want, change, files, opt); err != nil {
		return nil, err
	}
	return change, nil
}

// lockToWrite returns the bytes that belong into skills.lock. A lock that is kept
// stays as it was written, also by an earlier version in another order; any other
// is decoded first, since one that nobody can read again must not be written.
func (p *Project) lockToWrite(l *lockfile.Lock, canonical []byte) ([]byte, error) {
	if slices.Equal(canonical, p.lockData) || l == p.lock && lockfile.IsCanonical(p.lockData) {
		return p.lockData, nil
	}
	return encodeLock(l)
}

// encodeLock is the one way from a lock to bytes for the disk. A lock that does
// not decode is a fault of this program, named with what is wrong in it.
func encodeLock(l *lockfile.Lock) ([]byte, error) {
	data, err := l.Encode()
	if err != nil {
		return nil, diag.New(diag.Internal, "the new lock cannot be read back, so it was not written").WithCause(err)
	}
	return data, nil
}

// fileChanges lists the project files to write, in writing order.
func (p *Project) fileChanges(t transaction, lockChanged bool, lock []byte) []install.FileChange {
	var files []install.FileChange
	if t.manifest != nil && !slices.Equal(t.manifest, p.manifestData) {
		files = append(files, install.FileChange{Path: p.manifestPath(), Data: t.manifest})
	}
	if lockChanged {
		files = append(files, install.FileChange{Path: p.lockPath(), Data: lock})
	}
	return files
}

// writeOnly writes manifest and lock and leaves the disk alone.
func (p *Project) writeOnly(ctx context.Context, t transaction, change *Change, files []install.FileChange, opt InstallOptions) error {
	if opt.DryRun || len(files) == 0 {
		change.UpToDate = len(files) == 0
		return nil
	}
	s, err := p.begin(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Write(files...); err != nil {
		return err
	}
	p.cache.Flush(ctx)
	return nil
}

// begin locks the project, as this run read it. The directory of the user's own manifest and lock is
// made by the first run that writes them.
func (p *Project) begin(ctx context.Context) (*install.Session, error) {
	if p.opt.Global {
		var disk *fsx.FS // the real one
		root, err := disk.MakeRoot(p.Root, 0o755)
		if err != nil {
			return nil, fsx.Diag(err, "make `"+p.Root+"`")
		}
		root.Close()
	}
	s, err := install.Begin(ctx, p.layout(), p.installOptions())
	if err != nil {
		return nil, err
	}
	if err := p.unchangedSince(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// commit applies the plan under the project's lock. Bytes that the store lost
// meanwhile are fetched once more.
func (p *Project) commit(ctx context.Context, t transaction, want install.Desired, change *Change, files []install.FileChange, opt InstallOptions) error {
	s, err := p.begin(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for attempt := 0; ; attempt++ {
		plan, err := s.Plan(ctx, want)
		if err != nil {
			return err
		}
		change.Plan = plan.Actions
		change.Unmanaged = nil
		change.disk(plan.Actions)
		if err := plan.Conflicts().Err(); err != nil {
			return err
		}
		_, err = s.Apply(ctx, plan, files...)
		if damaged, ok := errors.AsType[*install.DamagedError](err); ok && attempt == 0 {
			if err := p.refetch(ctx, t.lock, damaged); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	for _, e := range t.lock.Skills {
		if e.Digest != "" {
			p.cache.Used(e.Digest)
		}
	}
	p.cache.Flush(ctx)
	return nil
}

// ErrOvertaken is the cause of a refusal to overwrite what was read before the
// project's lock was held: another run wrote it, or beginning this one finished
// what a killed run had left. Opened anew, the project can do the same work.
var ErrOvertaken = errors.New("what was read is no longer what is there")

// unchangedSince refuses to overwrite manifest or lock that another run changed
// while this one was working.
func (p *Project) unchangedSince() error {
	for _, f := range []struct {
		path string
		data []byte
	}{{p.manifestPath(), p.manifestData}, {p.lockPath(), p.lockData}} {
		if p.lockAlone && f.path == p.manifestPath() {
			continue
		}
		now, err := readBounded(f.path)
		if err != nil && f.data == nil {
			continue
		}
		if err != nil || !slices.Equal(now, f.data) {
			return diag.New(diag.ProjectLocked, "%s was changed by another run meanwhile", p.display(f.path)).
				WithCause(ErrOvertaken).WithHint("nothing was written; run the command again")
		}
	}
	return nil
}

func (p *Project) refetch(ctx context.Context, l *lockfile.Lock, damaged *install.DamagedError) error {
	var orders []order
	for _, e := range l.Skills {
		o, ok := wantOf(e)
		if ok && (slices.Contains(damaged.Trees, e.Digest) || o.bundle != "" && slices.Contains(damaged.Bundles, o.bundle)) {
			orders = append(orders, o)
		}
	}
	_, err := p.obtain(ctx, orders)
	return err
}

// unmanaged notes, or refuses, skills that nobody ordered.
func (p *Project) unmanaged(c *Change) error {
	if len(c.Unmanaged) == 0 || p.config.Install.Unmanaged != "refuse" {
		return nil
	}
	var list diag.List
	for _, place := range c.Unmanaged {
		list = append(list, diag.New(diag.SkillUnlocked, "%s is a skill that no lock names", place).
			WithHint("add it to skills.toml as { path = … }, or move it away; `[install] unmanaged = \"note\"` tolerates it"))
	}
	return list.Err()
}
