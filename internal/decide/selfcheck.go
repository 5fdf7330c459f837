package decide

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// Contradiction is a finding about the entry with a key.
type Contradiction struct {
	Key     string
	Finding *diag.Error
}

// SelfCheck returns what the lock says of itself that cannot be so, as findings
// with the given code: the fields that no content backs, and that runtimes read
// nevertheless. A merge or an edit by hand makes them.
func SelfCheck(p *workspace.Project, code diag.Code) []Contradiction {
	var list []Contradiction
	add := func(key, format string, args ...any) {
		e := p.Outdated("`"+key+"`: "+format, args...)
		e.Code = code
		list = append(list, Contradiction{key, e})
	}
	for _, e := range p.Lock.Skills {
		if want := declaredDependencies(e); !slices.Equal(want, e.Dependencies) {
			add(e.Key, "the lock's dependencies are %v, its requires and chain make %v", e.Dependencies, want)
		}
		if !versionHolds(e) {
			add(e.Key, "the lock's version %s is not that of its %s", e.Version, versionOrigin(e))
		}
	}
	for _, edge := range p.Lock.Open() {
		if edge.From != "" { // the project's own are compared with skills.toml
			add(edge.From, "it requires `%s`, which the lock does not have", edge.To)
		}
	}
	return list
}

// StrangeSources returns the entries that lie elsewhere than the lock's own root
// requirement of their key says, as findings of verify; against skills.toml,
// staleGraph does the same.
func StrangeSources(p *workspace.Project) []Contradiction {
	var list []Contradiction
	for _, e := range p.Lock.Skills {
		text := cmp.Or(p.Lock.Root.Overrides[e.Key], p.Lock.Root.Requires[e.Key])
		wanted, err := skill.ParseRequirement(text, nil)
		if err == nil && wanted.Source.IsZero() {
			wanted, err = skill.ParseRequirement(p.Lock.Root.Requires[e.Key], nil)
		}
		if err != nil || wanted.Source.IsZero() {
			continue // the lock's reader judges requirements
		}
		src, ok := workspace.EntrySource(e)
		if ok && rootAllows(manifest.Skill{Requirement: wanted}, e, src.Identity()) {
			continue
		}
		f := p.Outdated("`%s`: the lock's source %s is not what its root requires, %s", e.Key, src.Identity(), wanted.Source.Identity())
		f.Code = diag.VerifyChanged
		list = append(list, Contradiction{e.Key, f})
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
	src, ok := workspace.EntrySource(e)
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

// Contradicted names the first field of an entry that differs from described,
// the entry as its content has it, or from its SKILL.md.
func Contradicted(e, described *lockfile.Entry, s *parse.Skill) string {
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
	want := world.ChainOf(s, nil)
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

// Healed returns the project with what its lock says against its content
// replaced, where that is at hand: an edited description, chain or list of
// requirements. It reports whether there was any; the versions stay.
func Healed(p *world.World) (*world.World, bool) {
	if p.Lock == nil {
		return p, false
	}
	healed := *p.Lock
	healed.Skills = slices.Clone(p.Lock.Skills)
	found := false
	for i, e := range healed.Skills {
		if entry := healedEntry(p.Local, e); entry != nil {
			healed.Skills[i], found = entry, true
		}
	}
	if !found {
		return p, false
	}
	return p.WithLock(&healed), true
}

// healedEntry returns nil for an entry that its content does not contradict, or
// whose content is not in the cache.
func healedEntry(p *world.Local, e *lockfile.Entry) *lockfile.Entry {
	src, ok := workspace.EntrySource(e)
	if !ok || e.Digest == "" || !p.Cache.Has(e.Digest) {
		return nil
	}
	tree, err := p.Cache.Manifest(e.Digest)
	if err != nil {
		return nil
	}
	content := p.Stored(tree)
	s, _, err := content.Parsed(src)
	if err != nil {
		return nil
	}
	copied := *e
	if content.Describe(&copied, s) != nil || Contradicted(e, &copied, s) == "" {
		return nil
	}
	if !sameChain(s, e.Chain) {
		copied.Chain = world.ChainOf(s, nil)
		if copied.Chain != nil {
			for _, name := range s.Chain.Names() {
				copied.Chain.Steps = append(copied.Chain.Steps, string(name))
			}
		}
	}
	return &copied
}

// firstDifference names the first field in which two entries differ that their
// content decides.
func firstDifference(a, b *lockfile.Entry) string {
	switch {
	case a.DeclaredName != b.DeclaredName:
		return "declaredName"
	case a.Description != b.Description:
		return "description"
	case !maps.Equal(nonNil(a.Requires), nonNil(b.Requires)):
		return "requires"
	case a.AllowedTools != b.AllowedTools:
		return "allowedTools"
	case a.Size.Body != b.Size.Body || a.Size.Resources != b.Size.Resources || a.Size.Files != b.Size.Files:
		return "size"
	case !sameJSON(a.Training, b.Training):
		return "training"
	}
	return ""
}

func sameJSON(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
