package lockfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bytes returns the canonical bytes: equal locks have equal bytes, whatever
// order skills, maps and dependencies were built in. Skills are written by the
// bytes of their keys. What a caller built may break Parse's rules; Encode is for
// what goes to disk.
func (l *Lock) Bytes() []byte {
	sorted := *l
	sorted.Skills = slices.Clone(l.Skills)
	sorted.Sort(nil)
	return sorted.write()
}

// Encode returns the canonical bytes of a lock that Parse accepts. The error is
// Parse's: a lock that nobody could read again must not be written.
func (l *Lock) Encode() ([]byte, error) {
	data := l.Bytes()
	if _, err := Parse(data); err != nil {
		return nil, err
	}
	return data, nil
}

// write writes the skills in the order of l.Skills.
func (l *Lock) write() []byte {
	w := &writer{}
	w.object(func() {
		w.str("format", Format)
		w.number("lockVersion", Version)
		w.field("root", func() { w.object(func() { w.root(&l.Root) }) })
		w.field("skills", func() {
			w.object(func() {
				for _, e := range l.Skills {
					w.field(e.Key, func() { w.object(func() { w.entry(e) }) })
				}
			})
		})
		w.field("targets", func() { w.strings(l.Targets) })
		w.unknown(l.Unknown)
	})
	w.b = append(w.b, '\n')
	return w.b
}

// IsCanonical reports whether data is exactly what Bytes returns for the lock
// in it, once CRLF line ends are mapped to LF. The order of skills does not
// matter: earlier versions wrote them in the manifest's order, and such a lock
// stays as it is until something in it changes.
func IsCanonical(data []byte) bool {
	l, err := parse(data)
	return err == nil && bytes.Equal(unixLines(data), l.write())
}

// writer builds indented JSON. A container is written by a function that calls
// field or item for each element; an empty one closes on its own line's end.
type writer struct {
	b     []byte
	depth int
	empty bool // nothing was written since the container opened
}

func (w *writer) object(fill func()) { w.container('{', '}', fill) }
func (w *writer) array(fill func())  { w.container('[', ']', fill) }

func (w *writer) container(open, shut byte, fill func()) {
	w.b = append(w.b, open)
	w.depth++
	w.empty = true
	fill()
	w.depth--
	if !w.empty {
		w.newline()
	}
	w.empty = false
	w.b = append(w.b, shut)
}

func (w *writer) newline() {
	w.b = append(w.b, '\n')
	for range w.depth {
		w.b = append(w.b, ' ', ' ')
	}
}

func (w *writer) next() {
	if !w.empty {
		w.b = append(w.b, ',')
	}
	w.newline()
	w.empty = false
}

func (w *writer) field(name string, value func()) {
	w.next()
	w.b = append(appendString(w.b, name), ':', ' ')
	value()
}

func (w *writer) str(name, value string) {
	w.field(name, func() { w.b = appendString(w.b, value) })
}

// optional writes a string unless it is empty.
func (w *writer) optional(name, value string) {
	if value != "" {
		w.str(name, value)
	}
}

func (w *writer) number(name string, value int64) {
	w.field(name, func() { w.b = strconv.AppendInt(w.b, value, 10) })
}

func (w *writer) boolean(name string, value bool) {
	w.field(name, func() { w.b = strconv.AppendBool(w.b, value) })
}

func (w *writer) strings(list []string) {
	w.array(func() {
		for _, s := range list {
			w.next()
			w.b = appendString(w.b, s)
		}
	})
}

func (w *writer) optionalStrings(name string, list []string) {
	if len(list) > 0 {
		w.field(name, func() { w.strings(list) })
	}
}

func (w *writer) stringMap(m map[string]string) {
	w.object(func() {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			w.str(k, m[k])
		}
	})
}

func (w *writer) optionalMap(name string, m map[string]string) {
	if len(m) > 0 {
		w.field(name, func() { w.stringMap(m) })
	}
}

// unknown writes fields that this version does not know, after the known ones.
func (w *writer) unknown(u Unknown) {
	for _, name := range slices.Sorted(maps.Keys(u)) {
		w.field(name, func() { w.raw(u[name]) })
	}
}

func (w *writer) raw(value json.RawMessage) {
	n, err := parseJSON(string(value))
	if err != nil { // no JSON: the caller broke Unknown's promise, let readers see it
		w.b = append(w.b, value...)
		return
	}
	w.node(n)
}

func (w *writer) node(n *node) {
	switch n.kind {
	case kindObject:
		w.object(func() {
			for _, f := range n.sorted() {
				w.field(f.name, func() { w.node(f.value) })
			}
		})
	case kindArray:
		w.array(func() {
			for _, item := range n.items {
				w.next()
				w.node(item)
			}
		})
	default:
		w.b = n.appendCompact(w.b)
	}
}

// appendString writes s as encoding/json does without HTML escaping.
func appendString(b []byte, s string) []byte {
	if plain(s) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // strings always encode
		panic("lockfile: encode string: " + err.Error())
	}
	return append(b, strings.TrimSuffix(buf.String(), "\n")...)
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
