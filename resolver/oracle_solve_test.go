package resolver_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// order sorts what the first demand admits: locked, local, at the commit of the
// first decided parent that looked it up, stable high to low, pre-release high
// to low, placeholders.
func (o *oracle) order(name skill.Key, into []demand) []resolver.Candidate {
	list := o.candidates(into[0].edge)
	commit := ""
	for _, d := range into {
		if d.parent != nil && d.edge.LookedUp && d.parent.Commit != "" {
			commit = d.parent.Commit
			if o.wrong != "lookup last" {
				break
			}
		}
	}
	class := func(c resolver.Candidate) int {
		switch {
		case o.isLocked(c) && o.wrong != "locked first":
			return 0
		case c.Local && o.wrong != "local first":
			return 1
		case c.Commit == "blocked":
			return 5
		case commit != "" && c.Commit == commit && o.wrong != "lookup":
			return 2
		case c.Version.Prerelease() == "" || o.wrong == "prerelease":
			return 3
		}
		return 4
	}
	stability := func(c resolver.Candidate) int {
		if c.Version.Prerelease() == "" || o.wrong == "prerelease" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b resolver.Candidate) int {
		if d := cmp.Or(class(a)-class(b), stability(a)-stability(b)); d != 0 {
			return d
		}
		if d := b.Version.Compare(a.Version); d != 0 {
			return d
		}
		if d := strings.Compare(a.Source, b.Source); d != 0 {
			return d
		}
		return strings.Compare(a.Commit, b.Commit)
	})
	return list
}

// released says that the root's own requirement or override excludes the entry.
func (o *oracle) released(l resolver.Locked) bool {
	for _, e := range o.root {
		if e.Name == l.Name {
			return !o.holdsFor(e, l)
		}
	}
	if x, ok := o.overrides[l.Name]; ok {
		e := resolver.Edge{Name: l.Name, Range: x.Range, Ref: x.Ref, Digest: x.Digest, Sources: []string{l.Source}}
		if x.Source != "" {
			e.Sources = []string{x.Source}
		}
		return !o.holdsFor(e, l)
	}
	return false
}

func (o *oracle) holdsFor(e resolver.Edge, l resolver.Locked) bool {
	if e.Digest != "" && l.Digest != "" && e.Digest != l.Digest {
		return false
	}
	return slices.ContainsFunc(o.candidates(e), func(c resolver.Candidate) bool { return equal(c, l.Candidate) })
}

func (o *oracle) answer(relaxed bool, v *verdict) []resolver.Candidate {
	fixed := map[skill.Key]bool{}
	for name, l := range o.locked {
		if !o.released(l) {
			fixed[name] = true
		}
	}
	if r := o.preferred(fixed, relaxed, v); r != nil {
		return r
	}
	if len(fixed) > 0 && o.wrong != "held" {
		if r := o.search(plan{fixed: fixed, relaxed: relaxed}, v); r != nil {
			return r
		}
	}
	return o.search(plan{relaxed: relaxed}, v)
}

// preferred brings as many names as go together, by name, to their newest
// version: with everything else held, then with only the root's own names held.
func (o *oracle) preferred(fixed map[skill.Key]bool, relaxed bool, v *verdict) []resolver.Candidate {
	newest := map[skill.Key]resolver.Candidate{}
	direct := map[skill.Key]bool{}
	for _, e := range o.root {
		if fixed[e.Name] {
			direct[e.Name] = true
		}
		if c, ok := o.newest(e); ok && slices.Contains(o.in.Prefer, e.Name) {
			newest[e.Name] = c
		}
	}
	if o.wrong == "prefer direct" {
		direct = fixed
	}
	try := func(force map[skill.Key]resolver.Candidate) []resolver.Candidate {
		for _, hold := range []map[skill.Key]bool{fixed, direct} {
			if r := o.search(plan{fixed: hold, force: force, relaxed: relaxed}, v); r != nil {
				return r
			}
		}
		return nil
	}
	if len(newest) == 0 || o.wrong == "prefer" {
		return nil
	}
	if r := try(newest); r != nil {
		return r
	}
	var best []resolver.Candidate
	together := map[skill.Key]resolver.Candidate{}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		together[name] = newest[name]
		if r := try(together); r != nil {
			best = r
		} else {
			delete(together, name)
		}
	}
	return best
}

// newest is what the root's requirement e would get if nothing else mattered.
func (o *oracle) newest(e resolver.Edge) (resolver.Candidate, bool) {
	if e.Digest != "" || e.Ref != "" || !o.counts("", e) {
		return resolver.Candidate{}, false
	}
	list := o.order(e.Name, []demand{{nil, e}})
	if len(list) == 0 || list[0].Commit == "blocked" ||
		slices.ContainsFunc(list, func(c resolver.Candidate) bool { return c.Local }) {
		return resolver.Candidate{}, false
	}
	return list[0], true
}

// solve returns the verdict, "too long" if the plain search needs too many tries.
func (o *oracle) solve() (v verdict) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errTooLong:
			v = verdict{kind: "too long"}
		default:
			panic(r)
		}
	}()
	if o.in.Frozen {
		return o.frozen()
	}
	strict := o.answer(false, &v)
	relaxed := o.answer(true, &v)
	v.chosen = strict
	switch {
	case slices.ContainsFunc(strict, func(c resolver.Candidate) bool { return c.Commit == "blocked" }):
		v.kind = "consent"
	case strict == nil && relaxed == nil && len(o.root) > 0 && o.needsAny():
		v.kind = "unsolvable"
	case !slices.EqualFunc(strict, relaxed, equal) && (strict == nil || o.wrong != "solved differently"):
		v.kind = "digest_mismatch"
	default:
		v.kind = o.after(strict)
	}
	return v
}

// needsAny says whether the root requires anything at all; if not, the empty
// solution is nil here.
func (o *oracle) needsAny() bool {
	return slices.ContainsFunc(o.root, func(e resolver.Edge) bool { return o.counts("", e) })
}

// after is what refuses a solution: faults of what was chosen, then cycles.
func (o *oracle) after(chosen []resolver.Candidate) string {
	edges := map[skill.Key][]resolver.Edge{"": o.root}
	for _, c := range chosen {
		edges[c.Name] = o.edgesOf(c)
		if c.Refusal != nil {
			return "refusal"
		}
	}
	for name, list := range edges {
		for _, e := range list {
			if o.faulty(name, e) {
				return "refusal"
			}
		}
	}
	// A graph has a cycle if peeling off skills without edges does not end it.
	left := map[skill.Key]bool{}
	for _, c := range chosen {
		left[c.Name] = true
	}
	for again := true; again; {
		again = false
		for name := range left {
			if !slices.ContainsFunc(edges[name], func(e resolver.Edge) bool {
				return left[e.Name] || o.in.RootName != "" && e.Name == o.in.RootName
			}) {
				delete(left, name)
				again = true
			}
		}
	}
	if len(left) > 0 || slices.ContainsFunc(o.root, func(e resolver.Edge) bool { return o.in.RootName != "" && e.Name == o.in.RootName }) {
		return "cycle"
	}
	return "solution"
}

func (o *oracle) frozen() verdict {
	reached := map[skill.Key]bool{}
	bad := false
	var walk func(parent skill.Key, edges []resolver.Edge)
	walk = func(parent skill.Key, edges []resolver.Edge) {
		for _, e := range edges {
			if !o.counts(parent, e) {
				continue
			}
			l, ok := o.locked[e.Name]
			if !ok || e.Digest != "" && l.Digest != e.Digest || !o.holdsFor(e, l) {
				bad = true
			}
			if ok && !reached[e.Name] {
				reached[e.Name] = true
				walk(e.Name, o.edgesOf(l.Candidate))
			}
		}
	}
	walk("", o.root)
	if bad || len(reached) != len(o.locked) {
		return verdict{kind: "outdated"}
	}
	var chosen []resolver.Candidate
	for _, l := range o.locked {
		chosen = append(chosen, l.Candidate)
	}
	return verdict{kind: o.after(chosen), chosen: chosen}
}
