package resolver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"pgregory.net/rapid"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

func drawVersionText(t *rapid.T) string {
	n := func() int { return rapid.IntRange(0, 3).Draw(t, "n") }
	v := fmt.Sprintf("%d.%d.%d", n(), n(), n())
	if rapid.IntRange(0, 3).Draw(t, "pre") == 3 {
		v += "-" + rapid.SampledFrom([]string{"0", "rc.1", "alpha", "beta.2", "1", "rc.1.x"}).Draw(t, "label")
	}
	if rapid.IntRange(0, 9).Draw(t, "build") == 9 {
		v += "+build.5"
	}
	return v
}

func drawRangeText(t *rapid.T) string {
	part := func() string {
		v := drawVersionText(t)
		if rapid.IntRange(0, 4).Draw(t, "short") == 4 {
			v = rapid.SampledFrom([]string{"1", "1.2", "0", "0.1", "1.x", "x", "*", "v1.2.3", "1.2.*"}).Draw(t, "part")
		}
		return rapid.SampledFrom([]string{"", "", "=", "!=", ">", "<", ">=", "<=", "~", "^", "=>", "=<", "~>", "> ", "^ ", "==", "<>"}).Draw(t, "op") + v
	}
	text := part()
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		text += rapid.SampledFrom([]string{" ", ", ", ",", " || ", "||", "  ", " ,", " - "}).Draw(t, "join") + part()
	}
	return text
}

// TestSimpleRangesAgree: the short cut for plain comparisons, and everything
// else, gives Masterminds' answers.
func TestSimpleRangesAgree(t *testing.T) {
	setFlag(t, "rapid.checks", "5000")
	rapid.Check(t, func(t *rapid.T) {
		text := drawRangeText(t)
		c, err := semver.NewConstraint(text)
		if (err == nil) != (resolver.CheckRange(text) == nil) && text != "*" {
			t.Fatalf("CheckRange(%q) = %v, Masterminds %v", text, resolver.CheckRange(text), err)
		}
		for range 20 {
			vt := drawVersionText(t)
			v, err := skill.ParseVersion(vt)
			if err != nil {
				t.Fatal(err)
			}
			want := c != nil && c.Check(semver.MustParse(vt))
			if text == "*" {
				want = v.Prerelease() == ""
			}
			if got := resolver.Match(text, v); got != want {
				t.Fatalf("Match(%q, %s) = %v, Masterminds says %v", text, vt, got, want)
			}
		}
	})
}

// TestVersionsAgree: package skill and Masterminds read the same texts as strict
// versions, up to the limits that skill sets (18 digits, 256 bytes), and order
// them alike.
func TestVersionsAgree(t *testing.T) {
	setFlag(t, "rapid.checks", "5000")
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"0", "1", "01", "10", "", "a", "A-b", "-", "rc", "00a", "é", " ", "18446744073709551615", "999999999999999999"}),
		rapid.StringMatching(`[0-9a-z-]{1,4}`),
	)
	text := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		if rapid.IntRange(0, 9).Draw(t, "v") == 9 {
			b.WriteByte('v')
		}
		b.WriteString(piece.Draw(t, "first"))
		for range rapid.IntRange(1, 5).Draw(t, "pieces") {
			b.WriteString(rapid.SampledFrom([]string{".", ".", ".", "-", "+"}).Draw(t, "sep"))
			b.WriteString(piece.Draw(t, "piece"))
		}
		return b.String()
	})
	rapid.Check(t, func(t *rapid.T) {
		a := text.Draw(t, "a")
		if rapid.Bool().Draw(t, "valid") {
			a = drawVersionText(t)
		}
		v, err := skill.ParseVersion(a)
		m, merr := semver.StrictNewVersion(a)
		if (err == nil) != (merr == nil) && !strings.Contains(a, "18446744073709551615") {
			t.Fatalf("%q: skill says %v, Masterminds %v", a, err, merr)
		}
		if err != nil || merr != nil {
			return
		}
		b := drawVersionText(t)
		w, _ := skill.ParseVersion(b)
		if got, want := v.Compare(w), m.Compare(semver.MustParse(b)); got != want {
			t.Fatalf("Compare(%s, %s) = %d, Masterminds %d", a, b, got, want)
		}
	})
}

func TestMatchPseudoVersions(t *testing.T) {
	pseudo, err := skill.ParseVersion("0.0.0-0.20260102030405-0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "*", "latest", ">=0.0.0-0", "0.0.0-0.20260102030405-0123456789ab", "<9", "=0.0.0-0.20260102030405-0123456789ab"} {
		if resolver.Match(text, pseudo) {
			t.Errorf("%q matches a pseudo-version", text)
		}
	}
	if !resolver.Match("^9", skill.Version{}) {
		t.Error("a path skill without version does not satisfy ^9")
	}
}
