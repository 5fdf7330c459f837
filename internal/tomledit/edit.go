package tomledit

import (
	"slices"
	"strings"
)

// FormError says that a file is written in a form in which an edit has no place.
type FormError struct {
	// Place is that of what stands in the way; the beginning if an edit made it.
	Place
	Message string
}

func (e *FormError) Error() string { return e.Message }

func (d *Document) formError(v *Value, message string) *FormError {
	return &FormError{d.Place(v.Start), message}
}

// Set gives the key that a path leads to a value: where it stands, if it is
// there, else added to its table, which is made if need be. A value that means
// the same already stays as it is written. The error is a *FormError.
func (d *Document) Set(v *Value, path ...string) error {
	table, depth := d.root, 0
	for ; depth < len(path)-1; depth++ {
		f := table.Field(path[depth])
		if f == nil {
			break
		}
		if table = f.Value; table.Kind != KindTable {
			return d.formError(table, "`"+f.Name+"` is "+table.Kind.String()+", not a table")
		}
	}
	f := table.Field(path[depth])
	if f == nil {
		return d.insert(table, path[:depth], path[depth:], v)
	}
	old := f.Value
	e := old.defs[0]
	switch {
	case e.val != old:
		return d.formError(old, "`"+f.Name+"` is "+old.Kind.String()+" of several lines")
	case old.equal(v):
		return nil
	}
	e.val, f.Value, v.defs = v, v, []*entry{e}
	return nil
}

// insert adds a key to a table at a path; of rest, all but the last name tables
// that are not there yet.
func (d *Document) insert(table *Value, path, rest []string, v *Value) error {
	if table.body != nil {
		for i := len(rest) - 1; i > 0; i-- {
			v = Inline(Pair{rest[i], v})
		}
		table.append(newEntry(v, rest[0]), d.eol)
		return nil
	}
	if table.header != nil && len(rest) == 1 {
		d.addLine(table.header.last, newEntry(v, rest...))
		return nil
	}
	// No header may open a table that dotted keys define.
	if dot, ok := table.lastDotted(); ok {
		e := newEntry(v, append(names(dot.e.keys[:dot.depth]), rest...)...)
		if dot.e.in != nil {
			dot.e.in.owner.append(e, d.eol)
		} else {
			d.addLine(dot.e, e)
		}
		return nil
	}
	last := len(rest) - 1
	h := &entry{header: true, keys: parts(slices.Concat(path, rest[:last])), trail: d.eol}
	h.head = "[" + quotePath(names(h.keys)) + "]"
	// A header before its sub-tables is what a person expects to read.
	if sub := table.firstHeader(); sub != nil && last == 0 {
		d.linkBefore(sub, h)
	} else {
		d.linkLast(h)
	}
	define(d.root, h)
	d.addLine(h, newEntry(v, rest[last]))
	return nil
}

func names(keys []part) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.name
	}
	return list
}

// lastDotted returns the last dotted key that defines the table.
func (v *Value) lastDotted() (dot, bool) {
	for len(v.dotted) > 0 {
		if last := v.dotted[len(v.dotted)-1]; last.e.gone == 0 {
			return last, true
		}
		v.dotted = v.dotted[:len(v.dotted)-1]
	}
	return dot{}, false
}

// firstHeader returns the first header of a table below v.
func (v *Value) firstHeader() *entry {
	for len(v.defs) > 0 && v.defs[0].gone != 0 {
		v.defs = v.defs[1:]
	}
	for _, e := range v.defs {
		if e.header && e.gone == 0 {
			return e
		}
	}
	return nil
}

// addLine puts a key on a line of its own after another statement, in whose
// section it then stands.
func (d *Document) addLine(prev, e *entry) {
	e.trail = d.eol
	switch {
	case prev == d.top && prev.next != nil:
		d.linkBefore(prev.next, e)
	case prev == d.top:
		d.linkLast(e)
	default:
		if !prev.header {
			e.indent = prev.indent
		}
		e.trail = lineEnd(prev.trail) // none if the file ends without one, and so it stays
		d.link(prev, e)
	}
	define(e.section.table, e)
}

// lineEnd returns the line end that text has, or "".
func lineEnd(text string) string {
	switch {
	case strings.HasSuffix(text, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(text, "\n"):
		return "\n"
	}
	return ""
}

// linkBefore puts a statement before another and its comment, a blank line
// between.
func (d *Document) linkBefore(next, e *entry) {
	detached, attached := split(next.lead)
	e.lead = detached + e.lead
	next.lead = d.eol + attached
	d.link(next.prev, e)
}

// linkLast puts a statement at the end of the file, a blank line before it.
func (d *Document) linkLast(e *entry) {
	lead := d.tail
	d.tail = ""
	if lead != "" && !strings.HasSuffix(lead, "\n") {
		lead += d.eol
	}
	if !endsBlank(lead) && (strings.TrimSpace(lead) != "" || d.holdsAny()) {
		lead += d.eol
	}
	e.lead = lead + e.lead
	d.link(d.end, e)
}

func (d *Document) holdsAny() bool {
	for e := d.end; e != d.top; e = e.prev {
		if e.gone == 0 {
			return true
		}
	}
	return false
}

// Append adds an element to the array that a path leads to; a missing array is
// made. The error is a *FormError.
func (d *Document) Append(v *Value, path ...string) error {
	array := d.root.Get(path...)
	switch {
	case array == nil:
		list := newInline(KindArray, "[", "]")
		list.append(&entry{val: v}, d.eol)
		return d.Set(list, path...)
	case array.Kind != KindArray:
		return d.formError(array, "`"+path[len(path)-1]+"` is "+array.Kind.String()+", not an array")
	case array.body == nil:
		return d.formError(array, "`"+path[len(path)-1]+"` is an array of tables")
	}
	array.append(&entry{val: v}, d.eol)
	return nil
}

// SetStrings makes the array that a path leads to hold these strings. Elements
// that stay, with their comments, are not touched where the order allows it.
func (d *Document) SetStrings(list []string, path ...string) error {
	array := d.root.Get(path...)
	if array == nil || array.Kind != KindArray || array.body == nil {
		return d.Set(Strings(list...), path...)
	}
	kept := 0
	for _, item := range array.Items {
		if item.Kind == KindString && slices.Contains(list, item.Text) {
			if kept == len(list) || list[kept] != item.Text {
				return d.Set(Strings(list...), path...)
			}
			kept++
		}
	}
	d.removeItems(array, func(v *Value) bool { return v.Kind != KindString || !slices.Contains(list, v.Text) })
	for _, s := range list[kept:] {
		array.append(&entry{val: String(s)}, d.eol)
	}
	return nil
}

// append adds an element to an array or inline table, on a line of its own if
// the last one has one.
func (v *Value) append(e *entry, eol string) {
	b := v.body
	e.in = b
	last := b.lastElem()
	switch {
	case last < 0 && strings.Contains(b.head+b.foot, "#"): // comments alone
		e.lead, b.foot = b.foot, ""
	case last < 0:
		b.head, b.foot, b.elems, b.trailing = "", "", nil, false
		if v.Kind == KindTable {
			e.lead, b.foot = " ", " "
		}
	case b.ownLine(last) && strings.HasSuffix(b.elems[last].tail, "\n"):
		lead := b.elems[last].lead
		e.lead, e.tail, b.trailing = lead[strings.LastIndexByte(lead, '\n')+1:], lineEnd(b.elems[last].tail), true
	default:
		e.lead = " "
	}
	b.elems = append(b.elems, e)
	if v.Kind == KindTable {
		define(v, e)
		return
	}
	e.val.defs = []*entry{e}
	v.Items = append(v.Items, e.val)
}

// Remove takes out what a path leads to, with everything below it and the
// comments that belong to it, and reports whether it was there.
func (d *Document) Remove(path ...string) bool {
	chain := []*Value{d.root}
	for _, name := range path {
		f := chain[len(chain)-1].Field(name)
		if f == nil {
			return false
		}
		chain = append(chain, f.Value)
	}
	d.removeAll(chain[len(path)].defs)
	for i := len(path) - 1; i >= 0; i-- {
		delete(chain[i].byName, path[i])
		if chain[i].defined() {
			break
		}
	}
	return true
}

// defined reports whether a table exists beside its fields.
func (v *Value) defined() bool {
	return len(v.byName) > 0 || v.body != nil || v.header != nil && v.header.gone == 0
}

// RemoveItems takes out the elements of an array, or the tables of an array of
// tables, that match, and returns how many.
func (d *Document) RemoveItems(match func(*Value) bool, path ...string) int {
	array := d.root.Get(path...)
	if array == nil || array.Kind != KindArray {
		return 0
	}
	n := d.removeItems(array, match)
	if len(array.Items) == 0 && array.body == nil {
		d.Remove(path...)
	}
	return n
}

func (d *Document) removeItems(array *Value, match func(*Value) bool) int {
	before := len(array.Items)
	array.Items = slices.DeleteFunc(array.Items, func(v *Value) bool {
		if !match(v) {
			return false
		}
		d.removeAll(v.defs)
		return true
	})
	return before - len(array.Items)
}

// removeAll marks what one edit removes.
func (d *Document) removeAll(defs []*entry) {
	d.edits++
	for _, e := range defs {
		if e.gone != 0 {
			continue
		}
		e.gone = d.edits
		// Comments between two parts of one thing are about that thing.
		e.within = e.in == nil && e.prev.gone == d.edits
		if !e.header {
			continue
		}
		last := e
		for s := e.next; s != nil && !s.header; s = s.next {
			if s.gone == 0 {
				s.gone = d.edits
			}
			s.within, last = true, s
		}
		last.below = true
	}
}

// InsertTable adds a table of an array of tables, given as TOML text with its
// header: before the array's others if first is set, else at the end of the file.
// The error is a *SyntaxError about text or a *FormError.
func (d *Document) InsertTable(text string, first bool) error {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", d.eol)
	table, err := Parse([]byte(text))
	if err != nil {
		return err
	}
	h := table.top.next
	if h == nil || !h.array {
		return &FormError{Message: "the text does not begin with a [[table]]"}
	}
	path := names(h.keys)
	for i := range path {
		if v := d.root.Get(path[:i+1]...); v != nil && (v.body != nil || i == len(path)-1 && v.Kind != KindArray) {
			return d.formError(v, "`"+path[i]+"` is written as one value")
		}
	}
	array, rest := d.root.Get(path...), h.next
	if first && array != nil && len(array.Items) > 0 {
		d.linkBefore(array.Items[0].header, h)
	} else {
		first = false
		d.linkLast(h)
	}
	define(d.root, h)
	for section, prev := h, h; rest != nil; {
		e := rest
		rest = e.next
		d.link(prev, e)
		if prev = e; e.header {
			section = e
			define(d.root, e)
		} else {
			define(section.table, e)
		}
	}
	if first {
		n := len(array.Items) - 1
		copy(array.Items[1:], array.Items[:n])
		array.Items[0] = h.table
	}
	return nil
}
