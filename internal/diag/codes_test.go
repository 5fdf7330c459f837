package diag_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/skillpm/skillpm/internal/diag"
)

// `skillpm help CODE` prints the meaning beside the code, so every code has one:
// a line that begins small, unless with a name, and ends without a full stop.
func TestMeanings(t *testing.T) {
	for _, info := range diag.Codes() {
		first, _, _ := strings.Cut(info.Meaning, " ")
		rest := strings.TrimPrefix(first, first[:min(1, len(first))])
		name := strings.ContainsFunc(rest, unicode.IsUpper)
		switch {
		case info.Meaning == "" || strings.TrimSpace(info.Meaning) != info.Meaning || strings.Contains(info.Meaning, "\n"):
			t.Errorf("%s means %q: one line is expected", info.Code, info.Meaning)
		case unicode.IsUpper(rune(info.Meaning[0])) && !name:
			t.Errorf("%s means %q: begin it small", info.Code, info.Meaning)
		case strings.HasSuffix(info.Meaning, "."):
			t.Errorf("%s means %q: end it without a full stop", info.Code, info.Meaning)
		}
	}
}
