package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// jsonReader builds nodes from the decoder's tokens, which know where they are.
type jsonReader struct {
	file  file
	dec   *json.Decoder
	nodes int
}

// parseJSON reads one JSON value. Duplicate keys and trailing data refuse: two
// readers could take such a file for two different things.
func parseJSON(f file) (*node, error) {
	r := &jsonReader{file: f, dec: json.NewDecoder(bytes.NewReader(f.data))}
	r.dec.UseNumber()
	root, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, r.fault("text after the end of the JSON value")
	}
	return root, nil
}

func (r *jsonReader) fault(format string, args ...any) error {
	line, column := r.file.place(int(r.dec.InputOffset()))
	return r.file.unreadable(line, column, format, args...)
}

// token returns the next token and the place of its first byte.
func (r *jsonReader) token() (tok json.Token, line, column int, err error) {
	at := int(r.dec.InputOffset())
	for at < len(r.file.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.file.data[at]) >= 0 {
		at++
	}
	line, column = r.file.place(at)
	if tok, err = r.dec.Token(); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line, column = r.file.place(int(syntax.Offset) - 1)
		}
		return nil, line, column, r.file.unreadable(line, column, "not JSON: %v", err)
	}
	return tok, line, column, nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	tok, line, column, err := r.token()
	if err != nil {
		return nil, err
	}
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		return nil, r.fault("more than %d values, or nested deeper than %d", maxNodes, maxDepth)
	}
	n := &node{line: line, column: column}
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			n.shape = shapeTable
			return n, r.table(n, depth)
		}
		n.shape = shapeList
		return n, r.list(n, depth)
	case string:
		n.shape, n.text = shapeText, t
	case json.Number:
		n.shape, n.text = shapeNumber, t.String()
	case bool:
		n.shape, n.text = shapeBool, "false"
		if t {
			n.text = "true"
		}
	default:
		n.shape = shapeNull
	}
	return n, nil
}

func (r *jsonReader) table(n *node, depth int) error {
	seen := map[string]bool{}
	for r.dec.More() {
		tok, line, column, err := r.token()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		if seen[name] {
			return r.file.unreadable(line, column, "the key %q stands twice", name)
		}
		seen[name] = true
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		v.line, v.column = line, column // people look for the key
		n.fields = append(n.fields, field{name, v})
	}
	_, _, _, err := r.token()
	return err
}

func (r *jsonReader) list(n *node, depth int) error {
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
	}
	_, _, _, err := r.token()
	return err
}
