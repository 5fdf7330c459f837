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
	setFlag(t, "rapid.checks", n)
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
	if seen["too long"] > seen["solution"]/20 {
		t.Errorf("the plain search gave up on %d problems", seen["too long"])
	}
}

// setFlag sets a flag of rapid's for this test.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name).Value
	old := f.String()
	if err := f.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Set(old) })
}

func checkProblem(t *rapid.T, in resolver.Input, w *world) string {
	want := newOracle(in, w, "").solve()
	if want.kind == "too long" {
		return want.kind
	}
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
