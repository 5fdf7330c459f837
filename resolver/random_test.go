package resolver_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// TestRandomProblems compares Solve with the oracle on random problems of every
// kind the rules name. rapid prints the seed of a failure. 2,000 problems by
// default; for a long run:
//
//	SKILLPM_RESOLVER_PROBLEMS=20000 go test -run TestRandomProblems ./resolver
func TestRandomProblems(t *testing.T) {
	n := os.Getenv("SKILLPM_RESOLVER_PROBLEMS")
	if n == "" {
		n = "2000"
	}
	setChecks(t, n)
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		in, w := drawProblem(t)
		seen[checkProblem(t, in, w)]++
	})
	t.Logf("outcomes: %v", seen)
	for _, kind := range []string{"solution", "unsolvable", "digest_mismatch", "cycle", "refusal", "consent", "outdated"} {
		if seen[kind] == 0 && !t.Failed() {
			t.Errorf("no problem ended in %s; the generator has become too narrow", kind)
		}
	}
}

// setChecks tells rapid how many examples this test draws.
func setChecks(t *testing.T, n string) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value
	old := checks.String()
	if err := checks.Set(n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { checks.Set(old) })
}

func checkProblem(t *rapid.T, in resolver.Input, w *world) string {
	want := newOracle(in, w).solve()
	w.all = true
	got := outcomeOf(resolver.Solve(t.Context(), in, w))
	kind := kindOf(got.err)
	switch {
	case kind == "consent" && want.consent:
	case kind != want.kind:
		t.Fatalf("want %s %v, got %s %v\n%s", want.kind, names(want.chosen), kind, got.err, got.text)
	case kind == "solution":
		if a, b := names(want.chosen), chosenNames(got.sol); a != b {
			t.Fatalf("want %s\ngot  %s", a, b)
		}
	}
	// Neither the order of the input nor that of loading may show.
	w.all = false
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	for range 2 {
		clear(w.loaded)
		sol, err := solveWith(t, shuffled(in, r), w, r)
		if again := outcomeOf(sol, err); again.text != got.text {
			t.Fatalf("another order, another result:\n%s\n%s", got.text, again.text)
		}
	}
	return want.kind
}

type outcome struct {
	sol  *resolver.Solution
	err  error
	text string
}

// outcomeOf writes everything down that a caller can see.
func outcomeOf(sol *resolver.Solution, err error) outcome {
	var b strings.Builder
	if sol != nil {
		data, jsonErr := json.Marshal(sol)
		fmt.Fprintf(&b, "%s %v\n", data, jsonErr)
	}
	if f, ok := errors.AsType[*resolver.Failure](err); ok {
		data, _ := json.Marshal(f)
		fmt.Fprintf(&b, "%s%s", f.String(), data)
	}
	if n, ok := errors.AsType[*resolver.NeedConsent](err); ok {
		data, _ := json.Marshal(n)
		b.Write(data)
	}
	return outcome{sol, err, b.String()}
}

func kindOf(err error) string {
	if err == nil {
		return "solution"
	}
	if _, ok := errors.AsType[*resolver.NeedConsent](err); ok {
		return "consent"
	}
	f, ok := errors.AsType[*resolver.Failure](err)
	if !ok {
		return err.Error()
	}
	switch f.Code {
	case diag.SubskillUnresolved, diag.NoVersions:
		return "unsolvable"
	case diag.DigestMismatch:
		return "digest_mismatch"
	case diag.SubskillCycleDetected:
		return "cycle"
	case diag.LockOutdated:
		return "outdated"
	}
	return "refusal"
}

func names(list []resolver.Candidate) string {
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = fmt.Sprintf("%s %s@%s#%s", c.Name, c.Version, c.Source, c.Commit)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func chosenNames(sol *resolver.Solution) string {
	var list []resolver.Candidate
	for _, c := range sol.Chosen {
		list = append(list, c.Candidate)
	}
	return names(list)
}

var (
	versionPool = []string{"0.9.0", "1.0.0", "1.1.0", "1.2.0-rc.1", "2.0.0", "2.1.0-beta.2", "3.0.0"}
	rangePool   = []string{"*", "*", "*", "", "latest", ">=0.9.0", ">=0.1", "<9", "^1.0.0", "^2", ">=1.0.0", "<2.0.0", "=1.1.0", "1.0.0", ">=1.0.0-0", "~1", "!=2.0.0", "<1 || >=3", "^9"}
)

// problem draws one problem. Each dimension is on in part of the problems only,
// so that the others are not drowned.
type problem struct {
	*rapid.T
	w     *world
	names []skill.Key
	on    map[string]bool
}

func drawProblem(t *rapid.T) (resolver.Input, *world) {
	p := &problem{T: t, w: newWorld(), on: map[string]bool{}}
	for _, d := range []string{"sources", "pins", "retract", "override", "lock", "local", "cycles", "offline", "lookup", "refs", "exact", "hidden", "unreadable", "blocked", "faults", "unsettled", "rootname"} {
		p.on[d] = p.chance(d, 4)
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "names") {
		p.names = append(p.names, skill.Key("abcdef"[i:i+1]))
	}
	for i, name := range p.names {
		p.drawSkill(i, name)
	}
	in := resolver.Input{Offline: p.on["offline"]}
	if p.on["rootname"] {
		in.RootName = "a"
	}
	for _, name := range p.names {
		if p.chance("root", 2) {
			in.Root = append(in.Root, p.drawEdge(name, true))
		}
	}
	if p.on["override"] {
		p.drawOverride(&in)
	}
	if p.on["lock"] {
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

// fewest is how many versions a source has at least: rarely none.
func (p *problem) fewest() int {
	if p.chance("empty", 6) {
		return 0
	}
	return 2
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
		for _, v := range rapid.SliceOfNDistinct(rapid.SampledFrom(versionPool), p.fewest(), 4, rapid.ID[string]).Draw(p.T, "versions") {
			p.drawCandidate(i, name, source, v)
		}
		if p.on["refs"] || p.on["exact"] {
			for n := 1; n <= 2; n++ {
				c := resolver.Candidate{Name: name, Source: source, Commit: commit(n), Cached: true}
				c.Version, _ = skill.ParseVersion(fmt.Sprintf("0.0.0-0.2026010%d000000-%s", n, commit(n)[:12]))
				p.w.addAt(c, []string{[]string{"main", "dev"}[n-1]}, p.drawDigest(), p.drawEdges(i))
			}
		}
	}
	if p.on["local"] && p.chance("local", 2) {
		p.drawCandidate(i, name, localSource, rapid.SampledFrom(append([]string{""}, versionPool...)).Draw(p.T, "version"))
	}
}

func (p *problem) drawCandidate(i int, name skill.Key, source, version string) {
	c := resolver.Candidate{Name: name, Source: source, Local: source == localSource}
	c.Version, _ = skill.ParseVersion(version)
	if !c.Local {
		c.Commit = commit(rapid.IntRange(1, 3).Draw(p.T, "commit"))
		c.Cached = p.on["offline"] && p.chance("cached", 2)
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
	}
	p.w.add(c, p.drawDigest(), p.drawEdges(i))
}

func (p *problem) drawDigest() skill.Digest {
	return skill.Digest("sha256:" + rapid.SampledFrom([]string{"x", "y", "z"}).Draw(p.T, "digest"))
}

// drawEdges draws the requirements of a candidate of the i-th name: on later
// names, and rarely on any.
func (p *problem) drawEdges(i int) []resolver.Edge {
	var list []resolver.Edge
	for j, name := range p.names {
		ok := j > i && p.chance("edge", 3)
		if p.on["cycles"] && j <= i {
			ok = p.chance("back", 8)
		}
		if ok {
			list = append(list, p.drawEdge(name, false))
		}
	}
	return list
}

func (p *problem) drawEdge(name skill.Key, root bool) resolver.Edge {
	e := resolver.Edge{Name: name, Range: rapid.SampledFrom(rangePool).Draw(p.T, "range")}
	e.Sources = []string{"git/" + string(name)}
	e.Chain = !root && p.chance("chain", 5)
	switch {
	case p.on["unsettled"] && p.chance("unsettle", 2):
		e.Sources, e.OrLocked = []string{localSource, "git/" + string(name)}, true
	case p.on["sources"] && p.chance("alt", 4):
		e.Sources = []string{"alt/" + string(name)}
	case p.on["local"] && root && p.chance("path", 3):
		e.Sources = []string{localSource}
	case p.on["unsettled"] && p.chance("missing", 8):
		e.Sources, e.Missing = nil, "no skill of that name nearby"
	}
	if p.on["pins"] && p.chance("pin", 3) {
		e.Digest = p.drawDigest()
	}
	if !root && p.on["lookup"] && p.chance("look", 2) {
		e.LookedUp = true
		e.OrRoot = p.chance("orroot", 3)
	}
	if !root && p.on["exact"] && p.chance("exact", 3) {
		e.Exact, e.LookedUp = commit(rapid.IntRange(1, 3).Draw(p.T, "at")), true
	}
	if p.on["refs"] && p.chance("ref", 3) {
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

func (p *problem) drawOverride(in *resolver.Input) {
	for _, name := range p.names {
		if !p.chance("override", 3) {
			continue
		}
		o := resolver.Override{Name: name, Range: rapid.SampledFrom(rangePool).Draw(p.T, "range")}
		if p.chance("source", 2) {
			o.Source = rapid.SampledFrom([]string{"git/" + string(name), "alt/" + string(name), localSource}).Draw(p.T, "to")
		}
		if p.on["pins"] && p.chance("pin", 3) {
			o.Digest = p.drawDigest()
		}
		if p.on["refs"] && p.chance("ref", 3) {
			o.Range, o.Ref = "", "main"
		}
		in.Overrides = append(in.Overrides, o)
	}
}

// drawLock locks some candidates, mostly of an answer to the same problem so
// that frozen runs and kept locks occur.
func (p *problem) drawLock(in *resolver.Input) {
	var list []resolver.Candidate
	if p.chance("solved", 2) {
		p.w.all = true
		if sol, err := resolver.Solve(p.T.Context(), *in, p.w); err == nil {
			for _, c := range sol.Chosen {
				list = append(list, c.Candidate)
			}
		}
		p.w.all = false
		in.Frozen = p.chance("frozen", 2)
	} else {
		for _, name := range p.names {
			all := slices.Clone(p.w.versions[placeKey{name, "git/" + string(name), ""}].List)
			all = append(all, p.w.versions[placeKey{name, "alt/" + string(name), ""}].List...)
			if c, ok := p.w.at[placeKey{name, "git/" + string(name), rapid.SampledFrom([]string{"main", "dev"}).Draw(p.T, "head")}]; ok {
				all = append(all, c)
			}
			if len(all) > 0 && p.chance("lock", 2) {
				list = append(list, rapid.SampledFrom(all).Draw(p.T, "locked"))
			}
		}
		in.Frozen = p.chance("frozen", 6)
	}
	for _, c := range list {
		l := resolver.Locked{Candidate: c, Digest: p.w.digests[idOf(c)], Edges: p.w.edges[idOf(c)]}
		if c.Version.IsPseudo() {
			l.Refs = []string{"main", "dev"}
			if !p.chance("moved", 3) { // else a ref has moved since, or two did
				l.Refs = []string{map[string]string{commit(1): "main", commit(2): "dev"}[c.Commit]}
			}
		}
		if p.chance("tampered", 10) {
			l.Digest = "sha256:old"
		}
		in.Lock = append(in.Lock, l)
		if p.chance("unlock", 5) {
			in.Unlock = append(in.Unlock, c.Name)
		}
	}
	in.UnlockAll = p.chance("unlockall", 8)
	if len(in.Root) > 0 && p.chance("prefer", 4) {
		in.Prefer = []skill.Key{rapid.SampledFrom(in.Root).Draw(p.T, "preferred").Name}
	}
}
