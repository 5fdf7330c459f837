package project

import (
	"context"

	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// Remove takes skills out of skills.toml, the lock and the disk, and with them
// what nothing needs any more. It works from the lock alone: nothing is fetched.
func Remove(ctx context.Context, p *world.World, names []string, opt apply.InstallOptions) (*decide.Change, error) {
	edit, err := manifest.NewEdit(p.ManifestData)
	if err != nil {
		return nil, err
	}
	var faults diag.List
	for _, name := range names {
		if !edit.Remove(skill.Key(name)) {
			faults = append(faults, notRequired(p.Project, name))
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	data, err := edit.Bytes()
	if err != nil {
		return nil, err
	}
	if p, err = p.Edited(data); err != nil {
		return nil, err
	}
	l, err := decide.PrunedLock(ctx, p)
	if err != nil {
		return nil, err
	}
	if l == nil {
		t, err := decide.Relock(ctx, p, data, decide.ResolveOptions{Lock: p.Lock, Consent: opt.ResolveSubskills})
		if err != nil {
			return nil, err
		}
		return apply.Apply(ctx, p, t, opt)
	}
	return apply.Apply(ctx, p, decide.Transaction{Old: p.Lock, Lock: l, Manifest: data}, opt)
}

func notRequired(p *workspace.Project, name string) *diag.Error {
	e := workspace.Usage("`%s` is not in %s", name, p.Manifest.File)
	if p.Lock == nil || p.Lock.Get(name) == nil {
		return e.WithHint("`skillpm list` shows what is")
	}
	parents := p.Lock.Dependents(name)
	if len(parents) == 0 {
		return e.WithHint("`skillpm install` removes it from disk, since nothing requires it")
	}
	return e.WithDetail("it is installed because %s requires it", parents[0]).
		WithHint("`skillpm why %s` shows the way; remove %s instead", name, parents[0])
}
