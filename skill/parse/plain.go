package parse

import (
	"bytes"
	"strings"

	yaml "go.yaml.in/yaml/v4"
)

// plainNodes reads the frontmatter that most skills have, `key: value` lines and
// one mapping of such lines below a key, without the YAML library: it is a tenth
// of the work of validating a folder of skills. It gives exactly the nodes that
// the library gives, and declines everything it is not sure of: comments,
// tabs, escapes, values over several lines, words that are not text to YAML.
// FuzzPlainNodes compares the two.
func plainNodes(text []byte) (*yaml.Node, bool) {
	p := plainReader{pool: make([]yaml.Node, 0, 2+4*bytes.Count(text, []byte(":")))}
	root := p.node(yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 0})
	var inner *yaml.Node // the open mapping below a key
	indent := 0          // its indentation
	for line := 1; len(text) > 0; line++ {
		l := text
		if n := bytes.IndexByte(text, '\n'); n >= 0 {
			l, text = text[:n], text[n+1:]
		} else {
			text = nil
		}
		if len(l) == 0 {
			continue
		}
		at := len(l) - len(bytes.TrimLeft(l, " "))
		into := root
		switch {
		case at == 0:
			if inner != nil && len(inner.Content) == 0 {
				return nil, false // a key without a value
			}
			inner = nil
		case inner == nil || indent != 0 && at != indent:
			return nil, false // a value over several lines, or deeper nesting
		default:
			into, indent = inner, at
		}
		opened, ok := p.entry(into, l, at, line)
		if !ok || opened != nil && at > 0 {
			return nil, false
		}
		if opened != nil {
			inner, indent = opened, 0
		}
	}
	if len(root.Content) == 0 || inner != nil && len(inner.Content) == 0 {
		return nil, false
	}
	return root, true
}

// plainReader keeps the nodes in one allocation.
type plainReader struct {
	pool []yaml.Node
}

func (p *plainReader) node(n yaml.Node) *yaml.Node {
	p.pool = append(p.pool, n) // beyond its capacity it moves; older nodes stay valid
	return &p.pool[len(p.pool)-1]
}

// entry reads one `key: value` line into the mapping. opened is the new mapping
// below a key that stands alone.
func (p *plainReader) entry(into *yaml.Node, l []byte, at, line int) (opened *yaml.Node, ok bool) {
	end := at
	for end < len(l) && plainKeyByte(l[end], end == at) {
		end++
	}
	key := l[at:end]
	if end == at || end-at > maxPlainKey || end == len(l) || l[end] != ':' || notText(key) {
		return nil, false
	}
	value := bytes.TrimLeft(l[end+1:], " ")
	column := len(l) - len(value) + 1
	value = bytes.TrimRight(value, " ")
	var v *yaml.Node
	switch {
	case len(value) == 0:
		v = p.node(yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"})
		opened = v
	case l[end+1] != ' ':
		return nil, false
	default:
		text, style, ok := plainValue(value)
		if !ok {
			return nil, false
		}
		v = p.node(yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: style, Value: text, Line: line, Column: column})
	}
	k := p.node(yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(key), Line: line, Column: at + 1})
	if len(into.Content) == 0 {
		into.Line, into.Column = line, at+1
	}
	into.Content = append(into.Content, k, v)
	return opened, true
}

// maxPlainKey is far below the 1,024 characters at which YAML ends a simple key.
const maxPlainKey = 128

func plainKeyByte(c byte, first bool) bool {
	switch {
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return true
	case c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.':
		return !first
	}
	return false
}

// plainValue returns the text of a one-line scalar.
func plainValue(v []byte) (text string, style yaml.Style, ok bool) {
	switch c := v[0]; {
	case c == '"' || c == '\'':
		if len(v) < 2 || v[len(v)-1] != c || !plainText(v) {
			return "", 0, false
		}
		return quotedText(v[1:len(v)-1], c)
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
		if !plainText(v) || notText(v) || v[len(v)-1] == ':' || bytes.Contains(v, []byte(": ")) || bytes.Contains(v, []byte(" #")) {
			return "", 0, false
		}
		return string(v), 0, true
	}
	return "", 0, false
}

// quotedText decodes what stands between quotes: double ones without escapes,
// single ones in which a quote is doubled.
func quotedText(body []byte, quote byte) (text string, style yaml.Style, ok bool) {
	if quote == '"' {
		return string(body), yaml.DoubleQuotedStyle, !bytes.ContainsAny(body, `"\`)
	}
	n := bytes.Count(body, []byte("'"))
	if n != 2*bytes.Count(body, []byte("''")) {
		return "", 0, false
	}
	return strings.ReplaceAll(string(body), "''", "'"), yaml.SingleQuotedStyle, true
}

// plainText declines control characters and the line breaks and marks that
// Unicode has beside them.
func plainText(v []byte) bool {
	for i, c := range v {
		if c >= 0x20 && c < 0x7f {
			continue
		}
		var next, third byte
		if i+2 < len(v) {
			next, third = v[i+1], v[i+2]
		} else if i+1 < len(v) {
			next = v[i+1]
		}
		switch {
		case c < 0x20 || c == 0x7f:
			return false
		case c == 0xc2 && next < 0xa0: // C1 controls, U+0085 among them
			return false
		case c == 0xef && (next == 0xbb || next == 0xbf): // U+FEFF, U+FFFE
			return false
		case c == 0xe2 && next == 0x80 && (third == 0xa8 || third == 0xa9): // U+2028, U+2029
			return false
		}
	}
	return true
}

// notText reports the words that YAML reads as another type.
func notText(v []byte) bool {
	switch string(v) {
	case "true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL":
		return true
	}
	return false
}
