package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

func TestBudgetNamesTheCulprits(t *testing.T) {
	in, w := pigeonhole(9, 8)
	in.Conflicts = 50
	_, err := resolver.Solve(t.Context(), in, w)
	f, ok := errors.AsType[*resolver.Failure](err)
	if !ok || f.Code != diag.ResolutionBudgetExceeded {
		t.Fatalf("got %v", err)
	}
	if !strings.HasPrefix(f.Headline, "no answer after 50 conflicts;") {
		t.Errorf("headline: %s", f.Headline)
	}
	if len(f.Culprits) != 3 || !strings.Contains(f.Headline, string(f.Culprits[0])) || f.Hint == "" {
		t.Errorf("culprits %v in\n%s", f.Culprits, f)
	}
}

func TestExpiredClockStops(t *testing.T) {
	in, w := pigeonhole(9, 8)
	asked := 0
	in.Expired = func() bool { asked++; return asked > 2 }
	_, err := resolver.Solve(t.Context(), in, w)
	if f, ok := errors.AsType[*resolver.Failure](err); !ok || f.Code != diag.ResolutionBudgetExceeded {
		t.Fatalf("got %v", err)
	}
}

func TestCancelledContextStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, w := pigeonhole(9, 8)
	in.Expired = func() bool { cancel(); return false }
	if _, err := resolver.Solve(ctx, in, w); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// TestPigeonholeEffort: learning must not rot. Chronological search meets 8!
// conflicts here.
func TestPigeonholeEffort(t *testing.T) {
	in, w := pigeonhole(9, 8)
	in.Conflicts = 5_000
	_, err := resolver.Solve(t.Context(), in, w)
	f, ok := errors.AsType[*resolver.Failure](err)
	if !ok || f.Code != diag.SubskillUnresolved {
		t.Fatalf("got %v", err)
	}
	if len(f.Proof) > 30 {
		t.Errorf("a proof of %d lines", len(f.Proof))
	}
}

// TestNothingIsAskedOfASufficientLock: 0 round trips.
func TestNothingIsAskedOfASufficientLock(t *testing.T) {
	in, w := wide(50, 10)
	sol, err := resolver.Solve(t.Context(), in, w)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range sol.Chosen {
		in.Lock = append(in.Lock, resolver.Locked{Candidate: c.Candidate, Edges: c.Edges})
	}
	again, err := resolver.Solve(t.Context(), in, newWorld()) // which knows nothing
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Moves)+len(again.Added)+len(again.Dropped) > 0 {
		t.Errorf("moves %v, added %v, dropped %v", again.Moves, again.Added, again.Dropped)
	}
}

// TestRounds: versions, then a batch of SKILL.md, for a frontier at once.
func TestRounds(t *testing.T) {
	w := newWorld()
	var in resolver.Input
	for i := range 20 {
		name := benchName(i)
		source := "git/" + string(name)
		for v := range 30 {
			w.add(resolver.Candidate{Name: name, Source: source, Version: version(1, v)}, "", nil)
		}
		in.Root = append(in.Root, resolver.Edge{Name: name, Range: "*", Sources: []string{source}})
	}
	if _, err := solveLoading(t, in, w); err != nil {
		t.Fatal(err)
	}
	if w.rounds != 2 || w.files != 20+20*8 {
		t.Errorf("%d rounds, %d facts; want 2 rounds: the tags of 20, and eight SKILL.md of each", w.rounds, w.files)
	}
}

// TestBatchesOnConflict: a thousand versions that do not work are read by eights.
func TestBatchesOnConflict(t *testing.T) {
	in, w := wrongPackage(200)
	w.all = false
	if _, err := solveLoading(t, in, w); err != nil {
		t.Fatal(err)
	}
	if w.rounds > 2+200/8+1 {
		t.Errorf("%d rounds", w.rounds)
	}
}

// TestFrontierInOneRound: a tree of depth three needs a round a level and kind,
// not one a name.
func TestFrontierInOneRound(t *testing.T) {
	in, w := wide(60, 5)
	w.all = false
	in.Root = in.Root[:8]
	if _, err := solveLoading(t, in, w); err != nil {
		t.Fatal(err)
	}
	if w.rounds > 30 {
		t.Errorf("%d rounds for %d facts", w.rounds, w.files)
	}
}

func TestManyFindingsOfOneSolution(t *testing.T) {
	in, w := parseProblem(t, `
project: a; b
a 1.0.0: x ref:main
b 1.0.0: y delegate a2a`)
	_, err := solveLoading(t, in, w)
	f, ok := errors.AsType[*resolver.Failure](err)
	if !ok {
		t.Fatal(err)
	}
	var codes []diag.Code
	for _, e := range f.List() {
		codes = append(codes, e.Code)
	}
	if diff := cmp.Diff([]diag.Code{diag.FloatingDependency, diag.DelegateReserved}, codes); diff != "" {
		t.Error(diff)
	}
}

// TestFacesOfAFailure: Diag carries reason, paths and cycle for --json.
func TestFacesOfAFailure(t *testing.T) {
	in, w := parseProblem(t, "project: a\na 1.0.0: b\nb 1.0.0: a")
	_, err := solveLoading(t, in, w)
	f, _ := errors.AsType[*resolver.Failure](err)
	data, ok := f.Diag().Data.(resolver.FailureData)
	if !ok || len(data.Cycle) != 3 || data.Cycle[0].Name != "a" || data.Cycle[2].Name != "a" {
		t.Errorf("data: %+v", f.Diag().Data)
	}
}

func TestSourcesOfOneNameRestartTheSearch(t *testing.T) {
	// Ten names, each wanted from a second source only by the last skill.
	w := newWorld()
	var in resolver.Input
	var last []resolver.Edge
	for i := range 10 {
		name := benchName(i)
		for _, kind := range []string{"git/", "alt/"} {
			w.add(resolver.Candidate{Name: name, Source: kind + string(name), Version: version(1, 0)}, "", nil)
		}
		in.Root = append(in.Root, resolver.Edge{Name: name, Range: "*", Sources: []string{"git/" + string(name)}})
		last = append(last, resolver.Edge{Name: name, Range: "*", Sources: []string{"alt/" + string(name)}})
	}
	w.add(resolver.Candidate{Name: "zz", Source: "git/zz", Version: version(2, 0)}, "", last)
	w.add(resolver.Candidate{Name: "zz", Source: "git/zz", Version: version(1, 0)}, "", nil)
	in.Root = append(in.Root, resolver.Edge{Name: "zz", Range: "*", Sources: []string{"git/zz"}})
	sol, err := solveLoading(t, in, w)
	if err != nil {
		t.Fatal(err, reportOf(err))
	}
	if got := sol.Chosen[10].Version.String(); got != "1.0.0" {
		t.Errorf("zz %s", got)
	}
}

func graphOfText(t *testing.T, text string) resolver.Graph {
	t.Helper()
	in, w := parseProblem(t, text)
	sol, err := solveLoading(t, in, w)
	if err != nil {
		t.Fatal(err, reportOf(err))
	}
	return sol.Graph(in)
}

const diamondText = `
project: a; b ^1; z
a 1.0.0: c ^1
b 1.2.0: c >=1.0.0; d
c 1.3.0: e ~2.0
d 1.0.0: e
e 2.0.1
e 2.4.0
z 1.0.0: b`

func TestWhy(t *testing.T) {
	g := graphOfText(t, diamondText)
	var got []string
	for _, p := range g.Why("e") {
		got = append(got, p.String())
	}
	want := []string{
		"project > a 1.0.0 > c 1.3.0 > e 2.0.1",
		"project > b 1.2.0 > c 1.3.0 > e 2.0.1",
		"project > b 1.2.0 > d 1.0.0 > e 2.0.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if paths := g.Why("nothing"); paths != nil {
		t.Errorf("paths to nothing: %v", paths)
	}
}

func TestWhyNot(t *testing.T) {
	g := graphOfText(t, diamondText)
	var versions []skill.Version
	for _, text := range []string{"2.0.1", "2.4.0", "3.0.0"} {
		v, _ := skill.ParseVersion(text)
		versions = append(versions, v)
	}
	var got []string
	for _, p := range g.WhyNot("e", ">=2.4", versions) {
		got = append(got, p.String())
	}
	if diff := cmp.Diff([]string{"project > a 1.0.0 > c 1.3.0 > e ~2.0"}, got); diff != "" {
		t.Error(diff)
	}
	if p := g.WhyNot("e", "^2.0", versions); p != nil {
		t.Errorf("2.0.1 is excluded by %v", p)
	}
}

func TestTree(t *testing.T) {
	g := graphOfText(t, diamondText)
	var b strings.Builder
	for _, l := range g.Tree() {
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", l.Depth-1), l.Name)
		if l.Repeated {
			b.WriteString(" (above)")
		}
		b.WriteByte('\n')
	}
	want := "a\n  c\n    e\nb\n  c (above)\n  d\n    e\nz\n  b (above)\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
