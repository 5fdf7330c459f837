package diag_test

import (
	"testing"

	"github.com/skillpm/skillpm/internal/diag"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"same", "same", 0},
		{"kitten", "sitting", 3}, {"licence", "license", 1}, {"descripton", "description", 1}, {"ab", "ba", 2},
	} {
		if got := diag.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
