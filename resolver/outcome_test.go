package resolver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/resolver"
)

// TestOutcomes reads the problems in testdata/resolver/solved, which have an
// answer or stop for consent.
func TestOutcomes(t *testing.T) {
	golden(t, "solved/*.txt", "outcome", func(t *testing.T, in resolver.Input, w *world) string {
		sol, err := solveLoading(t, in, w)
		return written(t, sol, err)
	})
}

func written(t *testing.T, sol *resolver.Solution, err error) string {
	t.Helper()
	var b strings.Builder
	if need, ok := errors.AsType[*resolver.NeedConsent](err); ok {
		for _, u := range need.List {
			fmt.Fprintf(&b, "consent %s for %s: %s\n", u.Repository, u.Name, u.By)
		}
		return b.String()
	}
	if err != nil {
		t.Fatalf("no solution: %v\n%s", err, reportOf(err))
	}
	for _, c := range sol.Chosen {
		kept := ""
		if c.Kept {
			kept = ", kept"
		}
		fmt.Fprintf(&b, "%s %s from %s%s\n", c.Name, c.Version, c.Source, kept)
	}
	for _, m := range sol.Moves {
		how := "moves"
		if m.Downgrade {
			how = "moves DOWN"
		}
		fmt.Fprintf(&b, "%s %s: %s -> %s\n", how, m.Name, m.From.Version, m.To.Version)
	}
	for _, n := range sol.Added {
		fmt.Fprintf(&b, "added %s\n", n)
	}
	for _, n := range sol.Dropped {
		fmt.Fprintf(&b, "dropped %s\n", n)
	}
	for _, w := range sol.Warnings {
		fmt.Fprintf(&b, "warning[%s]: %s\n", w.Code, w.Message)
	}
	for _, x := range sol.Behind {
		fmt.Fprintf(&b, "behind %s: %s, newest %s, %d newer, because of %v\n", x.Name, x.Chosen, x.Newest, x.Count, x.Because)
	}
	return b.String()
}
