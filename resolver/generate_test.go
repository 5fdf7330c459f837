package resolver_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

var (
	versionPool = []string{"0.9.0", "1.0.0", "1.1.0", "1.2.0-rc.1", "2.0.0", "2.1.0-beta.2", "3.0.0"}
	looseRanges = []string{"*", "*", "", "latest", ">=0.9.0", ">=0.1", "<9", ">=1.0.0", ">=1.0.0-0", "!=3.0.0", "<3.0.0"}
	tightRanges = []string{"^1.0.0", "^2", "<2.0.0", "<=1.1.0", "1.0.0", ">=2.0.0-0", "~1", "!=2.0.0", "<1 || >=3", ">=3", "<2.0.0", "=2.0.0", "^9"}
)

// problem draws one problem. Each dimension is on in part of the problems only,
// so that the others are not drowned.
type problem struct {
	*rapid.T
	w *world
	// names are in an order in which each requires later ones alone, circles
	// aside; it has nothing to do with the alphabet, or depth would say what the
	// name says.
	names []skill.Key
	// deep problems have few names at the root and long ways to the others.
	deep bool
	// tight is how many ranges in ten exclude much. If newTight, only versions
	// from 2.0.0 on have such: then there is an answer further down, and much to
	// search on the way.
	tight    int
	newTight bool
	on       map[string]bool
}

// dimensions are the kinds of trouble, each in one problem of so many.
var dimensions = []struct {
	name  string
	oneIn int
}{
	{"pins", 3}, {"lock", 2}, {"lookup", 2}, {"prerelease", 2},
	// What follows is off in half of the problems, which are about versions.
	{"override", 4}, {"sources", 4}, {"retract", 4}, {"local", 3},
	{"cycles", 8}, {"offline", 8}, {"refs", 6}, {"exact", 5}, {"hidden", 6}, {"unreadable", 6},
	{"blocked", 10}, {"faults", 10}, {"unsettled", 4}, {"orroot", 3}, {"rootname", 8}, {"twice", 6}, {"empty", 10},
}

const firstRare = 4

func drawProblem(t *rapid.T) (resolver.Input, *world) {
	p := &problem{T: t, w: newWorld(), on: map[string]bool{}}
	plain := p.chance("plain", 2)
	for i, d := range dimensions {
		p.on[d.name] = p.chance(d.name, d.oneIn) && !(plain && i >= firstRare)
	}
	p.deep = p.chance("deep", 2)
	p.tight = rapid.IntRange(0, 8).Draw(t, "tight")
	p.newTight = !p.chance("all tight", 6)
	all := rapid.Permutation([]skill.Key{"a", "b", "c", "d", "e", "f", "g", "h", "i"}).Draw(t, "order")
	p.names = all[rapid.IntRange(0, 4).Draw(t, "names"):]
	if p.chance("few", 20) {
		p.names = p.names[len(p.names)-2:]
	}
	for i, name := range p.names {
		p.drawSkill(i, name)
	}
	in := resolver.Input{Offline: p.on["offline"]}
	if p.on["rootname"] {
		in.RootName = "a"
	}
	for i, name := range p.names {
		if i == 0 || p.chance("root", map[bool]int{true: 5, false: 2}[p.deep]) {
			in.Root = append(in.Root, p.drawEdge(name, true, false))
		}
	}
	if p.on["override"] {
		p.drawOverrides(&in)
	}
	if p.on["lock"] || p.on["unsettled"] {
		p.drawLock(&in)
	}
	for s := range p.sources() {
		if p.on["blocked"] && p.chance("block", 4) {
			p.w.blocked[s] = true
		}
	}
	return in, p.w
}

func (p *problem) chance(label string, oneIn int) bool {
	return rapid.IntRange(0, oneIn-1).Draw(p.T, label) == oneIn-1
}

func (p *problem) drawRange(loose bool) string {
	if !loose && rapid.IntRange(0, 9).Draw(p.T, "tightness") < p.tight {
		return rapid.SampledFrom(tightRanges).Draw(p.T, "range")
	}
	return rapid.SampledFrom(looseRanges).Draw(p.T, "range")
}

func (p *problem) sources() func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, n := range p.names {
			for _, kind := range []string{"git/", "alt/"} {
				if !yield(kind + string(n)) {
					return
				}
			}
		}
	}
}

func commit(n int) string { return strings.Repeat(fmt.Sprint(n), 40) }

func (p *problem) drawSkill(i int, name skill.Key) {
	sources := []string{"git/" + string(name)}
	if p.on["sources"] {
		sources = append(sources, "alt/"+string(name))
	}
	for _, source := range sources {
		for _, v := range p.drawVersions() {
			p.drawCandidate(i, name, source, v)
		}
		if p.on["refs"] || p.on["exact"] {
			for n := 1; n <= 2; n++ {
				c := resolver.Candidate{Name: name, Source: source, Commit: commit(n), Cached: true}
				c.Version, _ = skill.ParseVersion(fmt.Sprintf("0.0.0-0.2026010%d000000-%s", n, commit(n)[:12]))
				p.w.addAt(c, []string{[]string{"main", "dev"}[n-1]}, p.drawDigest(), p.drawEdges(i, c.Version.Major() < 2))
			}
		}
	}
	if p.on["local"] && p.chance("local", 2) {
		p.drawCandidate(i, name, localSource, rapid.SampledFrom(append([]string{""}, versionPool...)).Draw(p.T, "version"))
	}
}

func (p *problem) drawVersions() []string {
	pool, fewest := versionPool, 3
	if !p.on["prerelease"] {
		pool = slices.DeleteFunc(slices.Clone(pool), func(v string) bool { return strings.Contains(v, "-") })
	}
	if p.on["empty"] && p.chance("none", 4) {
		fewest = 0
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(pool), fewest, 5, rapid.ID[string]).Draw(p.T, "versions")
}

func (p *problem) drawCandidate(i int, name skill.Key, source, version string) {
	c := resolver.Candidate{Name: name, Source: source, Local: source == localSource}
	c.Version, _ = skill.ParseVersion(version)
	if !c.Local {
		c.Commit = commit(rapid.IntRange(1, 3).Draw(p.T, "commit"))
		c.Cached = p.on["offline"] && !p.chance("far", 3)
		c.Retracted = p.on["retract"] && p.chance("retracted", 3)
		if p.on["hidden"] && p.chance("hide", 3) {
			c.Hidden = "first seen an hour ago, min_age is 3d"
		}
		if p.on["unreadable"] && p.chance("spoil", 4) {
			p.w.unreadable[idOf(c)] = "no frontmatter"
		}
		if p.on["faults"] && p.chance("refuse", 8) {
			c.Refusal = diag.New(diag.AmbiguousVersion, "two commits")
		}
		if p.on["offline"] && p.on["pins"] && p.chance("no digest", 4) {
			p.w.noDigest[idOf(c)] = true
		}
	}
	p.w.add(c, p.drawDigest(), p.drawEdges(i, c.Version.Major() < 2))
}

// drawDigest draws a content. Most are alike, so that pins often hold; the pin
// on z is always broken.
func (p *problem) drawDigest() skill.Digest {
	return skill.Digest("sha256:" + rapid.SampledFrom([]string{"x", "x", "y"}).Draw(p.T, "content"))
}

func (p *problem) drawPin() skill.Digest {
	return skill.Digest("sha256:" + rapid.SampledFrom([]string{"x", "x", "y", "z"}).Draw(p.T, "pin"))
}

// drawEdges draws the requirements of a candidate of the i-th name: on later
// names, and rarely on any.
func (p *problem) drawEdges(i int, old bool) []resolver.Edge {
	loose := old && p.newTight
	var list []resolver.Edge
	for j, name := range p.names {
		var ok bool
		switch {
		case j <= i:
			ok = p.on["cycles"] && p.chance("back", 8)
		case p.deep && j == i+1:
			ok = !p.chance("end", 4)
		case p.deep:
			ok = p.chance("skip", 3)
		default:
			ok = p.chance("edge", 3)
		}
		if !ok {
			continue
		}
		list = append(list, p.drawEdge(name, false, loose))
		if p.on["twice"] && p.chance("again", 3) {
			list = append(list, p.drawEdge(name, false, loose))
		}
	}
	return list
}

func (p *problem) drawEdge(name skill.Key, root, loose bool) resolver.Edge {
	e := resolver.Edge{Name: name, Range: p.drawRange(root && !p.chance("root range", 6) || loose)}
	e.Sources = []string{"git/" + string(name)}
	e.Chain = !root && p.chance("chain", 5)
	if p.on["retract"] && root && p.chance("named", 4) {
		e.Range = "=" + rapid.SampledFrom(versionPool).Draw(p.T, "exactly")
	}
	switch {
	case p.on["unsettled"] && p.chance("unsettle", 2):
		e.Sources, e.OrLocked = []string{localSource, "git/" + string(name)}, true
	case p.on["unsettled"] && p.chance("moved on", 4):
		e.Sources, e.OrLocked = []string{"new/" + string(name)}, true
	case p.on["local"] && p.chance("either", 3):
		e.Sources = []string{localSource, "git/" + string(name)}
	case p.on["sources"] && !loose && p.chance("alt", 4):
		e.Sources = []string{"alt/" + string(name)}
	case root && len(p.w.versions[placeKey{name, localSource, ""}].List) > 0 && p.chance("path", 2):
		e.Sources = []string{localSource}
	case p.on["unsettled"] && !loose && p.chance("missing", 8):
		e.Sources, e.Missing = nil, "no skill of that name nearby"
	}
	if p.on["pins"] && !loose && p.chance("pinned", 3) {
		e.Digest = p.drawPin()
	}
	if !root && p.on["lookup"] && !p.chance("elsewhere", 3) {
		e.LookedUp = true
	}
	if p.on["orroot"] && !root && p.chance("rooted", 2) {
		e.OrRoot, e.Range = true, "*"
	}
	if !root && p.on["exact"] && !loose && p.chance("exact", 3) {
		e.Exact, e.LookedUp = commit(rapid.IntRange(1, 3).Draw(p.T, "at")), true
		if !p.chance("ranged", 4) {
			e.Range = "*"
		}
	}
	if p.on["refs"] && !loose && p.chance("ref", 3) {
		refs := []string{"main", "dev", "gone", commit(1), commit(2)}
		if !root && !p.chance("float", 4) {
			refs = refs[3:]
		}
		e.Ref = rapid.SampledFrom(refs).Draw(p.T, "ref")
	}
	if p.on["faults"] && p.chance("fault", 8) {
		if p.chance("delegate", 2) {
			e.Delegate = "a2a"
		} else {
			e.Fault = diag.New(diag.AmbiguousSkill, "two skills of that name")
		}
	}
	return e
}

func (p *problem) drawOverrides(in *resolver.Input) {
	for _, name := range p.names {
		if !p.chance("override", 3) {
			continue
		}
		o := resolver.Override{Name: name, Range: p.drawRange(false)}
		if p.chance("source", 2) {
			o.Source = rapid.SampledFrom([]string{"git/" + string(name), "alt/" + string(name), localSource}).Draw(p.T, "to")
		}
		if p.on["pins"] && p.chance("pinned", 3) {
			o.Digest = p.drawPin()
		}
		if p.on["refs"] && p.chance("ref", 3) {
			o.Range, o.Ref = "", "main"
		}
		in.Overrides = append(in.Overrides, o)
	}
}

// drawLock locks the answer to the same problem, so that frozen runs and kept
// locks occur; the answer of the time before versions 2, with or without a few
// changes, as when people edit or merge; or anything.
func (p *problem) drawLock(in *resolver.Input) {
	kind := rapid.SampledFrom([]string{"solved", "old", "old", "changed", "random"}).Draw(p.T, "kind")
	var list []resolver.Candidate
	switch kind {
	case "solved":
		list = p.solved(*in, func(resolver.Candidate) bool { return true })
	case "old", "changed":
		list = p.solved(*in, func(c resolver.Candidate) bool { return c.Version.Major() < 2 })
	}
	if kind == "changed" || kind == "random" {
		list = p.disturb(list, kind == "random")
	}
	in.Frozen = p.chance("frozen", map[bool]int{true: 2, false: 10}[kind == "solved"])
	if !in.Frozen && p.chance("edited", 3) {
		k := rapid.IntRange(0, len(in.Root)-1).Draw(p.T, "which")
		in.Root[k] = p.drawEdge(in.Root[k].Name, true, false)
	}
	for _, c := range list {
		in.Lock = append(in.Lock, p.drawEntry(c))
		if p.chance("unlock", 5) {
			in.Unlock = append(in.Unlock, c.Name)
		}
	}
	in.UnlockAll = p.chance("unlockall", 10)
	update := p.chance("update", 2)
	for _, e := range in.Root {
		if update && p.chance("prefer", 2) {
			in.Prefer = append(in.Prefer, e.Name)
		}
	}
}

// solved returns the answer to in over the candidates that are there already, or
// nothing.
func (p *problem) solved(in resolver.Input, there func(resolver.Candidate) bool) []resolver.Candidate {
	past := *p.w
	past.all = true
	past.versions = map[placeKey]resolver.Versions{}
	for k, v := range p.w.versions {
		v.List = slices.DeleteFunc(slices.Clone(v.List), func(c resolver.Candidate) bool { return !there(c) })
		past.versions[k] = v
	}
	var list []resolver.Candidate
	if sol, err := resolver.Solve(p.T.Context(), in, &past); err == nil {
		for _, c := range sol.Chosen {
			list = append(list, c.Candidate)
		}
	}
	return list
}

// disturb replaces, adds and removes candidates; all of them if anew.
func (p *problem) disturb(list []resolver.Candidate, anew bool) []resolver.Candidate {
	for _, name := range p.names {
		if !anew && !p.chance("change", 3) {
			continue
		}
		list = slices.DeleteFunc(list, func(c resolver.Candidate) bool { return c.Name == name })
		all := slices.Clone(p.w.versions[placeKey{name, "git/" + string(name), ""}].List)
		all = append(all, p.w.versions[placeKey{name, "alt/" + string(name), ""}].List...)
		head := rapid.SampledFrom([]string{"main", "dev"}).Draw(p.T, "head")
		if c, ok := p.w.at[placeKey{name, "git/" + string(name), head}]; ok {
			all = append(all, c)
		}
		if len(all) > 0 && !p.chance("gone", 3) {
			list = append(list, rapid.SampledFrom(all).Draw(p.T, "locked"))
		}
	}
	return list
}

func (p *problem) drawEntry(c resolver.Candidate) resolver.Locked {
	l := resolver.Locked{Candidate: c, Digest: p.w.digests[idOf(c)], Edges: p.w.edges[idOf(c)]}
	if c.Version.IsPseudo() {
		l.Refs = []string{"main", "dev"}
		if !p.chance("moved", 3) { // else a ref has moved since, or two did
			l.Refs = []string{map[string]string{commit(1): "main", commit(2): "dev"}[c.Commit]}
		}
	}
	switch {
	case p.chance("tampered", 12):
		l.Digest = "sha256:old"
	case p.chance("no digest", 12):
		l.Digest = ""
	}
	if i := slices.Index(p.names, c.Name); i >= 0 && p.chance("other edges", 10) {
		l.Edges = p.drawEdges(i, true)
	}
	return l
}
