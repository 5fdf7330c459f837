package project

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// lie is a finding about the entry with a key.
type lie struct {
	key     string
	finding *diag.Error
}

// selfCheck returns what the lock says of itself that cannot be so, as findings
// with the given code: the fields that no content backs, and that runtimes read
// nevertheless. A merge or an edit by hand makes them.
func (p *Project) selfCheck(code diag.Code) []lie {
	var list []lie
	add := func(key, format string, args ...any) {
		e := p.outdated("`"+key+"`: "+format, args...)
		e.Code = code
		list = append(list, lie{key, e})
	}
	for _, e := range p.lock.Skills {
		if want := declaredDependencies(e); !slices.Equal(want, e.Dependencies) {
			add(e.Key, "the lock's dependencies are %v, its requires and chain make %v", e.Dependencies, want)
		}
		if !versionHolds(e) {
			add(e.Key, "the lock's version %s is not that of its %s", e.Version, versionOrigin(e))
		}
	}
	for _, edge := range p.lock.Open() {
		if edge.From != "" { // the project's own are compared with skills.toml
			add(edge.From, "it requires `%s`, which the lock does not have", edge.To)
		}
	}
	return list
}

// strangeSources returns the entries that lie elsewhere than the lock's own root
// requirement of their key says, as findings of verify; against skills.toml,
// staleGraph does the same.
func (p *Project) strangeSources() []lie {
	var list []lie
	for _, e := range p.lock.Skills {
		text := cmp.Or(p.lock.Root.Overrides[e.Key], p.lock.Root.Requires[e.Key])
		wanted, err := skill.ParseRequirement(text, nil)
		if err == nil && wanted.Source.IsZero() {
			wanted, err = skill.ParseRequirement(p.lock.Root.Requires[e.Key], nil)
		}
		if err != nil || wanted.Source.IsZero() {
			continue // the lock's reader judges requirements
		}
		src, ok := entrySource(e)
		if ok && rootAllows(manifestSkill{Requirement: wanted}, e, src.Identity()) {
			continue
		}
		f := p.outdated("`%s`: the lock's source %s is not what its root requires, %s", e.Key, src.Identity(), wanted.Source.Identity())
		f.Code = diag.VerifyChanged
		list = append(list, lie{e.Key, f})
	}
	return list
}

// declaredDependencies are what requires and chain of an entry name, sorted.
func declaredDependencies(e *lockfile.Entry) []string {
	keys := slices.Collect(maps.Keys(e.Requires))
	if e.Chain != nil {
		keys = append(keys, e.Chain.Steps...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// versionHolds reports whether a git entry's version is what its tag says, or
// without a tag the pseudo-version of its commit.
func versionHolds(e *lockfile.Entry) bool {
	if e.Source.Type != lockfile.TypeGit {
		return true
	}
	src, ok := entrySource(e)
	if !ok {
		return false
	}
	if e.Source.Tag != "" {
		v, ok := fetch.TagVersion(e.Source.Tag, fetch.PlaceOf(src))
		return ok && v.String() == e.Version
	}
	v, err := skill.ParseVersion(e.Version)
	return err == nil && v.IsPseudo() && strings.HasSuffix(e.Version, "-"+e.Source.Commit[:min(12, len(e.Source.Commit))])
}

func versionOrigin(e *lockfile.Entry) string {
	if e.Source.Tag != "" {
		return "tag " + e.Source.Tag
	}
	return "commit " + e.Source.Commit
}

// markLies takes the OK from skills whose entries contradict themselves.
func (r *VerifyResult) markLies(lies []lie) diag.List {
	var list diag.List
	for _, l := range lies {
		list = append(list, l.finding)
		for i := range r.Skills {
			if r.Skills[i].Key == l.key {
				r.Skills[i].OK = false
			}
		}
	}
	return list
}

// contradicted names the first field of an entry that differs from described,
// the entry as its content has it, or from its SKILL.md.
func contradicted(e, described *lockfile.Entry, s *parse.Skill) string {
	if field := firstDifference(e, described); field != "" {
		return field
	}
	if !sameChain(s, e.Chain) {
		return "chain"
	}
	return ""
}

// sameChain reports whether a locked chain is the one that SKILL.md declares:
// mode, policy, and the members in their order, of which some may be absent
// only where the skill allows it.
func sameChain(s *parse.Skill, have *lockfile.Chain) bool {
	want := chainOf(s, nil)
	if want == nil || have == nil {
		return want == nil && have == nil
	}
	if want.Mode != have.Mode || !sameJSON(want.Policy, have.Policy) || s.Chain.ValidateOnLoad && len(have.Unresolved) > 0 {
		return false
	}
	var steps, unresolved []string
	for _, name := range s.Chain.Names() {
		if slices.Contains(have.Unresolved, string(name)) {
			unresolved = append(unresolved, string(name))
		} else {
			steps = append(steps, string(name))
		}
	}
	return slices.Equal(steps, have.Steps) && slices.Equal(unresolved, have.Unresolved)
}

// healed returns the project with what its lock says against its content
// replaced, where that is at hand: an edited description, chain or list of
// requirements. It reports whether there was any; the versions stay.
func (p *Project) healed() (*Project, bool) {
	if p.lock == nil {
		return p, false
	}
	healed := *p.lock
	healed.Skills = slices.Clone(p.lock.Skills)
	found := false
	for i, e := range healed.Skills {
		if entry := p.healedEntry(e); entry != nil {
			healed.Skills[i], found = entry, true
		}
	}
	if !found {
		return p, false
	}
	return p.withLock(&healed), true
}

// healedEntry returns nil for an entry that its content does not contradict, or
// whose content is not in the cache.
func (p *Project) healedEntry(e *lockfile.Entry) *lockfile.Entry {
	src, ok := entrySource(e)
	if !ok || e.Digest == "" || !p.cache.Has(e.Digest) {
		return nil
	}
	tree, err := p.cache.Manifest(e.Digest)
	if err != nil {
		return nil
	}
	content := p.stored(tree)
	s, _, err := content.parsed(src)
	if err != nil {
		return nil
	}
	copied := *e
	if content.describe(&copied, s) != nil || contradicted(e, &copied, s) == "" {
		return nil
	}
	if !sameChain(s, e.Chain) {
		copied.Chain = chainOf(s, nil)
		if copied.Chain != nil {
			for _, name := range s.Chain.Names() {
				copied.Chain.Steps = append(copied.Chain.Steps, string(name))
			}
		}
	}
	return &copied
}
