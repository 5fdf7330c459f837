package interop

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/skillpm/skillpm/internal/diag"
)

// Bounds for what comes from outside. The largest real lock seen in 2026 has
// 1.1 MB and 9,000 values, the deepest nests 7 levels.
const (
	maxFile  = 8 << 20
	maxDepth = 64
	maxNodes = 500_000
	maxItems = 5_000
	maxFiles = 5_000 // installed skills that are looked into
)

// shape is a value's type as people call it.
type shape string

const (
	shapeNull   shape = "nothing"
	shapeText   shape = "a string"
	shapeNumber shape = "a number"
	shapeBool   shape = "a boolean"
	shapeList   shape = "a list"
	shapeTable  shape = "a table"
)

// node is a value of a JSON, TOML or YAML file with its place. A nil *node is
// what is not there: every method works on it.
type node struct {
	shape        shape
	text         string // of a scalar: a string's value, the spelling of others
	items        []*node
	fields       []field // of a table, in the file's order
	line, column int
}

type field struct {
	name string
	node *node
}

// get returns a field of a table, nil if there is none.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.fields {
		if n.fields[i].name == name {
			return n.fields[i].node
		}
	}
	return nil
}

// str returns the text of a scalar field, "" if it is missing or no scalar.
func (n *node) str(name string) string {
	v := n.get(name)
	if v == nil || v.shape == shapeList || v.shape == shapeTable || v.shape == shapeNull {
		return ""
	}
	return v.text
}

// is reports whether n is there and of shape s.
func (n *node) is(s shape) bool { return n != nil && n.shape == s }

// strings returns the texts of a list's strings, or a string alone as a list.
func (n *node) strings() []string {
	if n.is(shapeText) {
		return []string{n.text}
	}
	var out []string
	for _, item := range n.list() {
		if item.is(shapeText) {
			out = append(out, item.text)
		}
	}
	return out
}

func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

func (n *node) table() []field {
	if n == nil {
		return nil
	}
	return n.fields
}

// file is a file being read: its path in the fs.FS, for messages, and its bytes.
type file struct {
	path string
	data []byte
}

// unreadable is the finding that f cannot be understood at a place.
func (f file) unreadable(line, column int, format string, args ...any) *diag.Error {
	return diag.New(diag.ImportUnreadable, "%s", fmt.Sprintf(format, args...)).At(f.path, line, column)
}

// place returns line and column of a byte offset, from 1.
func (f file) place(at int) (line, column int) {
	before := f.data[:min(max(at, 0), len(f.data))]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// parse reads the file by its name's ending and demands a table.
func (f file) parse() (*node, error) {
	data := bytes.TrimPrefix(f.data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, f.unreadable(0, 0, "the file is not UTF-8")
	}
	f.data = data
	read := parseJSON
	switch {
	case strings.HasSuffix(f.path, ".toml"), tomlLocks[base(f.path)]:
		read = parseTOML
	case strings.HasSuffix(f.path, ".yaml"), strings.HasSuffix(f.path, ".yml"):
		read = parseYAML
	}
	root, err := read(f)
	if err != nil {
		return nil, err
	}
	if !root.is(shapeTable) {
		return nil, f.unreadable(1, 1, "expected a table at the top, found %s", root.kind())
	}
	return root, nil
}

func (n *node) kind() shape {
	if n == nil {
		return shapeNull
	}
	return n.shape
}

// tomlLocks are locks in TOML whose names do not say so.
var tomlLocks = map[string]bool{"agents.lock": true, "agr.lock": true, "sx.lock": true}

func base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// version refuses a file of a version that its reader was not made for: what a
// later one means is unknown. A missing version is accepted.
func (f file) version(root *node, name string, known ...string) error {
	v := root.get(name)
	if v == nil {
		return nil
	}
	for _, k := range known {
		if v.text == k {
			return nil
		}
	}
	return f.unreadable(v.line, v.column, "%s %s of this file is not known; its reader was made for %s",
		name, diag.Escape(v.text), strings.Join(known, ", ")).WithHint("a newer skillpm may read it")
}
