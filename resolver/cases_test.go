package resolver_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// The file format of testdata/cases/resolver.json.
type (
	caseFile struct {
		Scenarios []scenario `json:"scenarios"`
	}
	scenario struct {
		ID       string
		Mode     string
		Root     caseRoot
		Registry map[string]string
		Universe map[string][]caseCandidate
		Lock     map[string]caseCandidate
		Unlock   []string
		Expect   caseExpect
	}
	caseRoot struct {
		Name      string
		Deps      []caseDep
		Overrides map[string]caseDep
	}
	caseDep struct {
		Name, Range, Source, Digest string
	}
	caseCandidate struct {
		Version, Source, Digest string
		Retracted, Cached       bool
		Deps                    []caseDep
	}
	caseExpect struct {
		Solution             map[string]string
		Moved, Dropped, Warn []string
		Code                 string
		Cycle                []string
		ReasonAnyOf          []string `json:"reason_any_of"`
		MustMention          []string `json:"must_mention"`
	}
)

func loadCases(t *testing.T) []scenario {
	t.Helper()
	dir := os.Getenv("SKILLPM_CASES")
	outside := dir != ""
	if !outside {
		dir = filepath.Join("..", "testdata", "cases")
	}
	data, err := os.ReadFile(filepath.Join(dir, "resolver.json"))
	if outside && errors.Is(err, os.ErrNotExist) {
		t.Skip("SKILLPM_CASES has no resolver.json")
	}
	if err != nil {
		t.Fatal(err)
	}
	var f caseFile
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f.Scenarios
}

func TestResolverCases(t *testing.T) {
	cases := loadCases(t)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			in, u := c.problem(t)
			sol, err := solveLoading(t, in, u)
			if c.Expect.Code != "" {
				checkFailure(t, c.Expect, err)
				return
			}
			if err != nil {
				t.Fatalf("no solution: %v\n%s", err, reportOf(err))
			}
			c.checkSolution(t, sol)
		})
	}
}

func (c scenario) checkSolution(t *testing.T, sol *resolver.Solution) {
	t.Helper()
	got := map[string]string{}
	for _, s := range sol.Chosen {
		want := c.Expect.Solution[string(s.Name)]
		got[string(s.Name)] = s.Version.String()
		if strings.Contains(want, "@") {
			got[string(s.Name)] += "@" + s.Source
		}
	}
	opts := cmpopts.EquateEmpty()
	if diff := cmp.Diff(c.Expect.Solution, got, opts); diff != "" {
		t.Errorf("solution (-want +got):\n%s", diff)
	}
	var moved, warn []string
	for _, m := range sol.Moves {
		moved = append(moved, string(m.Name))
	}
	for _, w := range sol.Warnings {
		warn = append(warn, string(w.Name))
	}
	warn = slices.Compact(warn)
	for _, list := range [][]string{c.Expect.Moved, c.Expect.Warn, c.Expect.Dropped} {
		slices.Sort(list)
	}
	if diff := cmp.Diff(c.Expect.Moved, moved, opts); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.Expect.Warn, warn, opts); diff != "" {
		t.Errorf("warnings (-want +got):\n%s%v", diff, sol.Warnings)
	}
	if c.Expect.Dropped != nil {
		if diff := cmp.Diff(c.Expect.Dropped, keys(sol.Dropped), opts); diff != "" {
			t.Errorf("dropped (-want +got):\n%s", diff)
		}
	}
}

func checkFailure(t *testing.T, want caseExpect, err error) {
	t.Helper()
	f, ok := errors.AsType[*resolver.Failure](err)
	if !ok {
		t.Fatalf("want %s, got error %v", want.Code, err)
	}
	text := f.String()
	if string(f.Code) != want.Code {
		t.Errorf("code: want %s, got %s\n%s", want.Code, f.Code, text)
	}
	if len(want.ReasonAnyOf) > 0 && !slices.Contains(want.ReasonAnyOf, string(f.Reason)) {
		t.Errorf("reason: want one of %v, got %q\n%s", want.ReasonAnyOf, f.Reason, text)
	}
	for _, m := range want.MustMention {
		if !mentions(text, m) {
			t.Errorf("%q is not mentioned in\n%s", m, text)
		}
	}
	if want.Cycle != nil {
		var got []string
		for _, s := range f.Cycle[f.CycleStart:] {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(want.Cycle, got); diff != "" {
			t.Errorf("cycle (-want +got):\n%s\n%s", diff, text)
		}
	}
	if f.Hint == "" {
		t.Errorf("no hint in\n%s", text)
	}
}

// mentions looks for name as a whole word.
func mentions(text, name string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}), name)
}

func keys(list []skill.Key) []string {
	out := make([]string, len(list))
	for i, k := range list {
		out[i] = string(k)
	}
	return out
}

func reportOf(err error) string {
	if f, ok := errors.AsType[*resolver.Failure](err); ok {
		return f.String()
	}
	return ""
}

const localSource = "local"

// problem translates a scenario: requirements without source go to the local
// member, the locked entry and the registry's source (S3).
func (c scenario) problem(t *testing.T) (resolver.Input, *world) {
	t.Helper()
	in := resolver.Input{
		RootName: skill.Key(c.Root.Name), Offline: c.Mode == "offline", Frozen: c.Mode == "frozen",
		Expired: func() bool { return false },
	}
	in.Root = c.edges(c.Root.Deps)
	for _, d := range c.Root.Overrides {
		in.Overrides = append(in.Overrides, resolver.Override{
			Name: skill.Key(d.Name), Range: d.Range, Source: d.Source, Digest: skill.Digest(d.Digest),
		})
	}
	for _, name := range c.Unlock {
		if name == "*" {
			in.UnlockAll = true
			continue
		}
		in.Unlock = append(in.Unlock, skill.Key(name))
	}
	w := newWorld()
	for name, list := range c.Universe {
		for _, x := range list {
			w.add(c.candidate(t, name, x), skill.Digest(x.Digest), c.edges(x.Deps))
		}
	}
	for name, x := range c.Lock {
		l := resolver.Locked{Candidate: c.candidate(t, name, x), Digest: skill.Digest(x.Digest), Edges: c.edges(x.Deps)}
		if known, ok := w.find(l.Candidate); !ok && x.Source == localSource && !in.Frozen {
			in.Unlock = append(in.Unlock, l.Name) // a member was edited; the lock holds no fact about it
		} else if ok && !in.Frozen {
			l.Candidate = known
			l.Edges = w.edges[idOf(known)]
		} else if !in.Frozen {
			l.TagGone = true
		}
		if at, ok := c.Registry[name]; ok && at != x.Source && x.Source != localSource {
			l.RegistryChanged = true
		}
		in.Lock = append(in.Lock, l)
	}
	return in, w
}

func (c scenario) candidate(t *testing.T, name string, x caseCandidate) resolver.Candidate {
	t.Helper()
	v, err := skill.ParseVersion(x.Version)
	if err != nil {
		t.Fatal(err)
	}
	return resolver.Candidate{
		Name: skill.Key(name), Source: x.Source, Version: v, Local: x.Source == localSource,
		Retracted: x.Retracted, Cached: x.Cached,
	}
}

func (c scenario) edges(deps []caseDep) []resolver.Edge {
	var list []resolver.Edge
	for _, d := range deps {
		e := resolver.Edge{Name: skill.Key(d.Name), Range: d.Range, Digest: skill.Digest(d.Digest)}
		if d.Source != "" {
			e.Sources = []string{d.Source}
		} else {
			e.OrLocked = true
			e.Sources = []string{localSource, c.Registry[d.Name]}
		}
		list = append(list, e)
	}
	return list
}
