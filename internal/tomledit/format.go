package tomledit

import (
	"fmt"
	"strings"
)

// The functions here make values for Set and Append. A value can be used once. Strings
// and keys must be UTF-8.

// String makes a basic string.
func String(s string) *Value {
	return &Value{Kind: KindString, Text: s, raw: Quote(s)}
}

// Strings makes an array of strings on one line.
func Strings(list ...string) *Value {
	v := newInline(KindArray, "[", "]")
	for _, s := range list {
		v.append(&entry{val: String(s)}, "\n")
	}
	return v
}

// Pair is a key and its value, for Inline.
type Pair struct {
	Key   string
	Value *Value
}

// Inline makes an inline table on one line.
func Inline(pairs ...Pair) *Value {
	v := newInline(KindTable, "{", "}")
	for _, p := range pairs {
		v.append(newEntry(p.Value, p.Key), "\n")
	}
	return v
}

func newInline(kind Kind, open, close string) *Value {
	v := &Value{Kind: kind, body: &body{open: open, close: close}}
	v.body.owner = v
	return v
}

// newEntry makes a key with its value; several names are a dotted key.
func newEntry(v *Value, names ...string) *entry {
	return &entry{keys: parts(names), val: v, head: quotePath(names) + " = "}
}

func parts(names []string) []part {
	keys := make([]part, len(names))
	for i, name := range names {
		keys[i].name = name
	}
	return keys
}

// quoteKey returns name as a bare key if it may be one, else in quotes.
func quoteKey(name string) string {
	bare := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	if bare {
		return name
	}
	return Quote(name)
}

func quotePath(path []string) string {
	quoted := make([]string, len(path))
	for i, p := range path {
		quoted[i] = quoteKey(p)
	}
	return strings.Join(quoted, ".")
}

// Quote returns s as a basic string (toml.io, section String). Control characters
// are escaped, those beyond ASCII too.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// String returns a value as it is written.
func (v *Value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}
