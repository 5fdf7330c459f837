package derive

import (
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
// characters that XML 1.0 forbids, which skills-ref would print, become U+FFFD:
// a description must not reach a terminal's escape codes.
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
func escapeHTML(s string) string {
	return pythonQuotes.Replace(html.EscapeString(strings.Map(xmlRune, s)))
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
