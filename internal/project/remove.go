package project

import (
	"context"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// Remove takes skills out of skills.toml, the lock and the disk, and with them
// what nothing needs any more. It works from the lock alone: nothing is fetched.
func (p *Project) Remove(ctx context.Context, names []string, opt InstallOptions) (*Change, error) {
	edit, err := manifest.NewEdit(p.manifestData)
	if err != nil {
		return nil, err
	}
	var faults diag.List
	for _, name := range names {
		if !edit.Remove(skill.Key(name)) {
			faults = append(faults, p.notRequired(name))
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	data, err := edit.Bytes()
	if err != nil {
		return nil, err
	}
	if p, err = p.edited(data); err != nil {
		return nil, err
	}
	l, err := p.prunedLock(ctx)
	if err != nil {
		return nil, err
	}
	if l == nil {
		t, err := p.relock(ctx, data, resolveOptions{lock: p.lock, consent: opt.ResolveSubskills})
		if err != nil {
			return nil, err
		}
		return p.apply(ctx, t, opt)
	}
	return p.apply(ctx, transaction{old: p.lock, lock: l, manifest: data}, opt)
}

func (p *Project) notRequired(name string) *diag.Error {
	e := usage("`%s` is not in %s", name, p.manifest.File)
	if p.lock == nil || p.lock.Get(name) == nil {
		return e.WithHint("`skillpm list` shows what is")
	}
	parents := p.lock.Dependents(name)
	if len(parents) == 0 {
		return e.WithHint("`skillpm install` removes it from disk, since nothing requires it")
	}
	return e.WithDetail("it is installed because %s requires it", parents[0]).
		WithHint("`skillpm why %s` shows the way; remove %s instead", name, parents[0])
}

// prunedLock returns the lock without what the manifest no longer reaches, nil
// if the lock and manifest differ in more than that.
func (p *Project) prunedLock(ctx context.Context) (*lockfile.Lock, error) {
	if p.lock == nil {
		return nil, nil
	}
	want := p.emptyLock()
	l := *p.lock
	l.Root, l.Targets = want.Root, want.Targets
	l.Root.Unknown = p.lock.Root.Unknown
	l.Skills = nil
	l.Skills = append(l.Skills, p.lock.Skills...)
	gone := map[string]bool{}
	for _, key := range l.Unreachable() {
		gone[key] = true
	}
	uses := p.uses()
	l.Skills = nil
	for _, e := range p.lock.Skills {
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
	l.Sort(p.order())
	stale, err := p.withLock(&l).staleness(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, s := range stale {
		if s.Code == diag.LockOutdated { // a path skill that cannot be read stays a fault of its own
			return nil, nil
		}
	}
	return &l, nil
}
