package manifest

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// go-toml's decoder stops at the first wrong type and keeps no places, so the
// file is read with its tokenizer into statements that know their bytes. Reading
// and editing share them.

// kind is a value's type as people call it.
type kind string

const (
	kindString kind = "a string"
	kindInt    kind = "an integer"
	kindFloat  kind = "a float"
	kindBool   kind = "a boolean"
	kindTime   kind = "a date or time"
	kindArray  kind = "an array"
	kindTable  kind = "a table"
)

// part is one element of a dotted key.
type part struct {
	name       string
	start, end int
}

// value is a value with the bytes it was read from.
type value struct {
	kind       kind
	text       string // a string's value, the raw text of other scalars
	start, end int    // end is 0 for a table built from headers
	items      []*value
	fields     []*field // of a table, in the order they were first named
	byName     map[string]*field
}

type field struct {
	name string
	at   int
	val  *value
}

func (v *value) field(name string) *field { return v.byName[name] }

// add appends a field whose name is new.
func (v *value) add(f *field) {
	if v.byName == nil {
		v.byName = map[string]*field{}
	}
	v.byName[f.name] = f
	v.fields = append(v.fields, f)
}

// statement is a table header or a key with its value.
type statement struct {
	header, array bool
	table         []part // of a key: the header it stands under
	keys          []part // as written here, may be dotted
	start, end    int    // from the key or bracket to the value's or bracket's end
	val           *value
}

// path returns the names from the root to what the statement defines.
func (s *statement) path() []string {
	var names []string
	for _, p := range s.table {
		names = append(names, p.name)
	}
	for _, p := range s.keys {
		names = append(names, p.name)
	}
	return names
}

// syntaxFault is TOML that cannot be read.
type syntaxFault struct {
	at      int
	message string
}

var bom = []byte("\ufeff")

// scan reads the statements of data up to the first syntax fault. A byte order
// mark is skipped; offsets count it.
func scan(data []byte) ([]statement, *syntaxFault) {
	if at := invalidUTF8(data); at >= 0 {
		return nil, &syntaxFault{at, "bytes that are not UTF-8"}
	}
	text := bytes.TrimPrefix(data, bom)
	s := &scanner{data: data, shift: len(data) - len(text)}
	s.parser.Reset(text)
	for s.parser.NextExpression() {
		s.expression(s.parser.Expression())
	}
	if err := s.parser.Error(); err != nil {
		return s.list, s.fault(err)
	}
	return s.list, nil
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
	parser unstable.Parser
	data   []byte
	shift  int // bytes of the byte order mark
	table  []part
	list   []statement
}

func (s *scanner) fault(err error) *syntaxFault {
	f := &syntaxFault{at: len(s.data), message: err.Error()}
	if e, ok := errors.AsType[*unstable.ParserError](err); ok {
		f.message = e.Message
		if len(e.Highlight) > 0 {
			f.at = int(s.parser.Range(e.Highlight).Offset) + s.shift
		}
	}
	return f
}

func (s *scanner) expression(n *unstable.Node) {
	if n.Kind == unstable.KeyValue {
		s.list = append(s.list, s.keyValue(n, s.table))
		return
	}
	st := statement{header: true, array: n.Kind == unstable.ArrayTable, keys: s.keys(n.Key())}
	st.start = bytes.LastIndexByte(s.data[:st.keys[0].start], '[')
	st.end = st.keys[len(st.keys)-1].end
	st.end += bytes.IndexByte(s.data[st.end:], ']') + 1
	if st.array {
		st.start--
		st.end++
	}
	s.table = st.keys
	s.list = append(s.list, st)
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

func (s *scanner) keyValue(n *unstable.Node, table []part) statement {
	st := statement{table: table, keys: s.keys(n.Key())}
	st.start = int(n.Raw.Offset) + s.shift
	st.end = st.start + int(n.Raw.Length)
	st.val = s.value(n.Value())
	// Arrays have no range of their own: they reach from after the equals sign to
	// the statement's end.
	at := st.keys[len(st.keys)-1].end
	at += bytes.IndexByte(s.data[at:], '=') + 1
	for s.data[at] == ' ' || s.data[at] == '\t' {
		at++
	}
	st.val.start, st.val.end = at, st.end
	return st
}

func (s *scanner) value(n *unstable.Node) *value {
	v := &value{text: string(n.Data), start: int(n.Raw.Offset) + s.shift}
	v.end = v.start + int(n.Raw.Length)
	switch n.Kind {
	case unstable.String:
		v.kind = kindString
	case unstable.Integer:
		v.kind = kindInt
	case unstable.Float:
		v.kind = kindFloat
	case unstable.Bool:
		v.kind = kindBool
	case unstable.Array:
		v.kind = kindArray
		for it := n.Children(); it.Next(); {
			v.items = append(v.items, s.value(it.Node()))
		}
	case unstable.InlineTable:
		v.kind = kindTable
		for it := n.Children(); it.Next(); {
			st := s.keyValue(it.Node(), nil)
			insert(v, &st)
		}
	default:
		v.kind = kindTime
	}
	return v
}

// insert puts a statement's value at its place below root. It is lenient about
// names defined twice; checkTOML refuses those.
func insert(root *value, st *statement) {
	at := root
	parts := append(append([]part{}, st.table...), st.keys...)
	for i, p := range parts {
		f := at.field(p.name)
		last := i == len(parts)-1
		if f == nil {
			f = &field{name: p.name, at: p.start, val: &value{kind: kindTable, start: p.start}}
			at.add(f)
			if last && st.array {
				f.val.kind = kindArray
			}
		}
		switch {
		case last && st.array:
			f.val.items = append(f.val.items, &value{kind: kindTable, start: p.start})
			return
		case last && !st.header:
			f.val = st.val
			return
		case f.val.kind == kindArray && len(f.val.items) > 0: // below [[x]]: its last element
			at = f.val.items[len(f.val.items)-1]
		default:
			at = f.val
		}
	}
}

func tree(list []statement) *value {
	root := &value{kind: kindTable}
	for i := range list {
		insert(root, &list[i])
	}
	return root
}

// checkTOML asks the full decoder about what the tokenizer does not check, such
// as a key defined twice.
func checkTOML(data []byte) *syntaxFault {
	text := bytes.TrimPrefix(data, bom)
	var whole map[string]any
	err := toml.Unmarshal(text, &whole)
	if err == nil {
		return nil
	}
	f := &syntaxFault{message: err.Error()}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := e.Position()
		f.at = len(data) - len(text) + offsetOf(text, row, column)
	}
	return f
}

func offsetOf(text []byte, row, column int) int {
	at := 0
	for ; row > 1; row-- {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return min(at+max(column-1, 0), len(text))
}

// place returns line and column of an offset, from 1, columns in code points.
// A byte order mark takes no column.
func place(data []byte, at int) (line, column int) {
	at = min(at, len(data))
	before := data[:at]
	line = bytes.Count(before, []byte("\n")) + 1
	start := bytes.LastIndexByte(before, '\n') + 1
	return line, utf8.RuneCount(bytes.TrimPrefix(before[start:], bom)) + 1
}
