package cli

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/skillpm/skillpm/internal/diag"
)

// escapeJSON writes what diag.Escape would make visible as \u escapes: the
// document means the same, and a terminal or a reviewer that sees it is not
// misled. Such characters stand only inside strings.
func escapeJSON(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end, _ := strings.Cut(line, "\n")
		if diag.Escape(body) == body {
			b.WriteString(line)
			continue
		}
		for _, r := range body {
			writeJSONRune(&b, r)
		}
		if len(body) < len(line) {
			b.WriteString("\n" + end)
		}
	}
	return b.String()
}

func writeJSONRune(b *strings.Builder, r rune) {
	if s := string(r); diag.Escape(s) == s {
		b.WriteString(s)
		return
	}
	for _, unit := range utf16.Encode([]rune{r}) {
		fmt.Fprintf(b, "\\u%04x", unit)
	}
}
