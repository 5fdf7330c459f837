package signing

import (
	"errors"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/skillpm/skillpm/internal/diag"
)

// node is a TOML value with its place. go-toml reports places only for what its
// decoder itself refuses; a rule that is well-typed and wrong (an unanchored
// pattern, say) needs one too, so policies are decoded from this tree.
type node struct {
	kind  unstable.Kind // String, Array, InlineTable (any table), LocalDate, …
	text  string        // scalars
	items []*node       // arrays, arrays of tables
	keys  []string      // tables, in order of appearance
	at    map[string]*node
	line  int
	col   int
	key   struct{ line, col, end int } // of the key that holds it; end is the offset after it
}

func newTable(line, col int) *node {
	n := &node{kind: unstable.InlineTable, at: map[string]*node{}, line: line, col: col}
	n.key.line, n.key.col = line, col
	return n
}

func (n *node) child(key string) *node { return n.at[key] }

func (n *node) set(key string, v *node) {
	if _, ok := n.at[key]; !ok {
		n.keys = append(n.keys, key)
	}
	n.at[key] = v
}

// parseTree reads a whole TOML document. The decoder runs first, since it knows
// the rules that span lines (a key set twice, a table defined twice).
func parseTree(file string, data []byte) (*node, error) {
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, syntaxFault(file, err)
	}
	w := treeWalk{root: newTable(1, 1)}
	w.table = w.root
	w.p.Reset(data)
	for w.p.NextExpression() {
		w.expression(w.p.Expression())
	}
	if err := w.p.Error(); err != nil {
		return nil, syntaxFault(file, err)
	}
	return w.root, nil
}

func syntaxFault(file string, err error) error {
	e := diag.New(diag.PolicyInvalid, "%s", err)
	if d, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, col := d.Position()
		return e.At(file, line, col)
	}
	return e.At(file, 0, 0)
}

// treeWalk builds the tree from go-toml's expressions.
type treeWalk struct {
	p     unstable.Parser
	root  *node
	table *node // where key-values go
	end   int   // offset after the key that descend walked last
}

func (w *treeWalk) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.KeyValue:
		w.keyValue(w.table, e)
	case unstable.Table:
		parent, key, line, col := w.descend(w.root, e.Key())
		if w.table = lastTable(parent.child(key)); w.table == nil {
			w.table = newTable(line, col)
			parent.set(key, w.table)
		}
	case unstable.ArrayTable:
		parent, key, line, col := w.descend(w.root, e.Key())
		array := parent.child(key)
		if array == nil || array.kind != unstable.Array {
			array = &node{kind: unstable.Array, line: line, col: col}
			parent.set(key, array)
		}
		w.table = newTable(line, col)
		array.items = append(array.items, w.table)
	}
}

// descend walks all but the last element of a dotted key, making tables, and
// returns the table, the last element and the place of the first.
func (w *treeWalk) descend(from *node, it unstable.Iterator) (table *node, last string, line, col int) {
	table = from
	for it.Next() {
		k := it.Node()
		if line == 0 {
			pos := w.p.Shape(k.Raw).Start
			line, col = pos.Line, pos.Column
		}
		last, w.end = string(k.Data), int(k.Raw.Offset+k.Raw.Length)
		if it.IsLast() {
			break
		}
		next := lastTable(table.child(last))
		if next == nil {
			next = newTable(line, col)
			table.set(last, next)
		}
		table = next
	}
	return table, last, line, col
}

// lastTable returns n if it is a table, the last table of an array of tables.
func lastTable(n *node) *node {
	switch {
	case n == nil:
		return nil
	case n.kind == unstable.InlineTable:
		return n
	case n.kind == unstable.Array && len(n.items) > 0:
		return lastTable(n.items[len(n.items)-1])
	}
	return nil
}

func (w *treeWalk) keyValue(table *node, e *unstable.Node) {
	parent, key, line, col := w.descend(table, e.Key())
	end := w.end // a table inside the value moves it
	v := w.value(e.Value(), line, col)
	v.key.line, v.key.col, v.key.end = line, col, end
	parent.set(key, v)
}

// value copies a value; line and col are its key's, for values without a place.
func (w *treeWalk) value(v *unstable.Node, line, col int) *node {
	if v.Raw.Length > 0 {
		pos := w.p.Shape(v.Raw).Start
		line, col = pos.Line, pos.Column
	}
	n := &node{kind: v.Kind, text: string(v.Data), line: line, col: col}
	switch v.Kind {
	case unstable.Array:
		for it := v.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				n.items = append(n.items, w.value(it.Node(), line, col))
			}
		}
	case unstable.InlineTable:
		n.at = map[string]*node{}
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				w.keyValue(n, it.Node())
			}
		}
		if len(n.keys) > 0 {
			n.line, n.col = w.firstKey(v, line, col)
		}
	}
	return n
}

func (w *treeWalk) firstKey(v *unstable.Node, line, col int) (int, int) {
	for it := v.Children(); it.Next(); {
		if it.Node().Kind != unstable.KeyValue {
			continue
		}
		if k := it.Node().Key(); k.Next() {
			pos := w.p.Shape(k.Node().Raw).Start
			return pos.Line, pos.Column
		}
	}
	return line, col
}
