package resolver_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

func TestRaise(t *testing.T) {
	for _, c := range []struct {
		text, version, want string
		ok                  bool
	}{
		{"^1.1.0", "2.3.4", "^2.3.4", true},
		{"^1.1.0", "1.4.0", "^1.1.0", true}, // allowed already
		{"^1.1", "2.3.4", "^2.3.4", true},
		{"^1", "2.3.4", "^2.3.4", true},
		{"=1.1.0", "1.3.0", "=1.3.0", true},
		{"= 1.1.0", "1.3.0", "= 1.3.0", true},
		{"1.1.0", "1.3.0", "1.3.0", true},
		{"v1.1.0", "1.3.0", "v1.3.0", true},
		{"=v1.1.0", "1.3.0", "=v1.3.0", true},
		{"1.1", "1.3.0", "1.3", true},
		{"1.x", "2.0.0", "2.x", true},
		{"1.1.*", "1.3.2", "1.3.*", true},
		{"~1.1.0", "1.3.2", "~1.3.2", true},
		{"~1.1", "1.3.2", "~1.3", true},
		{"~>1.1", "1.3.2", "~>1.3", true},
		{"^2.0.0-beta.1", "2.0.0-beta.3", "^2.0.0-beta.1", true},
		{"=2.0.0-beta.1", "2.0.0-beta.3", "=2.0.0-beta.3", true},
		{"=2.0.0-beta.1", "2.0.0", "=2.0.0", true},
		{"^1.0.0", "2.0.0-rc.1", "^2.0.0-rc.1", true},
		{"1.1.0+build.3", "1.3.0+build.9", "1.3.0", true},
		{"*", "9.9.9", "*", true},
		{"", "9.9.9", "", true},
		{"latest", "9.9.9", "latest", true},
		{">=1.1.0", "9.9.9", ">=1.1.0", true},
		// upper bounds, several parts, and versions below stay
		{">=1.1.0 <1.3.0", "1.3.0", ">=1.1.0 <1.3.0", false},
		{">=1.1.0, <1.3.0", "1.3.0", ">=1.1.0, <1.3.0", false},
		{"<2", "2.0.0", "<2", false},
		{"<=1.3.0", "2.0.0", "<=1.3.0", false},
		{"!=2.0.0", "2.0.0", "!=2.0.0", false},
		{"1.0.0 - 1.3.0", "2.0.0", "1.0.0 - 1.3.0", false},
		{"~1.1 || ~1.2", "1.3.0", "~1.1 || ~1.2", false},
		{"^2.0.0-beta.1", "1.3.0", "^2.0.0-beta.1", false},
		{"^2", "1.9.0", "^2", false},
		{"~1.3.0", "1.2.9", "~1.3.0", false},
		{"*", "2.0.0-rc.1", "*", false},
		{"nonsense", "1.0.0", "nonsense", false},
	} {
		v, err := skill.ParseVersion(c.version)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := resolver.Raise(c.text, v); got != c.want || ok != c.ok {
			t.Errorf("Raise(%q, %s) = %q, %v; want %q, %v", c.text, c.version, got, ok, c.want, c.ok)
		}
	}
}

// What Raise returns allows the version, keeps the operator, and is a fixed point.
func TestRaiseKeepsTheOperator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom([]string{"", "=", "^", "~"}).Draw(t, "operator")
		number := rapid.StringMatching(`(0|[1-9])\.(0|[1-9])\.(0|[1-9])(-(a|b)\.[0-3])?`)
		v, err := skill.ParseVersion(number.Draw(t, "version"))
		if err != nil {
			t.Fatal(err)
		}
		text := op + number.Draw(t, "base")
		got, ok := resolver.Raise(text, v)
		if !ok {
			if got != text {
				t.Fatalf("refused, and yet %q became %q", text, got)
			}
			return
		}
		if !resolver.Match(got, v) || len(got) < len(op) || got[:len(op)] != op {
			t.Fatalf("%q for %s became %q", text, v, got)
		}
		if again, ok := resolver.Raise(got, v); !ok || again != got {
			t.Fatalf("%q raised again is %q", got, again)
		}
	})
}
