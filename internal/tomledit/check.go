package tomledit

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// A tokenizer does not know what was defined before, nor which numbers and days
// there are. go-toml's decoder knows both, but its cost grows with the square of
// a table's keys; so it is asked about single values alone, and what is defined
// twice is found here. The tests hold both against the decoder.

// conflict returns why an entry cannot define what it says below a table, nil if
// it can (toml.io, sections Keys and Table).
func conflict(at *Value, e *entry) *SyntaxError {
	for i, p := range e.keys {
		f := at.Field(p.name)
		if f == nil {
			return nil
		}
		v, last := f.Value, i == len(e.keys)-1
		open := v.Kind == KindTable && v.body == nil
		list := v.Kind == KindArray && v.body == nil
		ok := true
		switch {
		case last && e.array:
			ok = list
		case last && e.header:
			ok = open && v.header == nil && len(v.dotted) == 0
		case last:
			ok = false
		case e.header:
			ok = open || list && len(v.Items) > 0
		default: // a dotted key may go on with what one of the same section began
			ok = open && v.header == nil && len(v.dotted) > 0 && v.dotted[0].e.section == e.section
		}
		if !ok {
			return &SyntaxError{Offset: p.start, Message: "`" + p.name + "` is already defined"}
		}
		if at = v; list {
			at = v.Items[len(v.Items)-1]
		}
	}
	return nil
}

// check asks the decoder about a number, a date or a time.
func (v *Value) check() *SyntaxError {
	var got map[string]any
	err := toml.Unmarshal([]byte("v = "+v.raw), &got)
	if err == nil {
		return nil
	}
	message := err.Error()
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		message = strings.TrimPrefix(e.Error(), "toml: ")
	}
	return &SyntaxError{Offset: v.Start, Message: message}
}
