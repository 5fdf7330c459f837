package derive

import (
	"fmt"
	"html"
	"strings"
)

// PromptEntry is one skill of a prompt catalogue.
type PromptEntry struct {
	Name        string
	Description string
	Location    string // where the runtime will find SKILL.md, as it should be printed
}

// PromptXML returns the catalogue that `skills-ref to-prompt` prints for the
// same skills: one element a line, texts HTML-escaped, no final newline. Control
// characters that XML 1.0 forbids, which skills-ref would print, become U+FFFD,
// and characters that nobody sees become references such as &#x202e;: a
// description must neither reach a terminal's escape codes nor hide text in a
// prompt.
func PromptXML(entries []PromptEntry) string {
	var b strings.Builder
	b.WriteString("<available_skills>\n")
	for _, e := range entries {
		b.WriteString("<skill>\n")
		element(&b, "name", e.Name)
		element(&b, "description", e.Description)
		element(&b, "location", e.Location)
		b.WriteString("</skill>\n")
	}
	b.WriteString("</available_skills>")
	return b.String()
}

func element(b *strings.Builder, tag, text string) {
	b.WriteString("<" + tag + ">\n")
	b.WriteString(escapeHTML(text))
	b.WriteString("\n</" + tag + ">\n")
}

// escapeHTML escapes as Python's html.escape does, which skills-ref uses: it
// spells quotes &quot; and &#x27;, where Go's package html has &#34; and &#39;.
// Beyond it, characters that a reader does not see become references.
func escapeHTML(s string) string {
	s = pythonQuotes.Replace(html.EscapeString(strings.Map(xmlRune, s)))
	if strings.IndexFunc(s, isUnseen) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isUnseen(r) {
			fmt.Fprintf(&b, "&#x%x;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isUnseen reports characters that reorder text or carry a hidden one: the
// bidirectional controls, zero-width characters and tag characters. The joiners
// U+200C and U+200D belong to scripts and emoji and stay.
func isUnseen(r rune) bool {
	switch {
	case r == 0x00ad, r == 0x061c, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

var pythonQuotes = strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;")

// xmlRune replaces what is no Char of XML 1.0 (section 2.2), and the C1 control
// characters, which it merely discourages.
func xmlRune(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return r
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
		return 0xfffd
	}
	return r
}
