// Package docs holds the pages that the program itself can print: errors.md,
// the catalogue of codes behind `skillpm help CODE`. The page is embedded, so
// that a binary explains the codes it has and not those of another version.
//
//	if text, ok := docs.Entry("digest_mismatch"); ok {
//		fmt.Print(text)
//	}
//
// It uses the standard library only and keeps no state.
package docs

import (
	_ "embed"
	"strings"
)

//go:embed errors.md
var errorsPage string

// entryStart begins the heading of a code's section.
const entryStart = "## `"

// Entry returns the section of errors.md about code, as Markdown without its
// heading's marks and with a final newline, and whether there is one.
func Entry(code string) (string, bool) {
	_, rest, ok := strings.Cut(errorsPage, "\n"+entryStart+code+"`\n")
	if !ok || code == "" {
		return "", false
	}
	if i := strings.Index(rest, "\n## "); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.Index(rest, "\n# "); i >= 0 {
		rest = rest[:i]
	}
	return code + "\n\n" + strings.TrimSpace(rest) + "\n", true
}

// Codes returns the codes that have a section, in the order of the page.
func Codes() []string {
	var codes []string
	for line := range strings.Lines(errorsPage) {
		if rest, ok := strings.CutPrefix(line, entryStart); ok {
			code, _, _ := strings.Cut(rest, "`")
			codes = append(codes, code)
		}
	}
	return codes
}
