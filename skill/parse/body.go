package parse

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/skillpm/skillpm/internal/diag"
)

// What the specification recommends for the body, and what one loader reads.
const (
	maxBodyLines  = 500
	maxBodyTokens = 5000
	largeFile     = 64 << 10
)

// densestToken is how many bytes a token has in the densest instructions seen,
// code and tables among them; prose has four to five. A body of fewer bytes for
// the limit is not counted, which takes longer than all other rules.
const densestToken = 3

// bytesPerToken is the usual rough measure for English text; ValidateOptions
// can give a better one.
const bytesPerToken = 4

func roughTokens(text []byte) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

// bodyRules judges the text after the frontmatter.
func (r *skillChecker) bodyRules(doc document, data []byte) {
	body := bytes.Trim(data[doc.bodyAt:], "\r\n\t ")
	first := Position{Line: doc.bodyLine, Column: 1}
	if len(body) == 0 {
		r.note(diag.BodyEmpty, Position{Line: doc.bodyLine - 1, Column: 1}, "nothing follows the frontmatter; an agent that reads the skill learns no more than its description")
	}
	if n := 1 + bytes.Count(body, []byte("\n")); n > maxBodyLines {
		r.note(diag.BodyLong, first, "the body has %d lines; at most %d are recommended", n, maxBodyLines).
			WithHint("move detail into files under references/ and link to them")
	}
	if len(body) > densestToken*maxBodyTokens {
		if n := r.opt.tokens(body); n > maxBodyTokens {
			r.note(diag.BodyTokens, first, "the body is about %d tokens; at most %d are recommended", n, maxBodyTokens)
		}
	}
	if len(data) > largeFile {
		r.note(diag.FileLarge, Position{}, "the file has %d bytes; one loader refuses more than %d", len(data), largeFile)
	}
	r.hiddenText(data)
	r.references(string(data[doc.bodyAt:]), doc.bodyLine)
}

// references judges every place in the body that names a file, and keeps the
// skills that it names for later.
func (r *skillChecker) references(body string, line int) {
	seen := map[string]bool{}
	scanBody(body, line, func(ref reference) {
		if name := mentionedSkill(ref); name != "" && !seen["skill "+name] {
			seen["skill "+name] = true
			r.mentioned = append(r.mentioned, mention{name, ref.at})
		}
		if ref.code {
			r.codeReference(ref, seen)
			return
		}
		if target := localPath(ref.target); target != "" && !seen[target] {
			seen[target] = true
			r.linkReference(target, ref.at)
		}
	})
}

// mention is a skill that the body may mean.
type mention struct {
	name string
	at   Position
}

// linkReference notes a link that leads nowhere or outside.
func (r *skillChecker) linkReference(target string, at Position) {
	clean := path.Clean(target)
	switch {
	case path.IsAbs(target) || strings.HasPrefix(target, "~"):
		r.note(diag.ReferenceEscapes, at, "the link to `%s` is absolute, so it leads out of the skill", target)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		r.note(diag.ReferenceEscapes, at, "the link to `%s` leads out of the skill; it breaks when the skill is installed alone", target)
	case !r.exists(clean):
		r.note(diag.ReferenceMissing, at, "the link to `%s` leads to nothing", target)
	}
}

// bundledDirs are the directories that the specification names for resources.
var bundledDirs = []string{"scripts/", "references/", "assets/"}

// codeReference notes an inline `scripts/x.py` that is not there: agents run
// what such a span names.
func (r *skillChecker) codeReference(ref reference, seen map[string]bool) {
	target := strings.TrimPrefix(ref.target, "./")
	if seen[target] || path.Ext(target) == "" || strings.ContainsAny(target, " \t") || path.Clean(target) != target || localPath(target) != target {
		return
	}
	for _, dir := range bundledDirs {
		if !strings.HasPrefix(target, dir) {
			continue
		}
		seen[target] = true
		if r.tree.known[strings.TrimSuffix(dir, "/")] && !r.exists(target) {
			r.note(diag.ReferenceMissing, ref.at, "`%s` is not in the skill", target)
		}
	}
}

// hiddenText notes characters that a reviewer does not see. Joiners are left
// alone between characters beyond ASCII, where scripts and emoji need them.
func (r *skillChecker) hiddenText(data []byte) {
	count, first, at := 0, rune(0), len(data)
	for _, lead := range hiddenLeads {
		for i := bytes.IndexByte(data, lead); i >= 0; {
			c, n := utf8.DecodeRune(data[i:])
			before, _ := utf8.DecodeLastRune(data[:i])
			if isHidden(c) && i > 0 && !joins(before, c, data[i+n:]) {
				if count++; i < at {
					first, at = c, i
				}
			}
			next := bytes.IndexByte(data[i+n:], lead)
			if next < 0 {
				break
			}
			i += n + next
		}
	}
	if count == 0 {
		return
	}
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	pos := Position{1 + bytes.Count(data[:at], []byte("\n")), 1 + utf8.RuneCount(data[start:at])}
	what := fmt.Sprintf("a hidden character, U+%04X", first)
	if count > 1 {
		what = fmt.Sprintf("%d hidden characters, the first U+%04X", count, first)
	}
	r.note(diag.HiddenUnicode, pos, "%s: a reviewer does not see what an agent reads", what)
}

// hiddenLeads are the first bytes that the characters of isHidden have in UTF-8.
// Most files hold few of them, and looking for a byte is what machines do best.
var hiddenLeads = [...]byte{0xd8, 0xe1, 0xe2, 0xef, 0xf3}

// isHidden lists zero-width characters, bidirectional controls (Unicode TR 36)
// and the tag characters that can carry a whole hidden text.
func isHidden(c rune) bool {
	switch {
	case c >= 0x200b && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x2060 && c <= 0x2069, c == 0xfeff, c == 0x061c, c == 0x180e:
		return true
	case c >= 0xe0000 && c <= 0xe007f, c >= 0xe0100 && c <= 0xe01ef:
		return true
	}
	return false
}

// joins reports whether c does its proper work: a joiner between letters beyond
// ASCII, a tag in a flag.
func joins(before, c rune, rest []byte) bool {
	switch {
	case c == 0x200c || c == 0x200d:
		next, _ := utf8.DecodeRune(rest)
		return before >= utf8.RuneSelf && next >= utf8.RuneSelf
	case c >= 0xe0020 && c <= 0xe007f:
		return before == 0x1f3f4 || before >= 0xe0020 && before <= 0xe007f
	case c == 0x200e || c == 0x200f: // direction marks beside right-to-left text
		next, _ := utf8.DecodeRune(rest)
		return isRTL(before) || isRTL(next)
	}
	return false
}

func isRTL(c rune) bool { return c >= 0x0590 && c <= 0x08ff }
