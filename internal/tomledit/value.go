package tomledit

import (
	"sort"
	"unicode/utf8"
)

// Kind is a value's type.
type Kind uint8

// The kinds. Inline tables, tables below a header and tables that dotted keys
// make are all of kind Table; elements of an array of tables too.
const (
	KindString Kind = iota + 1
	KindInteger
	KindFloat
	KindBool
	KindTime // any of TOML's dates and times
	KindArray
	KindTable
)

// String returns the kind with its article, as messages need it.
func (k Kind) String() string {
	return [...]string{"nothing", "a string", "an integer", "a float", "a boolean", "a date or time", "an array", "a table"}[k]
}

// Value is a value as the file means it, with the place it was read from. Only
// the edits of its Document change it.
type Value struct {
	Kind Kind
	// Text is what a string says, or another scalar as it is written.
	Text string
	// Start and End are byte offsets in the file that was parsed. A table that
	// headers or dotted keys make begins where its name first stands, an element
	// of an array of tables where its header's name does; they have no End, nor
	// has a value that an edit made.
	Start, End int
	// Items are the elements of an array or of an array of tables.
	Items []*Value
	// Fields are those of a table, in the order they are first named. An edit
	// that removes one leaves it here; Field, Get and Len know better.
	Fields []*Field

	byName map[string]*Field
	defs   []*entry // what defines the value or something in it; may hold entries that are gone
	header *entry   // the [table] or [[table]] that opens it
	dotted []dot    // dotted keys of an outer table that name something in it
	body   *body    // of an array or table that is written in one value
	raw    string   // of a scalar: its bytes
}

// Field is a key of a table.
type Field struct {
	Name string
	// At is the offset where the key, or the part of a dotted key, first stands.
	At    int
	Value *Value
}

// dot is a dotted key whose first depth parts lead to a table.
type dot struct {
	e     *entry
	depth int
}

// Field returns the field of a table, nil if it has none of that name.
func (v *Value) Field(name string) *Field { return v.byName[name] }

// Get returns the value that a path of keys leads to, nil if there is none.
func (v *Value) Get(path ...string) *Value {
	for _, name := range path {
		f := v.byName[name]
		if f == nil {
			return nil
		}
		v = f.Value
	}
	return v
}

// Len returns the number of elements of an array or of fields of a table.
func (v *Value) Len() int {
	if v.Kind == KindArray {
		return len(v.Items)
	}
	return len(v.byName)
}

// Inline reports whether a table or array is written as one value, in braces or
// brackets.
func (v *Value) Inline() bool { return v.body != nil }

func (v *Value) addField(f *Field) {
	if v.byName == nil {
		v.byName = map[string]*Field{}
	}
	v.byName[f.Name] = f
	v.Fields = append(v.Fields, f)
}

// equal reports whether two values mean the same, whatever the order of fields.
func (v *Value) equal(o *Value) bool {
	if v.Kind != o.Kind || v.Text != o.Text || len(v.Items) != len(o.Items) || len(v.byName) != len(o.byName) {
		return false
	}
	for i := range v.Items {
		if !v.Items[i].equal(o.Items[i]) {
			return false
		}
	}
	for name, f := range v.byName {
		if g := o.byName[name]; g == nil || !f.Value.equal(g.Value) {
			return false
		}
	}
	return true
}

// Place is a line and a column, both from 1; columns count code points.
type Place struct{ Line, Column int }

// Place returns where an offset of the parsed file lies. A byte order mark takes
// no column. It costs a search over the lines, not a pass over the file.
func (d *Document) Place(offset int) Place {
	offset = max(0, min(offset, len(d.data)))
	line := sort.SearchInts(d.lines, offset+1)
	start := d.lines[line-1]
	if line == 1 && d.mark {
		start = min(len(bom), offset)
	}
	return Place{line, utf8.RuneCount(d.data[start:offset]) + 1}
}

// lineStarts returns the offset of every line.
func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}
