package parse

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// quotedValue is one plain value that quoteValues put in quotes.
type quotedValue struct {
	line, column int // of the value, in the frontmatter, from 1
	end          int // the last line that the value reaches
	key          string
	quoted       string
	why          string
}

// maxRepairDepth is how deep the search for a broken value descends: metadata's
// own entries and one level below them.
const maxRepairDepth = 3

// maxRepairs is how many values are looked for. A real frontmatter has one or
// two; beyond this the file is something else.
const maxRepairs = 64

// keyLine matches `key: value`, perhaps in a list. It is compiled when the first
// broken file is met: most runs meet none.
var keyLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^( *)((?:- +)?)([A-Za-z_][\w.$/-]*):(?:[ \t]+(.*?))?[ \t]*$`)
})

// quoteValues finds the entries of a broken frontmatter that are not YAML on
// their own and puts their plain values in single quotes. It keeps every line's
// number and never touches a block scalar or a value that already parses.
func quoteValues(front []byte) ([]byte, []quotedValue) {
	text := strings.ReplaceAll(string(front), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if len(lines) > maxFrontBytes/16 {
		return nil, nil
	}
	var done []quotedValue
	repairBlock(lines, 0, len(lines), 0, &done)
	if len(done) == 0 {
		return nil, nil
	}
	return []byte(strings.Join(lines, "\n")), done
}

// repairBlock repairs the entries among lines[from:to), in place.
func repairBlock(lines []string, from, to, depth int, done *[]quotedValue) {
	for at := from; at < to && len(*done) < maxRepairs; {
		m := keyLine().FindStringSubmatch(strings.TrimSuffix(lines[at], "\r"))
		if m == nil {
			at++
			continue
		}
		end := blockEnd(lines, at, to, len(m[1]))
		if !parses(lines[at:end]) {
			repairEntry(lines, at, end, depth, m, done)
		}
		at = end
	}
}

// blockEnd returns the end of the entry that begins at line at: the next line
// that is not indented deeper than the entry.
func blockEnd(lines []string, at, to, indent int) int {
	end := at + 1
	for end < to {
		text := strings.TrimRight(lines[end], " \t\r")
		deeper := len(text)-len(strings.TrimLeft(text, " \t")) > indent
		if text != "" && !deeper {
			break
		}
		end++
	}
	return end
}

func parses(lines []string) bool {
	_, err := load([]byte(strings.Join(lines, "\n") + "\n"))
	return err == nil
}

func repairEntry(lines []string, at, end, depth int, m []string, done *[]quotedValue) {
	value := strings.TrimSpace(m[4])
	if value == "" {
		if depth < maxRepairDepth {
			repairBlock(lines, at+1, end, depth+1, done)
		}
		return
	}
	if value[0] == '|' || value[0] == '>' || m[2] != "" {
		return
	}
	last := at
	for i := at + 1; i < end; i++ {
		if more := strings.TrimSpace(lines[i]); more != "" {
			if keyLine().MatchString(lines[i]) && depth == 0 && strings.HasPrefix(value, "{") {
				return // a broken flow mapping over several lines is no plain text
			}
			value += " " + more
			last = i
		}
	}
	prefix := m[1] + m[3] + ": "
	quoted := "'" + strings.ReplaceAll(value, "'", "''") + "'"
	kept := lines[at]
	lines[at] = prefix + quoted
	if !parses(lines[at : at+1]) {
		lines[at] = kept
		return
	}
	for i := at + 1; i <= last; i++ {
		lines[i] = ""
	}
	column := strings.Index(kept, ":") + 1
	column += len(kept[column:]) - len(strings.TrimLeft(kept[column:], " \t")) + 1
	*done = append(*done, quotedValue{line: at + 1, column: column, end: last + 1, key: m[3], quoted: quoted, why: whyNotPlain(value)})
}

// whyNotPlain names what in value ends a plain scalar (YAML 1.2.2, 7.3.3).
func whyNotPlain(value string) string {
	switch {
	case strings.ContainsAny(value[:1], "@`%"):
		return "it begins with " + value[:1]
	case strings.ContainsAny(value[:1], `"'`):
		return "text follows its closing quote, or the quote is not closed"
	case strings.ContainsAny(value[:1], "[{"):
		return "it begins with " + value[:1] + " and is no complete YAML collection"
	case strings.ContainsAny(value[:1], "&*!"):
		return "it begins with " + value[:1] + ", which YAML gives a meaning"
	case strings.Contains(value, ": ") || strings.HasSuffix(value, ":"):
		return "it holds a colon and a blank"
	}
	return "YAML reads it as something else"
}

// repair returns front made readable by quoting, or nil if quoting does not do it.
func repair(front []byte) ([]byte, []quotedValue) {
	fixed, values := quoteValues(front)
	if len(values) == 0 {
		return nil, nil
	}
	if _, err := load(fixed); err != nil {
		return nil, nil
	}
	if bytes.Equal(fixed, front) {
		return nil, nil
	}
	return fixed, values
}
