package tomledit

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// go-toml's decoder keeps no places and nothing of the text, so the file is read
// with its tokenizer into entries that hold every byte. The decoder then judges
// what a tokenizer cannot, such as a key that is defined twice.

const bom = "\ufeff"

// Document is a parsed file.
type Document struct {
	data  []byte
	lines []int // offsets of the lines
	mark  bool  // the file begins with a byte order mark
	eol   string
	root  *Value
	top   *entry // stands before the first statement, and acts as the root's header
	end   *entry // the last statement, or top
	tail  string // text after the last statement
	fault *SyntaxError
	edits int // counts edits, to tell what one of them removed
}

// entry is a statement (a header, or a key with its value), an element of an
// array, or a key with its value in an inline table, with the text around it.
type entry struct {
	lead   string // a statement: the lines above it; an element: the text before it
	indent string // a statement: the space before it
	head   string // of a header its brackets; else the key, up to the value
	keys   []part
	val    *Value // nil of a header
	trail  string // a statement: the rest of its line; an element: up to its comma

	prev, next    *entry // statements
	header, array bool
	table         *Value // of a header: what it opens
	section       *entry // the header it stands below
	last          *entry // of a header: the last entry of its section

	in    *body  // of an element
	comma bool   // whether a comma follows
	tail  string // an element: the rest of its line behind the comma

	gone   int  // the edit that removed it; 0 if it is there
	within bool // it went with its table, and all its comments with it
	below  bool // comments directly below went with it
}

type part struct {
	name       string
	start, end int
}

// body is an array or inline table as it is written.
type body struct {
	owner       *Value
	open, close string
	head        string // the rest of the line that the bracket opens
	elems       []*entry
	foot        string // before the closing bracket
	trailing    bool   // the last element has a comma
}

// SyntaxError is text that is not TOML.
type SyntaxError struct {
	// Offset is where, in bytes; Place the same for people.
	Offset int
	Place
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

// Parse reads a file. The error is a *SyntaxError; the document beside it then
// holds what stands before the fault, for further findings, and must not be
// edited. Data is kept and must not change.
func Parse(data []byte) (*Document, error) {
	d, err := scan(data)
	if err == nil {
		err = d.fault
	}
	if err != nil {
		err.Place = d.Place(err.Offset)
		return d, err
	}
	return d, nil
}

// scan reads the statements up to the first syntax fault.
func scan(data []byte) (*Document, *SyntaxError) {
	d := &Document{data: data, lines: lineStarts(data), root: &Value{Kind: KindTable}, top: &entry{}, eol: "\n"}
	d.root.header, d.top.table = d.top, d.root
	d.top.last, d.end = d.top, d.top
	if at := invalidUTF8(data); at >= 0 {
		return d, &SyntaxError{Offset: at, Message: "bytes that are not UTF-8"}
	}
	text := bytes.TrimPrefix(data, []byte(bom))
	d.mark = len(text) < len(data)
	if at := bytes.IndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		d.eol = "\r\n"
	}
	s := &scanner{d: d, text: string(data), at: len(data) - len(text), section: d.top}
	s.shift = s.at
	s.parser.Reset(text)
	for s.parser.NextExpression() {
		s.statement(s.parser.Expression())
	}
	d.tail = s.text[s.at:]
	if err := s.parser.Error(); err != nil {
		return d, s.fault(err)
	}
	return d, nil
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

type scanner struct {
	parser  unstable.Parser
	d       *Document
	text    string
	shift   int // bytes of the byte order mark
	at      int // everything before it is in an entry
	section *entry
}

func (s *scanner) fault(err error) *SyntaxError {
	f := &SyntaxError{Offset: len(s.text), Message: err.Error()}
	if e, ok := errors.AsType[*unstable.ParserError](err); ok {
		f.Message = e.Message
		if len(e.Highlight) > 0 {
			f.Offset = int(s.parser.Range(e.Highlight).Offset) + s.shift
		}
	}
	return f
}

func (s *scanner) statement(n *unstable.Node) {
	e := &entry{keys: s.keys(n.Key())}
	start, end := e.keys[0].start, 0
	if n.Kind == unstable.KeyValue {
		e.val = s.keyValue(e, n)
		end = e.val.End
	} else {
		e.header, e.array = true, n.Kind == unstable.ArrayTable
		start = strings.LastIndexByte(s.text[:start], '[')
		end = e.keys[len(e.keys)-1].end
		end += strings.IndexByte(s.text[end:], ']') + 1
		if e.array {
			start, end = start-1, end+1
		}
		e.head = s.text[start:end]
	}
	e.lead, e.indent = s.text[s.at:start], ""
	if i := strings.LastIndexByte(e.lead, '\n') + 1; i < len(e.lead) {
		e.lead, e.indent = e.lead[:i], e.lead[i:]
	}
	s.at = s.lineEnd(end)
	e.trail = s.text[end:s.at]
	s.d.link(s.d.end, e)
	if e.header {
		s.section = e
		s.define(s.d.root, e)
	} else {
		s.define(s.section.table, e)
	}
}

// define checks what an entry defines, and puts it at its place.
func (s *scanner) define(at *Value, e *entry) {
	if s.d.fault == nil {
		s.d.fault = conflict(at, e)
	}
	define(at, e)
}

// lineEnd returns the offset after the line end that follows at.
func (s *scanner) lineEnd(at int) int {
	if i := strings.IndexByte(s.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(s.text)
}

func (s *scanner) keys(it unstable.Iterator) []part {
	var keys []part
	for it.Next() {
		n := it.Node()
		start := int(n.Raw.Offset) + s.shift
		keys = append(keys, part{string(n.Data), start, start + int(n.Raw.Length)})
	}
	return keys
}

// keyValue reads the value of a key whose parts e holds, and e's head.
func (s *scanner) keyValue(e *entry, n *unstable.Node) *Value {
	at := e.keys[len(e.keys)-1].end
	at += strings.IndexByte(s.text[at:], '=') + 1
	at += len(s.text[at:]) - len(strings.TrimLeft(s.text[at:], " \t"))
	e.head = s.text[e.keys[0].start:at]
	return s.value(n.Value(), at)
}

// value reads a value that begins at an offset: the tokenizer knows the range of
// scalars alone.
func (s *scanner) value(n *unstable.Node, at int) *Value {
	v := &Value{Start: at, End: at + int(n.Raw.Length), Text: string(n.Data)}
	switch n.Kind {
	case unstable.String:
		v.Kind = KindString
	case unstable.Integer:
		v.Kind = KindInteger
	case unstable.Float:
		v.Kind = KindFloat
	case unstable.Bool:
		v.Kind = KindBool
	case unstable.Array, unstable.InlineTable:
		s.body(v, n)
		return v
	default:
		v.Kind = KindTime
	}
	v.raw = s.text[v.Start:v.End]
	if s.d.fault == nil && v.Kind != KindString && v.Kind != KindBool {
		s.d.fault = v.check()
	}
	return v
}

// body reads the elements of an array or inline table.
func (s *scanner) body(v *Value, n *unstable.Node) {
	v.Kind, v.Text = KindArray, ""
	b := &body{owner: v, open: "[", close: "]"}
	if n.Kind == unstable.InlineTable {
		v.Kind, b.open, b.close = KindTable, "{", "}"
	}
	v.body = b
	at := v.Start + 1
	b.head, at = s.restOfLine(at)
	for it := n.Children(); it.Next(); {
		e := &entry{in: b}
		start := s.skip(at)
		e.lead = s.text[at:start]
		if v.Kind == KindTable {
			e.keys = s.keys(it.Node().Key())
			e.val = s.keyValue(e, it.Node())
			s.define(v, e)
		} else {
			e.val = s.value(it.Node(), start)
			e.val.defs = []*entry{e}
			v.Items = append(v.Items, e.val)
		}
		at = e.val.End
		if comma := s.skip(at); s.text[comma] == ',' {
			e.trail, e.comma, at = s.text[at:comma], true, comma+1
		}
		e.tail, at = s.restOfLine(at)
		b.elems = append(b.elems, e)
		b.trailing = e.comma
	}
	end := s.skip(at)
	b.foot = s.text[at:end]
	v.End = end + 1
}

// skip returns the offset of the first byte from at on that is neither space nor
// in a comment.
func (s *scanner) skip(at int) int {
	for at < len(s.text) {
		switch s.text[at] {
		case ' ', '\t', '\r', '\n':
			at++
		case '#':
			at = s.lineEnd(at)
		default:
			return at
		}
	}
	return at
}

// restOfLine returns the text up to the line's end if it holds no more than
// space and a comment, and the offset after it.
func (s *scanner) restOfLine(at int) (string, int) {
	i := at
	for i < len(s.text) && strings.IndexByte(" \t\r", s.text[i]) >= 0 {
		i++
	}
	if i < len(s.text) && (s.text[i] == '#' || s.text[i] == '\n') {
		end := s.lineEnd(i)
		return s.text[at:end], end
	}
	return "", at
}

// define puts what an entry defines at its place below a table. It is lenient
// about names defined twice; conflict finds those.
func define(at *Value, e *entry) {
	for i, p := range e.keys {
		f := at.Field(p.name)
		if f == nil {
			f = &Field{Name: p.name, At: p.start, Value: &Value{Kind: KindTable, Start: p.start}}
			at.addField(f)
		}
		v := f.Value
		if i == len(e.keys)-1 {
			defineLast(f, e, p)
			return
		}
		v.defs = append(v.defs, e)
		if v.Kind == KindArray && len(v.Items) > 0 { // below [[x]]: its last element
			v = v.Items[len(v.Items)-1]
			v.defs = append(v.defs, e)
		}
		if !e.header {
			v.dotted = append(v.dotted, dot{e, i + 1})
		}
		at = v
	}
}

func defineLast(f *Field, e *entry, p part) {
	v := f.Value
	switch {
	case e.array:
		if len(v.defs) == 0 {
			v.Kind = KindArray
		}
		e.table = &Value{Kind: KindTable, Start: e.keys[0].start, header: e, defs: []*entry{e}}
		v.Items = append(v.Items, e.table)
		v.defs = append(v.defs, e)
	case e.header:
		v.defs = append(v.defs, e)
		v.header, e.table = e, v
	default:
		f.Value = e.val
		e.val.defs = []*entry{e}
	}
}

// link puts a statement after another and into its section.
func (d *Document) link(prev, e *entry) {
	e.prev, e.next = prev, prev.next
	prev.next = e
	if e.next != nil {
		e.next.prev = e
	} else {
		d.end = e
	}
	if e.header {
		e.section, e.last = e, e
		return
	}
	e.section = prev.section
	if prev == d.top || prev.header {
		e.section = prev
	}
	if e.section.last == prev {
		e.section.last = e
	}
}

// Root returns the file's tables and keys as one table.
func (d *Document) Root() *Value { return d.root }

// Bytes returns the text that was parsed, without later edits.
func (d *Document) Bytes() []byte { return d.data }

// Section returns data with everything blanked that a top-level table does not
// hold, line ends kept, so that places in it are places in the file; nil if there
// is no such table or what stands before it is not TOML. Keys that are
// defined twice are left to whoever parses the section.
func Section(data []byte, table string) []byte {
	d, fault := scan(data)
	if fault != nil || d.root.Field(table) == nil {
		return nil
	}
	out := bytes.Repeat([]byte{' '}, len(data))
	for i, c := range data {
		if c == '\n' || c == '\r' {
			out[i] = c
		}
	}
	at, inside := 0, false
	if d.mark {
		at = len(bom)
	}
	for e := d.top.next; e != nil; e = e.next {
		start := at + len(e.lead) + len(e.indent)
		end := start + len(e.head)
		if e.val != nil {
			end += e.val.End - e.val.Start
		}
		at = end + len(e.trail)
		if e.header {
			inside = e.keys[0].name == table
		}
		if inside || e.section == d.top && e.keys[0].name == table {
			copy(out[start:end], data[start:end])
		}
	}
	return out
}
