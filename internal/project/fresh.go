package project

import (
	"context"
	"maps"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
)

// staleness compares manifest and lock and returns every difference as
// lock_outdated; nil means that the lock is exactly what the manifest needs.
// Nothing is fetched. bytes also demands the canonical spelling of the file.
func (p *Project) staleness(ctx context.Context, bytes bool) (diag.List, error) {
	if p.lock == nil {
		return diag.List{p.outdated("there is no %s", lockfile.FileName)}, nil
	}
	var list diag.List
	wanted := p.emptyLock()
	list = append(list, p.compareMaps("requires", wanted.Root.Requires, p.lock.Root.Requires)...)
	list = append(list, p.compareMaps("overrides", wanted.Root.Overrides, p.lock.Root.Overrides)...)
	if want := p.targets(); !slices.Equal(want, p.lock.Targets) {
		list = append(list, p.outdated("the targets are %v in skills.toml and %v in the lock", want, p.lock.Targets))
	}
	uses := p.uses()
	for _, e := range p.lock.Skills {
		if e.Use != uses[e.Key] {
			list = append(list, p.outdated("`%s`: use is %q in skills.toml and %q in the lock", e.Key, uses[e.Key], e.Use))
		}
	}
	list = append(list, p.stalePaths()...)
	for _, l := range p.selfCheck(diag.LockOutdated) {
		list = append(list, l.finding)
	}
	if len(list) == 0 {
		graph, err := p.staleGraph(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, graph...)
	}
	if len(list) == 0 {
		list = append(list, p.staleRefs()...)
	}
	list = append(list, p.staleChains()...)
	if len(list) == 0 && bytes && !lockfile.IsCanonical(p.lockData) {
		list = append(list, p.outdated("%s is not in its canonical form: it was edited by hand", lockfile.FileName))
	}
	return list, nil
}

func (p *Project) outdated(format string, args ...any) *diag.Error {
	return diag.New(diag.LockOutdated, format, args...).At(p.display(p.lockPath()), 0, 0).
		WithHint("`skillpm lock` brings it up to date; commit the result")
}

func (p *Project) compareMaps(what string, manifest, lock map[string]string) diag.List {
	var list diag.List
	if maps.Equal(manifest, lock) {
		return nil
	}
	keys := maps.Clone(manifest)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, lock)
	for _, key := range sortedKeys(keys) {
		want, inManifest := manifest[key]
		have, inLock := lock[key]
		switch {
		case !inLock:
			list = append(list, p.outdated("%s: `%s` is in skills.toml (%s) and not in the lock", what, key, want))
		case !inManifest:
			list = append(list, p.outdated("%s: `%s` is in the lock (%s) and not in skills.toml", what, key, have))
		case want != have:
			list = append(list, p.outdated("%s: `%s` is `%s` in skills.toml and `%s` in the lock", what, key, want, have))
		}
	}
	return list
}

// stalePaths compares path entries with the SKILL.md they stand for.
func (p *Project) stalePaths() diag.List {
	var list diag.List
	for _, e := range p.lock.Skills {
		if e.Source.Type != lockfile.TypePath {
			continue
		}
		src, ok := entrySource(e)
		if !ok {
			list = append(list, p.outdated("the path of `%s` is not readable", e.Key))
			continue
		}
		f, err := p.readPathSkill(src)
		if err == nil {
			err = f.fault
		}
		if err != nil {
			list = append(list, diag.All(err)...)
			continue
		}
		requires := map[string]string{}
		for _, d := range f.parsed.Requires {
			requires[string(d.Name)] = d.Requirement.String()
		}
		if !maps.Equal(requires, nonNil(e.Requires)) {
			list = append(list, p.outdated("the requirements of the path skill `%s` changed", e.Key))
		}
		if f.parsed.Version.String() != e.Version {
			list = append(list, p.outdated("the path skill `%s` declares version %q, the lock has %q", e.Key, f.parsed.Version, e.Version))
		}
		var steps []string
		if f.parsed.Chain != nil {
			for _, n := range f.parsed.Chain.Names() {
				steps = append(steps, string(n))
			}
		}
		if have := chainMembers(e); !sameMembers(steps, have) {
			list = append(list, p.outdated("the chain of the path skill `%s` changed", e.Key))
		}
	}
	return list
}

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func chainMembers(e *lockfile.Entry) []string {
	if e.Chain == nil {
		return nil
	}
	return append(slices.Clone(e.Chain.Steps), e.Chain.Unresolved...)
}

// sameMembers compares as multisets: the lock lists unresolved members apart.
func sameMembers(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// staleGraph asks the solver whether the lock is closed, in range, without
// cycles and without entries that nothing needs.
func (p *Project) staleGraph(ctx context.Context) (diag.List, error) {
	r := &resolution{universe: newUniverse(p)}
	in := resolver.Input{Frozen: true}
	locked := entriesByKey(p.lock)
	for _, s := range p.manifest.Skills {
		e := resolver.Edge{Name: s.Key, Range: s.Requirement.Range, Ref: s.Requirement.Ref, Digest: s.Requirement.Digest}
		entry := locked[string(s.Key)]
		if entry == nil {
			return diag.List{p.outdated("`%s` has no entry in the lock", s.Key)}, nil
		}
		src, ok := entrySource(entry)
		if !ok || !rootAllows(s, entry, src.Identity()) {
			return diag.List{p.outdated("`%s` is locked from %s, skills.toml says %s", s.Key, src.Identity(), s.Requirement)}, nil
		}
		e.Sources, e.OrLocked = []string{src.Identity()}, true
		r.universe.rootNames[s.Key] = src
		in.Root = append(in.Root, e)
	}
	for _, s := range p.manifest.Overrides {
		o := resolver.Override{Name: s.Key, Range: s.Requirement.Range, Ref: s.Requirement.Ref, Digest: s.Requirement.Digest}
		if entry := p.lock.Get(string(s.Key)); entry != nil && !s.Requirement.Source.IsZero() {
			if src, ok := entrySource(entry); ok {
				o.Source = src.Identity()
			}
		}
		in.Overrides = append(in.Overrides, o)
	}
	in.Lock = p.frozenEntries(r.universe)
	_, err := resolver.Solve(ctx, in, r.universe)
	if failure, ok := asFailure(err); ok {
		return diag.All(failureFindings(failure)), nil
	}
	return nil, err
}

// rootAllows reports whether a locked source answers the root's requirement:
// the same place, or the same repository where no place was said.
func rootAllows(s manifestSkill, e *lockfile.Entry, identity string) bool {
	src := s.Requirement.Source
	if src.IsZero() || src.Identity() == identity {
		return true
	}
	have, ok := entrySource(e)
	return ok && !src.HasSubpath() && have.Repository() == src.Repository()
}

// frozenEntries is lockedEntries with the path skills, which a frozen check
// needs too.
func (p *Project) frozenEntries(u *universe) []resolver.Locked {
	out := p.lockedEntries(p.lock, u)
	for _, e := range p.lock.Skills {
		if e.Source.Type != lockfile.TypePath {
			continue
		}
		src, _ := entrySource(e)
		out = append(out, pathLocked(p.lock, e, src, u))
	}
	return out
}

// staleChains checks what chains say of their own depth.
func (p *Project) staleChains() diag.List {
	measured := *p.lock
	measured.Skills = nil
	for _, e := range p.lock.Skills {
		copied := *e
		if e.Chain != nil {
			chain := *e.Chain
			copied.Chain = &chain
		}
		measured.Skills = append(measured.Skills, &copied)
	}
	if err := measureChains(&measured); err != nil {
		return diag.All(err)
	}
	var list diag.List
	for i, e := range p.lock.Skills {
		if e.Chain != nil && e.Chain.Depth != measured.Skills[i].Chain.Depth {
			list = append(list, p.outdated("the chain of `%s` is %d deep, the lock says %d", e.Key, measured.Skills[i].Chain.Depth, e.Chain.Depth))
		}
	}
	return list
}
