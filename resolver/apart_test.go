package resolver_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// wrongRules are mistakes that the oracle can make on purpose, one a rule.
var wrongRules = []string{
	"depth", "lookup", "lookup last", "locked first", "local first", "prerelease", // S6
	"held", "prefer", "prefer direct", // S7
	"retracted", "named exactly", "hidden", // S8, min_age
	"override", "solved differently", // S9, S10
	"offline", "orlocked", "orroot", "exact",
}

// TestProblemsTellRulesApart keeps the generator honest: whoever gets a rule
// wrong must answer some of the random problems differently, or passing
// TestRandomProblems would say nothing about that rule.
func TestProblemsTellRulesApart(t *testing.T) {
	const problems, fewest = 700, 2
	setFlag(t, "rapid.checks", fmt.Sprint(problems))
	setFlag(t, "rapid.seed", "1")
	differ := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		in, w := drawProblem(t)
		verdictOf := func(wrong string) verdict {
			o := newOracle(in, w, wrong)
			*o.left = 1000 // the short ones show enough
			return o.solve()
		}
		right := verdictOf("")
		if right.kind == "too long" {
			return
		}
		for _, rule := range wrongRules {
			v := verdictOf(rule)
			if v.kind == "too long" {
				continue
			}
			if v.kind != right.kind || v.kind == "solution" && names(v.chosen) != names(right.chosen) {
				differ[rule]++
			}
		}
	})
	t.Logf("of %d problems: %v", problems, differ)
	for _, rule := range slices.Sorted(slices.Values(wrongRules)) {
		if differ[rule] < fewest {
			t.Errorf("only %d of %d problems show whether the rule %q is kept", differ[rule], problems, rule)
		}
	}
}
