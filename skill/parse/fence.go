package parse

import (
	"bytes"
	"unicode/utf8"

	"github.com/skillpm/skillpm/internal/diag"
)

var utf8BOM = []byte{0xef, 0xbb, 0xbf}

// document is a SKILL.md cut at its fences.
type document struct {
	front     []byte // between the fences, without them
	frontLine int    // the line of front's first byte, from 1
	bodyAt    int    // offset of the first byte after the closing fence's line
	bodyLine  int
}

// splitStrict cuts data as the specification says: a line of three hyphens at
// byte 0, then up to the next such line. Three hyphens inside a value do not
// end the frontmatter; both reference validators get that wrong.
func splitStrict(data []byte) (document, *diag.Error) {
	if err := checkText(data); err != nil {
		return document{}, err
	}
	if bytes.HasPrefix(data, utf8BOM) {
		return document{}, diag.New(diag.FrontmatterBom, "the file begins with a byte order mark; most loaders then see no frontmatter").
			At("", 1, 1).WithHint("save the file as UTF-8 without BOM")
	}
	return split(data, 0, 1)
}

// splitLenient also takes a byte order mark and blank lines before the opening
// fence, with a warning for each.
func splitLenient(data []byte) (document, diag.List, *diag.Error) {
	if err := checkText(data); err != nil {
		return document{}, nil, err
	}
	var warnings diag.List
	at, line := 0, 1
	if bytes.HasPrefix(data, utf8BOM) {
		at = len(utf8BOM)
		warnings = append(warnings, diag.Warn(diag.FrontmatterBom, "the file begins with a byte order mark; some loaders then see no frontmatter").At("", 1, 1))
	}
	first := line
	for at < len(data) {
		text, next := lineAt(data, at)
		if len(bytes.TrimSpace(text)) > 0 {
			break
		}
		at, line = next, line+1
	}
	if line > first && at < len(data) {
		warnings = append(warnings, diag.Warn(diag.FrontmatterMissing, "blank lines stand before the opening `---`; some loaders then see no frontmatter").At("", 1, 1))
	}
	doc, err := split(data, at, line)
	return doc, warnings, err
}

// checkText refuses what is no text at all.
func checkText(data []byte) *diag.Error {
	if !utf8.Valid(data) {
		at := invalidUTF8(data)
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return diag.New(diag.NotUtf8, "byte %#02x at offset %d is not UTF-8", data[at], at).At("", line, 0)
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return diag.New(diag.NulByte, "a NUL byte at offset %d; the file is not text", at).At("", line, 0)
	}
	return nil
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return 0
}

// lineAt returns the line that begins at offset at, without its end, and the
// offset of the next one.
func lineAt(data []byte, at int) (text []byte, next int) {
	if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
		return data[at : at+n], at + n + 1
	}
	return data[at:], len(data)
}

func isFence(line []byte) bool {
	return bytes.Equal(bytes.TrimRight(line, " \t\r"), []byte("---"))
}

func split(data []byte, at, line int) (document, *diag.Error) {
	opening, next := lineAt(data, at)
	if len(bytes.TrimSpace(data)) == 0 {
		return document{}, diag.New(diag.FrontmatterMissing, "the file is empty").At("", 1, 1)
	}
	if !isFence(opening) {
		return document{}, diag.New(diag.FrontmatterMissing, "expected a line `---`, found %s", quoteLine(opening)).At("", line, 1).
			WithHint("a skill begins with ---, name: and description:, then --- again")
	}
	start, openLine := next, line
	for n := line + 1; next < len(data); n++ {
		text, after := lineAt(data, next)
		if isFence(text) {
			return document{front: data[start:next], frontLine: openLine + 1, bodyAt: after, bodyLine: n + 1}, nil
		}
		next = after
	}
	return document{}, diag.New(diag.FrontmatterNotClosed, "no later line is `---`, so the frontmatter never ends").At("", openLine, 1).
		WithHint("close it with a line of three hyphens before the body")
}

// quoteLine shows the beginning of a line from outside.
func quoteLine(line []byte) string {
	text := string(bytes.TrimRight(line, " \t\r"))
	if text == "" {
		return "a blank line"
	}
	return "`" + shorten(text, 40) + "`"
}

// shorten cuts s to n characters.
func shorten(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
