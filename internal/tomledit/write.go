package tomledit

import (
	"errors"
	"strings"
)

// Apply writes the edits and returns the new file. It reads the text again and
// compares it with what the edits made of the old one; a difference is an error,
// and an error is a bug of this package or an edit that TOML does not allow in
// the form the file has. The document itself must not be used any more.
func (d *Document) Apply() (*Document, error) {
	next, err := Parse([]byte(d.render()))
	if err != nil {
		return nil, err
	}
	if !d.root.equal(next.root) {
		return nil, errors.New("the edited text does not say what was asked for")
	}
	return next, nil
}

// writer puts statements together. Where some were removed, it joins what stood
// around them so that no blank lines pile up.
type writer struct {
	strings.Builder
	eol     string
	pending []string // comments and blank lines that removed statements left
	removed bool     // something was removed since the last statement
	below   bool     // comments directly below it go too
	any     bool     // a statement was written
}

func (d *Document) render() string {
	w := &writer{eol: d.eol}
	w.Grow(len(d.data) + 64)
	if d.mark {
		w.WriteString(bom)
	}
	for e := d.top.next; e != nil; e = e.next {
		if e.gone != 0 {
			w.skip(e)
			continue
		}
		w.lines(e.lead, false)
		w.WriteString(e.indent)
		e.write(&w.Builder)
		w.WriteString(e.trail)
		if e.next != nil && !strings.HasSuffix(e.trail, "\n") {
			w.finishLine(e)
		}
		w.any = true
	}
	w.lines(d.tail, true)
	return w.String()
}

// finishLine ends the line of what was the last statement of the file, if one
// that was added follows.
func (w *writer) finishLine(e *entry) {
	for n := e.next; n != nil; n = n.next {
		if n.gone == 0 {
			w.WriteString(w.eol)
			return
		}
	}
}

// skip takes note of a removed statement. Its own comments go; those that a
// blank line parts from it stay.
func (w *writer) skip(e *entry) {
	lead := e.lead
	if w.below {
		lead = withoutFirstComments(lead, false)
	}
	if !e.within {
		detached, _ := split(lead)
		w.join(detached)
	}
	w.removed, w.below = true, e.below
}

// join adds lines to those that are pending, with one run of blank lines between.
func (w *writer) join(lines string) {
	n := len(w.pending)
	if n == 0 && !w.any && w.removed || n > 0 && endsBlank(w.pending[n-1]) {
		lines = withoutFirstBlanks(lines)
	}
	if lines != "" {
		w.pending = append(w.pending, lines)
	}
}

// lines writes the lines above a statement, or the file's last.
func (w *writer) lines(lines string, last bool) {
	if w.removed {
		if w.below {
			lines = withoutFirstComments(lines, last)
		}
		w.join(lines)
		lines = strings.Join(w.pending, "")
		if last {
			lines = withoutLastBlanks(lines)
		}
	}
	w.WriteString(lines)
	w.pending, w.removed, w.below = nil, false, false
}

// write appends the entry itself.
func (e *entry) write(w *strings.Builder) {
	w.WriteString(e.head)
	if e.val != nil {
		e.val.write(w)
	}
}

func (v *Value) write(w *strings.Builder) {
	b := v.body
	if b == nil {
		w.WriteString(v.raw)
		return
	}
	last := b.lastElem()
	if last < 0 && len(b.elems) > 0 && !strings.Contains(b.head+b.foot, "#") {
		w.WriteString(b.open + b.close)
		return
	}
	w.WriteString(b.open)
	w.WriteString(b.head)
	first := true
	for i, e := range b.elems {
		if e.gone != 0 {
			b.skip(w, i)
			continue
		}
		if first && !b.ownLine(i) {
			w.WriteString(b.space(i))
		} else {
			w.WriteString(e.lead)
		}
		first = false
		e.write(w)
		w.WriteString(e.trail)
		if i != last || b.trailing {
			w.WriteString(",")
		}
		w.WriteString(e.tail)
	}
	w.WriteString(b.foot)
	w.WriteString(b.close)
}

// skip writes what a removed element leaves: a comment that a blank line keeps
// apart from it, and the end of a line that it did not begin.
func (b *body) skip(w *strings.Builder, i int) {
	e := b.elems[i]
	if !b.ownLine(i) {
		w.WriteString(lineEnd(e.tail))
		return
	}
	above, _ := split(e.lead[:strings.LastIndexByte(e.lead, '\n')+1])
	if strings.Contains(above, "#") {
		w.WriteString(above)
	}
}

// space returns what stands before the first element that is there, on the line
// of the bracket: what stood before the first of all.
func (b *body) space(i int) string {
	if b.ownLine(0) {
		return b.elems[i].lead
	}
	return b.elems[0].lead
}

// lastElem returns the index of the last element that is there, or -1.
func (b *body) lastElem() int {
	for i := len(b.elems) - 1; i >= 0; i-- {
		if b.elems[i].gone == 0 {
			return i
		}
	}
	return -1
}

// ownLine reports whether an element begins its line.
func (b *body) ownLine(i int) bool {
	if strings.Contains(b.elems[i].lead, "\n") {
		return true
	}
	before := b.head
	if i > 0 {
		before = b.elems[i-1].tail
	}
	return strings.HasSuffix(before, "\n")
}

// split parts the lines above a statement into those that a blank line keeps
// apart from it, and the comment that is its own.
func split(lead string) (detached, attached string) {
	at := len(lead)
	for at > 0 {
		start := strings.LastIndexByte(lead[:at-1], '\n') + 1
		if blank(lead[start:at]) {
			break
		}
		at = start
	}
	return lead[:at], lead[at:]
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

func endsBlank(lines string) bool {
	if lines == "" {
		return false
	}
	return blank(lines[strings.LastIndexByte(lines[:len(lines)-1], '\n')+1:])
}

func withoutFirstBlanks(lines string) string {
	for lines != "" {
		line, rest, _ := strings.Cut(lines, "\n")
		if !blank(line) {
			break
		}
		lines = rest
	}
	return lines
}

func withoutLastBlanks(lines string) string {
	for endsBlank(lines) {
		lines = lines[:strings.LastIndexByte(lines[:len(lines)-1], '\n')+1]
	}
	return lines
}

// withoutFirstComments drops the comment lines at the beginning if a blank line
// or the end of the file follows; else they are those of the next statement.
func withoutFirstComments(lines string, last bool) string {
	rest := lines
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		if blank(line) {
			return rest
		}
		rest = after
	}
	if last {
		return ""
	}
	return lines
}
