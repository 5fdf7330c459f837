package parse

import (
	"net/url"
	"strings"
)

// reference is a place in the body that names a file or a skill.
type reference struct {
	target string // as written, without fragment
	at     Position
	code   bool // an inline code span, not a link
}

// scanBody calls visit for the links and the inline code spans of Markdown text,
// outside fenced code and comments. line is the line of its first byte. It is
// not a Markdown parser: it finds what a reader would follow.
func scanBody(text string, line int, visit func(reference)) {
	fence := ""
	comment := false
	for ; text != ""; line++ {
		l := text
		if n := strings.IndexByte(text, '\n'); n >= 0 {
			l, text = text[:n], text[n+1:]
		} else {
			text = ""
		}
		if fence != "" {
			if closesFence(l, fence) {
				fence = ""
			}
			continue
		}
		if comment {
			comment = !strings.Contains(l, "-->")
			continue
		}
		if !hasMark(l) {
			continue
		}
		l = strings.TrimRight(l, "\r")
		if fence = fenceMark(l); fence != "" {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(l), "<!--") {
			comment = !strings.Contains(l, "-->")
			continue
		}
		scanLine(l, line, visit)
	}
}

// hasMark reports whether a line can hold anything that scanBody looks for; most
// lines do not.
func hasMark(l string) bool {
	return strings.IndexByte(l, '`') >= 0 || strings.IndexByte(l, ']') >= 0 ||
		strings.IndexByte(l, '~') >= 0 || strings.Contains(l, "<!--")
}

// fenceMark returns the run of ` or ~ that opens a code block, or "".
func fenceMark(l string) string {
	l = strings.TrimLeft(l, " \t>-*0123456789.")
	for _, c := range []string{"`", "~"} {
		if n := len(l) - len(strings.TrimLeft(l, c)); n >= 3 && !strings.Contains(l[n:], "`") {
			return l[:n]
		}
	}
	return ""
}

func closesFence(l, fence string) bool {
	if strings.IndexByte(l, fence[0]) < 0 {
		return false
	}
	l = strings.TrimSpace(strings.TrimLeft(l, " \t>"))
	return len(l) >= len(fence) && strings.Trim(l, fence[:1]) == ""
}

// scanLine visits the references of one line.
func scanLine(l string, line int, visit func(reference)) {
	if target, ok := linkDefinition(l); ok {
		visit(reference{target: target, at: Position{line, 1}})
		return
	}
	for i := 0; i < len(l); {
		switch c := l[i]; {
		case c != '\\' && c != '`' && c != ']':
			i++
		case c == '\\':
			i += 2
		case c == '`':
			n := len(l[i:]) - len(strings.TrimLeft(l[i:], "`"))
			end := strings.Index(l[i+n:], l[i:i+n])
			if end < 0 {
				i += n
				continue
			}
			span := strings.TrimSpace(l[i+n : i+n+end])
			visit(reference{target: span, at: columnAt(l, i+n, line), code: true})
			i += n + end + n
		case strings.HasPrefix(l[i:], "]("):
			target, length := linkTarget(l[i+2:])
			if target != "" {
				visit(reference{target: target, at: columnAt(l, i+2, line)})
			}
			i += 2 + length
		default:
			i++
		}
	}
}

func columnAt(l string, offset, line int) Position {
	return Position{line, 1 + runeCount(l[:offset])}
}

// linkDefinition reads "[label]: target".
func linkDefinition(l string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "[")
	if !ok || strings.HasPrefix(rest, "^") {
		return "", false
	}
	_, target, ok := strings.Cut(rest, "]: ")
	fields := strings.Fields(target)
	if !ok || len(fields) == 0 || len(fields) > 1 && !strings.ContainsAny(fields[1][:1], `"'(`) {
		return "", false
	}
	return strings.Trim(fields[0], "<>"), true
}

// linkTarget reads what follows "](": up to the closing parenthesis, a title
// left out. It returns "" for what is no link.
func linkTarget(s string) (target string, length int) {
	if strings.HasPrefix(s, "<") {
		if end := strings.IndexByte(s, '>'); end > 0 {
			return s[1:end], end + 1
		}
		return "", 1
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				target, _, _ = strings.Cut(s[:i], ` "`)
				target, _, _ = strings.Cut(target, ` '`)
				return strings.TrimSpace(target), i + 1
			}
			depth--
		}
	}
	return "", len(s)
}

// localPath turns a link's target into a path, or "" for what names no file of
// the package: an address, a fragment, a template.
func localPath(target string) string {
	if i := strings.IndexAny(target, "#?"); i >= 0 {
		target = target[:i]
	}
	if target == "" || hasScheme(target) || strings.HasPrefix(target, "//") ||
		strings.ContainsAny(target, "{}<>$*|\"`^[]()@,;=") || strings.Contains(target, "...") || strings.Contains(target, "…") {
		return ""
	}
	if decoded, err := url.PathUnescape(target); err == nil {
		target = decoded
	}
	if strings.ContainsFunc(target, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return ""
	}
	return strings.ReplaceAll(target, `\`, "/")
}

// hasScheme reports whether s begins like "https:" or "mailto:".
func hasScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ':':
			return i > 0
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '.' || c == '-':
		default:
			return false
		}
	}
	return false
}
