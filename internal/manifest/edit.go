package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// editor replaces byte ranges of a manifest. Every edit finds its place in the
// statements, splices, and reads the result again, so that several edits in a
// row need no bookkeeping and a wrong splice cannot go unseen.
type editor struct {
	data []byte
	list []statement
	eol  string
}

func newEditor(data []byte) (*editor, error) {
	e := &editor{data: data, eol: "\n"}
	if bytes.Contains(data, []byte("\r\n")) {
		e.eol = "\r\n"
	}
	return e, e.scan()
}

func (e *editor) scan() error {
	list, fault := scan(e.data)
	if fault == nil {
		fault = checkTOML(e.data)
	}
	if fault != nil {
		line, column := place(e.data, fault.at)
		return diag.New(diag.ManifestInvalid, "%s", diag.Escape(fault.message)).At(FileName, line, column)
	}
	e.list = list
	return nil
}

func (e *editor) splice(start, end int, text string) error {
	e.data = slices.Concat(e.data[:start], []byte(text), e.data[end:])
	return e.scan()
}

// find returns the statement that defines exactly the path, or nil.
func (e *editor) find(path ...string) *statement {
	for i := range e.list {
		if slices.Equal(e.list[i].path(), path) {
			return &e.list[i]
		}
	}
	return nil
}

// under returns the statements that define something below the path.
func (e *editor) under(path ...string) []*statement {
	var list []*statement
	for i := range e.list {
		if p := e.list[i].path(); len(p) > len(path) && slices.Equal(p[:len(path)], path) {
			list = append(list, &e.list[i])
		}
	}
	return list
}

// lineEnd returns the offset after the line end that follows at.
func (e *editor) lineEnd(at int) int {
	if i := bytes.IndexByte(e.data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(e.data)
}

// lineStart returns the offset of the first byte of the line that at is in.
func (e *editor) lineStart(at int) int {
	start := bytes.LastIndexByte(e.data[:at], '\n') + 1
	if start == 0 && bytes.HasPrefix(e.data, bom) {
		return len(bom)
	}
	return start
}

// insertAfter puts a line after the line that ends a statement.
func (e *editor) insertAfter(at int, line string) error {
	end := e.lineEnd(at)
	if end > 0 && end == len(e.data) && e.data[end-1] != '\n' {
		return e.splice(end, end, e.eol+line)
	}
	return e.splice(end, end, line+e.eol)
}

// set gives the value at path the TOML text, changing it where it stands or
// adding it to its table.
func (e *editor) set(text string, path ...string) error {
	if st := e.find(path...); st != nil && !st.header {
		return e.splice(st.val.start, st.val.end, text)
	}
	table, name := path[:len(path)-1], path[len(path)-1]
	if st := e.inlineAt(table); st != nil {
		return e.setInline(st.val, name, text)
	}
	return e.add(table, name, text)
}

// inlineAt returns the statement whose value is an inline table at the path.
func (e *editor) inlineAt(path []string) *statement {
	if st := e.find(path...); st != nil && !st.header && st.val.kind == kindTable {
		return st
	}
	return nil
}

// add writes a new key into the table at path, which has none of that name.
func (e *editor) add(table []string, name, text string) error {
	line := quoteKey(name) + " = " + text
	if header := e.find(table...); header != nil && header.header {
		return e.insertAfter(e.lastOf(header), line)
	}
	// Dotted keys (skills.pdf = …) define a table that no header may reopen.
	if dotted := e.dotted(table); dotted != nil {
		prefix := string(e.data[dotted.start:dotted.keys[len(table)-len(dotted.table)].start])
		return e.insertAfter(dotted.end, prefix+line)
	}
	header := "[" + quotePath(table) + "]"
	// A header before its sub-tables is what a person expects to read.
	for _, st := range e.under(table...) {
		if st.header {
			at := e.aboveComments(st.start)
			return e.splice(at, at, header+e.eol+line+e.eol+e.eol)
		}
	}
	return e.append(header + e.eol + line + e.eol)
}

// lastOf returns the end of the last statement of the table that header opens.
func (e *editor) lastOf(header *statement) int {
	end, inside := header.end, false
	for i := range e.list {
		st := &e.list[i]
		switch {
		case st == header:
			inside = true
		case st.header:
			inside = false
		case inside:
			end = st.end
		}
	}
	return end
}

// dotted returns the last statement that defines table itself by a dotted key
// of something in it, or nil.
func (e *editor) dotted(table []string) *statement {
	var last *statement
	for _, st := range e.under(table...) {
		if !st.header && len(st.table) < len(table) {
			last = st
		}
	}
	return last
}

// aboveComments returns the start of the comment lines right above the line
// that at is in, or of that line.
func (e *editor) aboveComments(at int) int {
	start := e.lineStart(at)
	for start > 0 {
		above := e.lineStart(start - 1)
		if above >= start || !bytes.HasPrefix(bytes.TrimLeft(e.data[above:start], " \t"), []byte("#")) {
			break
		}
		start = above
	}
	return start
}

// append adds a block at the end of the file, a blank line before it.
func (e *editor) append(block string) error {
	text := ""
	switch tail := bytes.TrimPrefix(e.data, bom); {
	case len(tail) == 0 || bytes.HasSuffix(tail, []byte("\n\n")) || bytes.HasSuffix(tail, []byte("\n\r\n")):
	case tail[len(tail)-1] == '\n':
		text = e.eol
	default:
		text = e.eol + e.eol
	}
	return e.splice(len(e.data), len(e.data), text+block)
}

// setInline sets a field of an inline table.
func (e *editor) setInline(t *value, name, text string) error {
	if f := t.field(name); f != nil {
		return e.splice(f.val.start, f.val.end, text)
	}
	line := quoteKey(name) + " = " + text
	if len(t.fields) == 0 {
		return e.splice(t.start, t.end, "{ "+line+" }")
	}
	last := t.fields[len(t.fields)-1].val.end
	return e.splice(last, last, ", "+line)
}

// removeInline removes a field of an inline table with one comma beside it.
func (e *editor) removeInline(t *value, name string) error {
	i := slices.IndexFunc(t.fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	start, end := t.fields[i].at, t.fields[i].val.end
	switch {
	case i+1 < len(t.fields):
		end = t.fields[i+1].at
	case i > 0:
		start = t.fields[i-1].val.end
	default:
		return e.splice(t.start, t.end, "{}")
	}
	return e.splice(start, end, "")
}

// removeLines deletes the whole lines of a statement, its comment behind it
// included; comments above it stay.
func (e *editor) removeLines(st *statement) error {
	return e.splice(e.lineStart(st.start), e.lineEnd(st.end), "")
}

// quoteKey returns name as a bare key if it may be one, else in quotes.
func quoteKey(name string) string {
	bare := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	if bare {
		return name
	}
	return quote(name)
}

func quotePath(path []string) string {
	quoted := make([]string, len(path))
	for i, p := range path {
		quoted[i] = quoteKey(p)
	}
	return strings.Join(quoted, ".")
}

// quote returns s as a basic string (toml.io, section String).
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
