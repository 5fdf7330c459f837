package lockfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// encoding/json cannot read a lock strictly: it takes the last of two equal
// keys, matches keys in any case, replaces broken UTF-8 and gives no position.
// So the text is read into nodes that know where they stand.

// maxDepth bounds nesting: a lock needs 6 levels, unknown fields get the rest.
const maxDepth = 64

type kind string

const (
	kindObject kind = "object"
	kindArray  kind = "array"
	kindString kind = "string"
	kindNumber kind = "number"
	kindBool   kind = "boolean"
	kindNull   kind = "null"
)

type node struct {
	kind   kind
	at     int    // byte offset
	text   string // a string's value, a number's digits, true or false
	fields []field
	items  []*node
}

type field struct {
	name  string
	at    int
	value *node
	taken bool // a decoder knows the field; see object
}

// syntaxError is a fault of the JSON text at a byte offset.
type syntaxError struct {
	at      int
	message string
}

// parser reads JSON (RFC 8259) and nothing beyond it.
type parser struct {
	text  string
	at    int
	depth int
	spare []node // allocated many at a time: a lock has some 30 nodes a skill
}

func (p *parser) node() *node {
	if len(p.spare) == 0 {
		p.spare = make([]node, 128)
	}
	n := &p.spare[0]
	p.spare = p.spare[1:]
	n.at = p.at
	return n
}

func parseJSON(text string) (*node, *syntaxError) {
	if at := invalidUTF8(text); at >= 0 {
		return nil, &syntaxError{at, "bytes that are not UTF-8"}
	}
	p := &parser{text: text}
	p.space()
	n, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) {
		return nil, p.fault("more data after the end of the file's object")
	}
	return n, nil
}

func (p *parser) fault(format string, args ...any) *syntaxError {
	return &syntaxError{p.at, fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// expected reports what was wanted at the current place and what stands there.
func (p *parser) expected(what string) *syntaxError {
	if p.at >= len(p.text) {
		return p.fault("the file ends where %s was expected", what)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return p.fault("expected %s, found %q", what, r)
}

func (p *parser) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value() (*node, *syntaxError) {
	if p.at >= len(p.text) {
		return nil, p.expected("a value")
	}
	n := p.node()
	switch c := p.text[p.at]; {
	case c == '{':
		return n, p.nested(func() *syntaxError { return p.object(n) })
	case c == '[':
		return n, p.nested(func() *syntaxError { return p.array(n) })
	case c == '"':
		n.kind = kindString
		var err *syntaxError
		n.text, err = p.str()
		return n, err
	case c == '-' || c >= '0' && c <= '9':
		n.kind = kindNumber
		return n, p.number(n)
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			n.kind, n.text = kindBool, word
			if word == "null" {
				n.kind = kindNull
			}
			return n, nil
		}
	}
	return nil, p.expected("a value")
}

func (p *parser) nested(read func() *syntaxError) *syntaxError {
	if p.depth++; p.depth > maxDepth {
		return p.fault("nested deeper than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	return read()
}

func (p *parser) object(n *node) *syntaxError {
	n.kind = kindObject
	p.at++
	p.space()
	if p.take('}') {
		return nil
	}
	var seen keySet
	for {
		f := field{at: p.at}
		if p.at >= len(p.text) || p.text[p.at] != '"' {
			return p.expected("a key in quotes")
		}
		var err *syntaxError
		if f.name, err = p.str(); err != nil {
			return err
		}
		if !seen.add(f.name, n.fields) {
			return &syntaxError{f.at, fmt.Sprintf("the key `%s` stands here a second time", f.name)}
		}
		if p.space(); !p.take(':') {
			return p.expected("`:`")
		}
		p.space()
		if f.value, err = p.value(); err != nil {
			return err
		}
		n.fields = append(n.fields, f)
		p.space()
		if p.take('}') {
			return nil
		}
		if !p.take(',') {
			return p.expected("`,` or `}`")
		}
		p.space()
	}
}

// keySet finds a second key of one name: by looking along a short list, with a
// map for a long one.
type keySet map[string]bool

func (s *keySet) add(name string, before []field) bool {
	const short = 16
	if *s == nil {
		if len(before) < short {
			return !slices.ContainsFunc(before, func(f field) bool { return f.name == name })
		}
		*s = make(keySet, 4*short)
		for _, f := range before {
			(*s)[f.name] = true
		}
	}
	if (*s)[name] {
		return false
	}
	(*s)[name] = true
	return true
}

func (p *parser) array(n *node) *syntaxError {
	n.kind = kindArray
	p.at++
	p.space()
	if p.take(']') {
		return nil
	}
	for {
		item, err := p.value()
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
		p.space()
		if p.take(']') {
			return nil
		}
		if !p.take(',') {
			return p.expected("`,` or `]`")
		}
		p.space()
	}
}

// compact returns n as JSON without blanks, keys sorted by bytes.
func (n *node) compact() json.RawMessage { return n.appendCompact(nil) }

func (n *node) appendCompact(b []byte) []byte {
	switch n.kind {
	case kindObject:
		b = append(b, '{')
		for i, f := range n.sorted() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, f.name), ':')
			b = f.value.appendCompact(b)
		}
		return append(b, '}')
	case kindArray:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendCompact(b)
		}
		return append(b, ']')
	case kindString:
		return appendString(b, n.text)
	case kindNull:
		return append(b, "null"...)
	}
	return append(b, n.text...)
}

func (n *node) sorted() []field {
	return slices.SortedFunc(slices.Values(n.fields), func(a, b field) int { return strings.Compare(a.name, b.name) })
}
