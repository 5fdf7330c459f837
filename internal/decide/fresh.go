package decide

import (
	"context"
	"maps"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
)

// Staleness compares manifest and lock and returns every difference as
// lock_outdated; nil means that the lock is exactly what the manifest needs.
// Nothing is fetched. bytes also demands the canonical spelling of the file.
func Staleness(ctx context.Context, p *world.World, bytes bool) (diag.List, error) {
	if p.Lock == nil {
		return diag.List{p.Outdated("there is no %s", lockfile.FileName)}, nil
	}
	var list diag.List
	wanted := emptyLock(p.Project)
	list = append(list, compareMaps(p.Project, "requires", wanted.Root.Requires, p.Lock.Root.Requires)...)
	list = append(list, compareMaps(p.Project, "overrides", wanted.Root.Overrides, p.Lock.Root.Overrides)...)
	if want := p.Targets(); !slices.Equal(want, p.Lock.Targets) {
		list = append(list, p.Outdated("the targets are %v in skills.toml and %v in the lock", want, p.Lock.Targets))
	}
	uses := uses(p.Project)
	for _, e := range p.Lock.Skills {
		if e.Use != uses[e.Key] {
			list = append(list, p.Outdated("`%s`: use is %q in skills.toml and %q in the lock", e.Key, uses[e.Key], e.Use))
		}
	}
	list = append(list, stalePaths(p.Project)...)
	for _, l := range SelfCheck(p.Project, diag.LockOutdated) {
		list = append(list, l.Finding)
	}
	if len(list) == 0 {
		graph, err := staleGraph(ctx, p)
		if err != nil {
			return nil, err
		}
		list = append(list, graph...)
	}
	if len(list) == 0 {
		list = append(list, staleRefs(p.Project)...)
	}
	list = append(list, StaleChains(p.Project)...)
	if len(list) == 0 && bytes && !lockfile.IsCanonical(p.LockData) {
		list = append(list, p.Outdated("%s is not in its canonical form: it was edited by hand", lockfile.FileName))
	}
	return list, nil
}

func compareMaps(p *workspace.Project, what string, manifest, lock map[string]string) diag.List {
	var list diag.List
	if maps.Equal(manifest, lock) {
		return nil
	}
	keys := maps.Clone(manifest)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, lock)
	for _, key := range workspace.SortedKeys(keys) {
		want, inManifest := manifest[key]
		have, inLock := lock[key]
		switch {
		case !inLock:
			list = append(list, p.Outdated("%s: `%s` is in skills.toml (%s) and not in the lock", what, key, want))
		case !inManifest:
			list = append(list, p.Outdated("%s: `%s` is in the lock (%s) and not in skills.toml", what, key, have))
		case want != have:
			list = append(list, p.Outdated("%s: `%s` is `%s` in skills.toml and `%s` in the lock", what, key, want, have))
		}
	}
	return list
}

// stalePaths compares path entries with the SKILL.md they stand for.
func stalePaths(p *workspace.Project) diag.List {
	var list diag.List
	for _, e := range p.Lock.Skills {
		if e.Source.Type != lockfile.TypePath {
			continue
		}
		src, ok := workspace.EntrySource(e)
		if !ok {
			list = append(list, p.Outdated("the path of `%s` is not readable", e.Key))
			continue
		}
		f, err := world.ReadPathSkill(p, src)
		if err == nil {
			err = f.Fault
		}
		if err != nil {
			list = append(list, diag.All(err)...)
			continue
		}
		requires := map[string]string{}
		for _, d := range f.Parsed.Requires {
			requires[string(d.Name)] = d.Requirement.String()
		}
		if !maps.Equal(requires, nonNil(e.Requires)) {
			list = append(list, p.Outdated("the requirements of the path skill `%s` changed", e.Key))
		}
		if f.Parsed.Version.String() != e.Version {
			list = append(list, p.Outdated("the path skill `%s` declares version %q, the lock has %q", e.Key, f.Parsed.Version, e.Version))
		}
		var steps []string
		if f.Parsed.Chain != nil {
			for _, n := range f.Parsed.Chain.Names() {
				steps = append(steps, string(n))
			}
		}
		if have := chainMembers(e); !sameMembers(steps, have) {
			list = append(list, p.Outdated("the chain of the path skill `%s` changed", e.Key))
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
func staleGraph(ctx context.Context, p *world.World) (diag.List, error) {
	r := &resolution{universe: NewProvider(p)}
	in := resolver.Input{Frozen: true}
	locked := workspace.EntriesByKey(p.Lock)
	for _, s := range p.Manifest.Skills {
		e := resolver.Edge{Name: s.Key, Range: s.Requirement.Range, Ref: s.Requirement.Ref, Digest: s.Requirement.Digest}
		entry := locked[string(s.Key)]
		if entry == nil {
			return diag.List{p.Outdated("`%s` has no entry in the lock", s.Key)}, nil
		}
		src, ok := workspace.EntrySource(entry)
		if !ok || !rootAllows(s, entry, src.Identity()) {
			return diag.List{p.Outdated("`%s` is locked from %s, skills.toml says %s", s.Key, src.Identity(), s.Requirement)}, nil
		}
		e.Sources, e.OrLocked = []string{src.Identity()}, true
		r.universe.rootNames[s.Key] = src
		in.Root = append(in.Root, e)
	}
	for _, s := range p.Manifest.Overrides {
		o := resolver.Override{Name: s.Key, Range: s.Requirement.Range, Ref: s.Requirement.Ref, Digest: s.Requirement.Digest}
		if entry := p.Lock.Get(string(s.Key)); entry != nil && !s.Requirement.Source.IsZero() {
			if src, ok := workspace.EntrySource(entry); ok {
				o.Source = src.Identity()
			}
		}
		in.Overrides = append(in.Overrides, o)
	}
	in.Lock = frozenEntries(p, r.universe)
	_, err := resolver.Solve(ctx, in, r.universe)
	if failure, ok := asFailure(err); ok {
		return diag.All(failureFindings(failure)), nil
	}
	return nil, err
}

// rootAllows reports whether a locked source answers the root's requirement:
// the same place, or the same repository where no place was said.
func rootAllows(s manifest.Skill, e *lockfile.Entry, identity string) bool {
	src := s.Requirement.Source
	if src.IsZero() || src.Identity() == identity {
		return true
	}
	have, ok := workspace.EntrySource(e)
	return ok && !src.HasSubpath() && have.Repository() == src.Repository()
}

// frozenEntries is lockedEntries with the path skills, which a frozen check
// needs too.
func frozenEntries(p *world.World, u *Provider) []resolver.Locked {
	out := lockedEntries(p, p.Lock, u)
	for _, e := range p.Lock.Skills {
		if e.Source.Type != lockfile.TypePath {
			continue
		}
		src, _ := workspace.EntrySource(e)
		out = append(out, pathLocked(p.Lock, e, src, u))
	}
	return out
}

// StaleChains checks what chains say of their own depth.
func StaleChains(p *workspace.Project) diag.List {
	measured := *p.Lock
	measured.Skills = nil
	for _, e := range p.Lock.Skills {
		copied := *e
		if e.Chain != nil {
			chain := *e.Chain
			copied.Chain = &chain
		}
		measured.Skills = append(measured.Skills, &copied)
	}
	if err := world.MeasureChains(&measured); err != nil {
		return diag.All(err)
	}
	var list diag.List
	for i, e := range p.Lock.Skills {
		if e.Chain != nil && e.Chain.Depth != measured.Skills[i].Chain.Depth {
			list = append(list, p.Outdated("the chain of `%s` is %d deep, the lock says %d", e.Key, measured.Skills[i].Chain.Depth, e.Chain.Depth))
		}
	}
	return list
}
