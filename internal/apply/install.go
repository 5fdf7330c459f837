package apply

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/skillpm/skillpm/internal/accept"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// InstallOptions tunes Install and the last step of Add, Remove and Update.
type InstallOptions struct {
	accept.TrustOptions
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

// PreviewAhead begins to look at the disk for the lock as it is, and returns how
// to wait for the plan. Its notes are passed on only if it is waited for.
func PreviewAhead(ctx context.Context, p *world.Local, opt InstallOptions) func() (*install.Plan, error) {
	if p.Lock == nil || opt.NoInstall {
		return nil
	}
	want, options := Desired(p.Project, p.Lock, p.Lock, opt.Force), p.InstallOptions()
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
			plan, err = install.Preview(ctx, p.Layout(), options, want)
			return err
		})
	}()
	return func() (*install.Plan, error) {
		<-done
		for _, n := range notes {
			p.Opt.Report(n)
		}
		return plan, err
	}
}

// Desired is what a lock wants on disk.
func Desired(p *workspace.Project, old, l *lockfile.Lock, force bool) install.Desired {
	d := install.Desired{
		Targets: l.Targets, Link: install.Link(p.Config.Install.Link),
		ExposeDirect: p.Config.Install.Expose == "direct", Force: force, OldLock: map[skill.Key]skill.Digest{},
	}
	if p.Opt.Global {
		d.Targets = workspace.HomeTargets(l.Targets)
	}
	for _, e := range l.Skills {
		item := install.Item{Key: skill.Key(e.Key), Digest: e.Digest}
		if e.Signature != nil {
			item.Bundle = e.Signature.Bundle
		}
		if e.Source.Type == lockfile.TypePath {
			item.Path, item.Digest = p.ItemPath(e.Source.Path), ""
		}
		_, direct := l.Root.Requires[e.Key]
		item.Transitive = !direct
		d.Items = append(d.Items, item)
	}
	for _, lock := range []*lockfile.Lock{p.Lock, old} {
		if lock == nil {
			continue
		}
		d.OldTargets = lock.Targets
		if p.Opt.Global {
			d.OldTargets = workspace.HomeTargets(lock.Targets)
		}
		for _, e := range lock.Skills {
			d.OldLock[skill.Key(e.Key)] = e.Digest
		}
	}
	return d
}

// Apply carries a transaction out: bytes, checks, trust, disk, files.
func Apply(ctx context.Context, p *world.World, t decide.Transaction, opt InstallOptions) (*decide.Change, error) {
	if err := accept.CheckReserved(p.Project, opt.ReservedNames, t.Lock); err != nil {
		return nil, err
	}
	if err := world.CheckPathPlaces(p.Project, t.Lock); err != nil {
		return nil, err
	}
	change := &decide.Change{
		Skills: decide.LockChanges(t.Old, t.Lock), Targets: t.Lock.Targets, DryRun: opt.DryRun, Frozen: opt.Frozen,
		Behind: t.Behind, Skipped: t.Skipped, NoInstall: opt.NoInstall,
	}
	if opt.Explain {
		change.Explained = decide.Explain(p, t.Lock, t.Behind)
	}
	canonical := t.Lock.Bytes()
	lock, err := lockToWrite(p.Project, t.Lock, canonical)
	if err != nil {
		return nil, err
	}
	change.LockChanged = !slices.Equal(lock, p.LockData) && !opt.Frozen && !opt.NoManifest
	files := fileChanges(p.Project, t, change.LockChanged, lock)
	want := Desired(p.Project, t.Old, t.Lock, opt.Force)
	if opt.NoInstall {
		return change, writeOnly(ctx, p.Local, t, change, files, opt)
	}
	preview := t.Preview
	if preview == nil {
		preview = func() (*install.Plan, error) {
			return install.Preview(ctx, p.Layout(), p.InstallOptions(), want)
		}
	}
	plan, err := preview()
	if err != nil {
		return nil, err
	}
	change.Plan = plan.Actions
	change.Disk(plan.Actions)
	if plan.NoOp() && len(files) == 0 && accept.JudgedBefore(p.Local, canonical) {
		change.UpToDate = true
		if !opt.DryRun {
			p.Cache.Flush(ctx) // only a run that resolved has learnt anything
			install.Refresh(ctx, p.Layout(), p.InstallOptions(), plan)
		}
		return change, unmanaged(p.Project, change)
	}
	if err := plan.Conflicts().Err(); err != nil && !opt.DryRun {
		return nil, err
	}
	if err := accept.Check(ctx, p, t, change, plan, opt.TrustOptions); err != nil {
		return nil, err
	}
	if opt.DryRun {
		return change, plan.Conflicts().Err()
	}
	if err := unmanaged(p.Project, change); err != nil {
		return nil, err
	}
	if plan.NoOp() && len(files) == 0 {
		change.UpToDate = true
		p.Cache.Flush(ctx)
		install.Refresh(ctx, p.Layout(), p.InstallOptions(), plan)
		return change, nil
	}
	if err := commit(ctx, p, t, want, change, files, opt); err != nil {
		return nil, err
	}
	return change, nil
}

// lockToWrite returns the bytes that belong into skills.lock. A lock that is kept
// stays as it was written, also by an earlier version in another order; any other
// is decoded first, since one that nobody can read again must not be written.
func lockToWrite(p *workspace.Project, l *lockfile.Lock, canonical []byte) ([]byte, error) {
	if slices.Equal(canonical, p.LockData) || l == p.Lock && lockfile.IsCanonical(p.LockData) {
		return p.LockData, nil
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
func fileChanges(p *workspace.Project, t decide.Transaction, lockChanged bool, lock []byte) []install.FileChange {
	var files []install.FileChange
	if t.Manifest != nil && !slices.Equal(t.Manifest, p.ManifestData) {
		files = append(files, install.FileChange{Path: p.ManifestPath(), Data: t.Manifest})
	}
	if lockChanged {
		files = append(files, install.FileChange{Path: p.LockPath(), Data: lock})
	}
	return files
}

// writeOnly writes manifest and lock and leaves the disk alone.
func writeOnly(ctx context.Context, p *world.Local, t decide.Transaction, change *decide.Change, files []install.FileChange, opt InstallOptions) error {
	if opt.DryRun || len(files) == 0 {
		change.UpToDate = len(files) == 0
		return nil
	}
	s, err := Begin(ctx, p)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Write(files...); err != nil {
		return err
	}
	p.Cache.Flush(ctx)
	return nil
}

// Begin locks the project, as this run read it. The directory of the user's own manifest and lock is
// made by the first run that writes them.
func Begin(ctx context.Context, p *world.Local) (*install.Session, error) {
	if p.Opt.Global {
		var disk *fsx.FS // the real one
		root, err := disk.MakeRoot(p.Root, 0o755)
		if err != nil {
			return nil, fsx.Diag(err, "make `"+p.Root+"`")
		}
		root.Close()
	}
	s, err := install.Begin(ctx, p.Layout(), p.InstallOptions())
	if err != nil {
		return nil, err
	}
	if err := unchangedSince(p.Project); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// commit applies the plan under the project's lock. Bytes that the store lost
// meanwhile are fetched once more.
func commit(ctx context.Context, p *world.World, t decide.Transaction, want install.Desired, change *decide.Change, files []install.FileChange, opt InstallOptions) error {
	s, err := Begin(ctx, p.Local)
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
		change.Disk(plan.Actions)
		if err := plan.Conflicts().Err(); err != nil {
			return err
		}
		_, err = s.Apply(ctx, plan, files...)
		if damaged, ok := errors.AsType[*install.DamagedError](err); ok && attempt == 0 {
			if err := refetch(ctx, p, t.Lock, damaged); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	for _, e := range t.Lock.Skills {
		if e.Digest != "" {
			p.Cache.Used(e.Digest)
		}
	}
	p.Cache.Flush(ctx)
	return nil
}

// ErrOvertaken is the cause of a refusal to overwrite what was read before the
// project's lock was held: another run wrote it, or beginning this one finished
// what a killed run had left. Opened anew, the project can do the same work.
var ErrOvertaken = errors.New("what was read is no longer what is there")

// unchangedSince refuses to overwrite manifest or lock that another run changed
// while this one was working.
func unchangedSince(p *workspace.Project) error {
	for _, f := range []struct {
		path string
		data []byte
	}{{p.ManifestPath(), p.ManifestData}, {p.LockPath(), p.LockData}} {
		if p.LockAlone && f.path == p.ManifestPath() {
			continue
		}
		now, err := workspace.ReadBounded(f.path)
		if err != nil && f.data == nil {
			continue
		}
		if err != nil || !slices.Equal(now, f.data) {
			return diag.New(diag.ProjectLocked, "%s was changed by another run meanwhile", p.Display(f.path)).
				WithCause(ErrOvertaken).WithHint("nothing was written; run the command again")
		}
	}
	return nil
}

func refetch(ctx context.Context, p *world.World, l *lockfile.Lock, damaged *install.DamagedError) error {
	var orders []world.Request
	for _, e := range l.Skills {
		o, ok := world.WantOf(e)
		if ok && (slices.Contains(damaged.Trees, e.Digest) || o.Bundle != "" && slices.Contains(damaged.Bundles, o.Bundle)) {
			orders = append(orders, o)
		}
	}
	_, err := p.Obtain(ctx, orders)
	return err
}

// unmanaged notes, or refuses, skills that nobody ordered.
func unmanaged(p *workspace.Project, c *decide.Change) error {
	if len(c.Unmanaged) == 0 || p.Config.Install.Unmanaged != "refuse" {
		return nil
	}
	var list diag.List
	for _, place := range c.Unmanaged {
		list = append(list, diag.New(diag.SkillUnlocked, "%s is a skill that no lock names", place).
			WithHint("add it to skills.toml as { path = … }, or move it away; `[install] unmanaged = \"note\"` tolerates it"))
	}
	return list.Err()
}
