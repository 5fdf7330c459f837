package interop

import (
	"errors"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads a TOML file. The full decoder judges it; the tokenizer, which
// knows places, then builds the nodes.
func parseTOML(f file) (*node, error) {
	var whole map[string]any
	if err := toml.Unmarshal(f.data, &whole); err != nil {
		line, column := 0, 0
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column = e.Position()
		}
		return nil, f.unreadable(line, column, "not TOML: %v", err)
	}
	r := &tomlReader{file: f, root: &node{shape: shapeTable, line: 1, column: 1}}
	r.at = r.root
	r.parser.Reset(f.data)
	for r.parser.NextExpression() {
		if err := r.expression(r.parser.Expression()); err != nil {
			return nil, err
		}
	}
	if err := r.parser.Error(); err != nil {
		return nil, f.unreadable(0, 0, "not TOML: %v", err)
	}
	return r.root, nil
}

type tomlReader struct {
	file   file
	parser unstable.Parser
	root   *node
	at     *node // the table that the last header opened
	nodes  int
}

func (r *tomlReader) expression(e *unstable.Node) error {
	if e.Kind == unstable.KeyValue {
		return r.keyValue(r.at, e, 0)
	}
	at, last := r.descend(r.root, e.Key())
	if e.Kind != unstable.ArrayTable {
		r.at = r.open(at, last)
		return nil
	}
	list := at.get(last.name)
	if list == nil {
		list = &node{shape: shapeList, line: last.line, column: last.column}
		at.fields = append(at.fields, field{last.name, list})
	}
	r.at = &node{shape: shapeTable, line: last.line, column: last.column}
	list.items = append(list.items, r.at)
	return nil
}

// word is one element of a dotted key.
type word struct {
	name         string
	line, column int
}

// descend opens the tables that all elements of a key but the last name.
func (r *tomlReader) descend(at *node, it unstable.Iterator) (*node, word) {
	var last word
	for first := true; it.Next(); first = false {
		if !first {
			at = r.open(at, last)
		}
		n := it.Node()
		last.name = string(n.Data)
		last.line, last.column = r.file.place(int(n.Raw.Offset))
	}
	return at, last
}

// open returns the table w of at: the last element where w is a list of tables.
func (r *tomlReader) open(at *node, w word) *node {
	v := at.get(w.name)
	if v == nil {
		v = &node{shape: shapeTable, line: w.line, column: w.column}
		at.fields = append(at.fields, field{w.name, v})
	}
	if v.shape == shapeList && len(v.items) > 0 {
		return v.items[len(v.items)-1]
	}
	return v
}

func (r *tomlReader) keyValue(at *node, e *unstable.Node, depth int) error {
	at, last := r.descend(at, e.Key())
	v, err := r.value(e.Value(), depth)
	if err != nil {
		return err
	}
	v.line, v.column = last.line, last.column
	at.fields = append(at.fields, field{last.name, v})
	return nil
}

func (r *tomlReader) value(e *unstable.Node, depth int) (*node, error) {
	n := &node{text: string(e.Data)}
	n.line, n.column = r.file.place(int(e.Raw.Offset))
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		return nil, r.file.unreadable(n.line, n.column, "more than %d values, or nested deeper than %d", maxNodes, maxDepth)
	}
	switch e.Kind {
	case unstable.Array:
		n.shape = shapeList
		for it := e.Children(); it.Next(); {
			v, err := r.value(it.Node(), depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
		}
	case unstable.InlineTable:
		n.shape = shapeTable
		for it := e.Children(); it.Next(); {
			if err := r.keyValue(n, it.Node(), depth+1); err != nil {
				return nil, err
			}
		}
		if len(n.fields) > 0 { // an inline table has no place of its own
			n.line, n.column = n.fields[0].node.line, n.fields[0].node.column
		}
	case unstable.Integer, unstable.Float:
		n.shape = shapeNumber
	case unstable.Bool:
		n.shape = shapeBool
	default:
		n.shape = shapeText
	}
	return n, nil
}
