package ui

import "testing"

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in    string
		cells int
		want  string
	}{
		{"", 0, ""},
		{"abc", -1, ""},
		{"abc", 0, ""},
		{"abc", 1, "…"},
		{"a", 1, "a"},
		{"abc", 2, "a…"},
		{"abc", 3, "abc"},
		{"日本", 1, "…"},
		{"日本", 2, "…"}, // half of a wide character is none
		{"日本", 3, "日…"},
		{"日本", 4, "日本"},
	} {
		if got := Truncate(c.in, c.cells); got != c.want {
			t.Errorf("%q in %d cells: %q, want %q", c.in, c.cells, got, c.want)
		}
	}
}
