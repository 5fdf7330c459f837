package project

import (
	"context"

	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// MaterializedSkill is one skill that Materialize answers for.
type MaterializedSkill struct {
	Key     string       `json:"key"`
	Version string       `json:"version,omitempty"`
	Digest  skill.Digest `json:"digest,omitempty"`
	Path    string       `json:"path"`
	// State is present (was there as locked) or materialized.
	State string `json:"state"`
	// Dependency says that it was not asked for by name.
	Dependency bool `json:"dependency,omitempty"`
}

// MaterializeResult lists the skills asked for and what they depend on, in the
// lock's order.
type MaterializeResult struct {
	Skills []MaterializedSkill `json:"skills"`
	DryRun bool                `json:"dryRun,omitempty"`
}

// Materialize brings locked skills, and what they depend on, to disk and leaves
// the others where they are: a project that was locked with --no-install gets
// its skills one by one as they are used. Bytes come from the cache, then from
// mirrors and repositories. Checks and trust rules are those of Install; the lock
// is only read.
func Materialize(ctx context.Context, p *world.World, keys []string, opt apply.InstallOptions) (*MaterializeResult, error) {
	wanted, err := closure(p.Project, keys)
	if err != nil {
		return nil, err
	}
	r := &MaterializeResult{Skills: []MaterializedSkill{}, DryRun: opt.DryRun}
	partial := *p.Lock
	partial.Skills = nil
	there := map[string]bool{}
	for _, e := range p.Lock.Skills {
		there[e.Key] = views.OnDiskAlready(p.Project, e)
		if there[e.Key] || wanted[e.Key] {
			partial.Skills = append(partial.Skills, e)
		}
	}
	opt.Frozen = true // the lock stays as it is
	change, err := apply.Apply(ctx, p, decide.Transaction{Old: p.Lock, Lock: &partial}, opt)
	if err != nil {
		return nil, err
	}
	moved := map[string]bool{}
	for _, a := range change.Plan {
		moved[string(a.Key)] = moved[string(a.Key)] || a.Kind == install.Create || a.Kind == install.Replace
	}
	asked := map[string]bool{}
	for _, k := range keys {
		asked[k] = true
	}
	for _, e := range p.Lock.Skills {
		if !wanted[e.Key] {
			continue
		}
		s := MaterializedSkill{
			Key: e.Key, Version: e.Version, Digest: e.Digest, Path: views.SkillPath(p.Project, e), State: "present", Dependency: !asked[e.Key],
		}
		if moved[e.Key] {
			s.State = "materialized"
		}
		r.Skills = append(r.Skills, s)
	}
	return r, nil
}

// closure returns keys and all that they depend on.
func closure(p *workspace.Project, keys []string) (map[string]bool, error) {
	wanted := map[string]bool{}
	var faults diag.List
	for _, key := range keys {
		if _, err := p.Entry(key); err != nil {
			faults = append(faults, diag.All(err)...)
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	byKey := make(map[string]*lockfile.Entry, len(p.Lock.Skills))
	for _, e := range p.Lock.Skills {
		byKey[e.Key] = e
	}
	for queue := append([]string(nil), keys...); len(queue) > 0; queue = queue[1:] {
		e := byKey[queue[0]]
		if e == nil || wanted[e.Key] {
			continue
		}
		wanted[e.Key] = true
		queue = append(queue, e.Dependencies...)
	}
	return wanted, nil
}
