package resolver_test

import (
	"errors"
	"testing"

	"github.com/skillpm/skillpm/resolver"
)

func reasonOf(t *testing.T, problem string) resolver.Reason {
	t.Helper()
	in, w := parseProblem(t, problem)
	_, err := solveLoading(t, in, w)
	f, ok := errors.AsType[*resolver.Failure](err)
	if !ok {
		t.Fatalf("not a failure: %v", err)
	}
	return f.Reason
}

// Programs read the reason; the report's words do not show it.
func TestReasons(t *testing.T) {
	for name, c := range map[string]struct {
		problem string
		want    resolver.Reason
	}{
		"nothing there":             {"project: a ^1\n", resolver.NotFound},
		"not at hand":               {"offline\nproject: a\na 1.0.0\n", resolver.Offline},
		"no tags":                   {"project: a ^1 from example.com/x//a\nuntagged a from example.com/x//a\n", resolver.NoVersions},
		"no such version":           {"project: a ^2\na 1.0.0\n", resolver.NoMatchingVersion},
		"no such ref":               {"project: a ref:gone\na 1.0.0\n", resolver.NotFound},
		"no such ref, but versions": {"project: a ref:gone; b\nb 1.0.0: a ^1\na 1.0.0\n", resolver.NotFound},
		"only a commit":             {"project: a ^1\na 0.0.0-0.20260105000000-0123456789ab\n", resolver.NoVersions},
		"no tags, a name elsewhere": {"project: a ^1 from example.com/x//a; b\nb 1.0.0: a ^1 from example.com/y//a\na 1.0.0 from example.com/y//a\nuntagged a from example.com/x//a\n", resolver.NoVersions},
		"only pre-releases":         {"project: a ^1\na 1.0.0-rc.1\n", resolver.OnlyPrereleases},
		"three that do not meet":    {"project: a; b; c\na 1.0.0: x <3\nb 1.0.0: x >=2\nc 1.0.0: x !=2.0.0\nx 1.0.0\nx 2.0.0\nx 3.0.0\n", resolver.DisjointRanges},
		"two that do not meet":      {"project: a; b\na 1.0.0: x ^1\nb 1.0.0: x ^2\nx 1.0.0\nx 2.0.0\n", resolver.DisjointRanges},
		"two sources":               {"project: a; b\na 1.0.0: x from example.com/one//x\nb 1.0.0: x from example.com/two//x\nx 1.0.0 from example.com/one//x\nx 1.0.0 from example.com/two//x\n", resolver.NameSourceConflict},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reasonOf(t, c.problem); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
