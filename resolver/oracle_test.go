package resolver_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// The oracle is plain depth-first search in the order of S6, with no learning,
// no bitsets and none of the package's functions. Slow and short, so that it can
// be read against the rules.

type verdict struct {
	kind   string // "solution", "unsolvable", "digest_mismatch", "cycle", "refusal", "consent", "outdated"
	chosen []resolver.Candidate
	// consent says that the search decided a placeholder on its way.
	consent bool
}

type oracle struct {
	in        resolver.Input
	w         *world
	overrides map[skill.Key]resolver.Override
	locked    map[skill.Key]resolver.Locked
	root      []resolver.Edge
	// every makes unusable versions count: a pin is judged by what exists.
	every bool
	// wrong is the rule that this oracle gets wrong, "" for none; see wrongRules.
	wrong string
	// left counts down the candidates that may still be tried.
	left *int
}

// maxTries bounds the plain search, which takes exponential time on a few problems.
const maxTries = 20_000

func newOracle(in resolver.Input, w *world, wrong string) *oracle {
	left := maxTries
	o := &oracle{
		in: in, w: w, wrong: wrong, left: &left,
		overrides: map[skill.Key]resolver.Override{}, locked: map[skill.Key]resolver.Locked{},
	}
	for _, x := range in.Overrides {
		o.overrides[x.Name] = x
	}
	for _, l := range in.Lock {
		if in.Frozen || !in.UnlockAll && !slices.Contains(in.Unlock, l.Name) && !slices.Contains(in.Prefer, l.Name) {
			o.locked[l.Name] = l
		}
	}
	for _, e := range in.Root {
		o.root = append(o.root, o.override(e))
	}
	return o
}

func (o *oracle) override(e resolver.Edge) resolver.Edge {
	x, ok := o.overrides[e.Name]
	if !ok || o.wrong == "override" {
		return e
	}
	e.Range, e.Ref, e.Exact, e.Digest, e.OrRoot, e.Delegate = x.Range, x.Ref, "", x.Digest, false, ""
	if x.Source != "" {
		e.Sources, e.OrLocked = []string{x.Source}, false
	}
	if len(e.Sources) > 0 {
		e.Fault = nil
	}
	return e
}

func (o *oracle) faulty(parent skill.Key, e resolver.Edge) bool {
	_, overridden := o.overrides[e.Name]
	return e.Fault != nil || e.Delegate != "" || parent != "" && !overridden && e.Ref != "" && len(e.Ref) != 40
}

func (o *oracle) counts(parent skill.Key, e resolver.Edge) bool {
	return e.Name != parent && (o.in.RootName == "" || e.Name != o.in.RootName) && !o.faulty(parent, e)
}

func equal(a, b resolver.Candidate) bool { return idOf(a) == idOf(b) }

func (o *oracle) isLocked(c resolver.Candidate) bool {
	l, ok := o.locked[c.Name]
	return ok && equal(l.Candidate, c)
}

func (o *oracle) edgesOf(c resolver.Candidate) []resolver.Edge {
	list := o.w.edges[idOf(c)]
	if o.isLocked(c) {
		list = o.locked[c.Name].Edges
	}
	var out []resolver.Edge
	for _, e := range list {
		out = append(out, o.override(e))
	}
	return out
}

// digest returns c's content, "" if it cannot be had.
func (o *oracle) digest(c resolver.Candidate) skill.Digest {
	switch {
	case o.isLocked(c) && o.locked[c.Name].Digest != "":
		return o.locked[c.Name].Digest
	case o.w.noDigest[idOf(c)]:
		return ""
	}
	return o.w.digests[idOf(c)]
}

// asked holds Masterminds' answers by range and version: there are few of both,
// and asking is what an oracle would spend its time on.
var asked = map[[2]string]bool{}

func inRange(text string, v skill.Version) bool {
	k := [2]string{text, v.String()}
	ok, known := asked[k]
	if !known {
		ok = matches(text, v)
		asked[k] = ok
	}
	return ok
}

func matches(text string, v skill.Version) bool {
	if v.IsZero() {
		return true
	}
	if text == "" || text == "*" || text == "latest" {
		return v.Prerelease() == ""
	}
	if v.IsPseudo() {
		return false
	}
	c, err := semver.NewConstraint(text)
	if err != nil {
		return false
	}
	return c.Check(semver.MustParse(v.String()))
}

// candidates lists what e alone admits, pins aside.
func (o *oracle) candidates(e resolver.Edge) []resolver.Candidate {
	var all []resolver.Candidate
	add := func(c resolver.Candidate) {
		if !slices.ContainsFunc(all, func(d resolver.Candidate) bool { return equal(c, d) }) {
			all = append(all, c)
		}
	}
	anyRange := e.Range == "" || e.Range == "*" || e.Range == "latest"
	l, isLocked := o.locked[e.Name]
	if isLocked && (slices.Contains(e.Sources, l.Source) || e.OrLocked && o.wrong != "orlocked") {
		switch {
		case e.Ref != "":
			if l.Commit == e.Ref && l.Version.IsPseudo() || slices.Contains(l.Refs, e.Ref) {
				add(l.Candidate)
			}
		case e.Exact != "":
			if anyRange && l.Commit == e.Exact && l.Version.IsPseudo() {
				add(l.Candidate)
			}
		case inRange(e.Range, l.Version):
			add(l.Candidate)
		}
	}
	for _, source := range e.Sources {
		ref := cmp.Or(e.Ref, e.Exact)
		if o.wrong == "exact" {
			ref = e.Ref
		}
		switch {
		case o.w.blocked[source]:
			add(resolver.Candidate{Name: e.Name, Source: source, Commit: "blocked"})
		case e.Ref == "" && e.Exact != "" && !anyRange && o.wrong != "exact":
		case ref != "":
			if c := o.w.at[placeKey{e.Name, source, ref}]; c.Name != "" && o.usable(c) {
				add(c)
			}
		default:
			for _, c := range o.w.versions[placeKey{e.Name, source, ""}].List {
				if o.usable(c) && (inRange(e.Range, c.Version) || anyRange && c.Local && len(e.Sources) == 1) {
					add(c)
				}
			}
		}
	}
	if e.OrRoot && o.wrong != "orroot" && anyRange && e.Ref == "" && e.Exact == "" {
		for _, r := range o.root {
			if r.Name == e.Name {
				for _, c := range o.candidates(r) {
					add(c)
				}
			}
		}
	}
	return all
}

// usable is S8, min_age, offline and readability.
func (o *oracle) usable(c resolver.Candidate) bool {
	if o.isLocked(c) || o.every {
		return true
	}
	if o.w.unreadable[idOf(c)] != "" {
		return false
	}
	if c.Retracted && o.wrong != "retracted" {
		named := false
		if o.wrong == "named exactly" {
			return false
		}
		for _, e := range o.root {
			named = named || e.Name == c.Name && e.Ref == "" && strings.Trim(e.Range, "=v ") == c.Version.String()
		}
		for _, x := range o.overrides {
			named = named || x.Name == c.Name && x.Ref == "" && strings.Trim(x.Range, "=v ") == c.Version.String()
		}
		if !named {
			return false
		}
	}
	return c.Local || (c.Hidden == "" || o.wrong == "hidden") && (!o.in.Offline || c.Cached || o.wrong == "offline")
}

type plan struct {
	fixed   map[skill.Key]bool
	force   map[skill.Key]resolver.Candidate
	relaxed bool
}

// errTooLong is thrown when the plain search takes too long.
var errTooLong = errors.New("too many tries")

// admits says whether e allows c for its name.
func (o *oracle) admits(p plan, e resolver.Edge, c resolver.Candidate) bool {
	if !slices.ContainsFunc(o.candidates(e), func(d resolver.Candidate) bool { return equal(c, d) }) {
		return false
	}
	if e.Digest == "" || c.Commit == "blocked" || p.relaxed && o.broken(e) {
		return true
	}
	return o.digest(c) == e.Digest
}

// broken: versions are in range, but none has the digest (S10).
func (o *oracle) broken(e resolver.Edge) bool {
	all := *o
	all.every = true
	found := false
	for _, c := range all.candidates(e) {
		if c.Commit == "blocked" {
			continue
		}
		found = true
		if d := o.digest(c); d == e.Digest || d == "" {
			return false
		}
	}
	return found
}

type demand struct {
	parent *resolver.Candidate
	edge   resolver.Edge
}

type state struct {
	chosen []resolver.Candidate
	depth  map[skill.Key]int
	into   map[skill.Key][]demand
}

// search finds the first solution of plan p, or nil.
func (o *oracle) search(p plan, v *verdict) []resolver.Candidate {
	s := state{depth: map[skill.Key]int{}, into: map[skill.Key][]demand{}}
	for _, e := range o.root {
		if o.counts("", e) {
			s.depth[e.Name] = 1
			s.into[e.Name] = append(s.into[e.Name], demand{nil, e})
		}
	}
	return o.deeper(p, s, v)
}

func (o *oracle) deeper(p plan, s state, v *verdict) []resolver.Candidate {
	next := skill.Key("")
	for name, d := range s.depth {
		if slices.ContainsFunc(s.chosen, func(c resolver.Candidate) bool { return c.Name == name }) {
			continue
		}
		if o.wrong == "depth" {
			d = s.depth[next]
		}
		if next == "" || d < s.depth[next] || d == s.depth[next] && name < next {
			next = name
		}
	}
	if next == "" {
		return s.chosen
	}
	for _, c := range o.order(next, s.into[next]) {
		if p.fixed[next] && !o.isLocked(c) {
			continue
		}
		if f, ok := p.force[next]; ok && !equal(f, c) {
			continue
		}
		if *o.left--; *o.left < 0 {
			panic(errTooLong)
		}
		if !o.fits(p, s, c) {
			continue
		}
		if c.Commit == "blocked" {
			v.consent = true
		}
		t := state{chosen: append(slices.Clone(s.chosen), c), depth: map[skill.Key]int{}, into: map[skill.Key][]demand{}}
		for k, d := range s.depth {
			t.depth[k], t.into[k] = d, slices.Clone(s.into[k])
		}
		for _, e := range o.edgesOf(c) {
			if o.counts(c.Name, e) {
				if t.depth[e.Name] == 0 {
					t.depth[e.Name] = s.depth[next] + 1
				}
				t.into[e.Name] = append(t.into[e.Name], demand{&c, e})
			}
		}
		if r := o.deeper(p, t, v); r != nil {
			return r
		}
	}
	return nil
}

// fits checks c against everything decided.
func (o *oracle) fits(p plan, s state, c resolver.Candidate) bool {
	for _, d := range s.into[c.Name] {
		if !o.admits(p, d.edge, c) {
			return false
		}
	}
	for _, e := range o.edgesOf(c) {
		for _, d := range s.chosen {
			if d.Name == e.Name && o.counts(c.Name, e) && !o.admits(p, e, d) {
				return false
			}
		}
	}
	return true
}
