package manifest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// reader takes known fields out of tables and collects every mistake.
type reader struct {
	file       string
	data       []byte
	checkRange func(string) error
	list       diag.List
}

func (r *reader) fault(code diag.Code, at int, format string, args ...any) *diag.Error {
	line, column := place(r.data, at)
	e := diag.New(code, format, args...).At(r.file, line, column)
	r.list = append(r.list, e)
	return e
}

func (r *reader) invalid(at int, format string, args ...any) *diag.Error {
	return r.fault(diag.ManifestInvalid, at, format, args...)
}

// err returns the findings by position.
func (r *reader) err() error {
	r.list.Sort()
	return r.list.Err()
}

// known reports every field of t whose name is not among names.
func (r *reader) known(t *value, where string, names ...string) {
	for _, f := range t.fields {
		if slices.Contains(names, f.name) {
			continue
		}
		e := r.invalid(f.at, "unknown key `%s` in %s; known are %s", diag.Escape(f.name), where, strings.Join(names, ", "))
		if near := nearest(f.name, names); near != "" {
			e.WithHint("did you mean `%s`?", near)
		}
	}
}

func (r *reader) wrong(f *field, want string) {
	r.invalid(f.val.start, "`%s` must be %s, found %s", diag.Escape(f.name), want, f.val.kind)
}

// table returns the named sub-table, nil if it is absent or something else.
func (r *reader) table(t *value, name string) *value {
	f := t.field(name)
	switch {
	case f == nil:
		return nil
	case f.val.kind != kindTable:
		r.wrong(f, "a table")
		return nil
	}
	return f.val
}

// str returns a string field that is not empty, and its value node.
func (r *reader) str(t *value, name string) (string, *value) {
	f := t.field(name)
	switch {
	case f == nil:
		return "", nil
	case f.val.kind != kindString:
		r.wrong(f, "a string")
		return "", nil
	case f.val.text == "":
		r.invalid(f.val.start, "`%s` is empty", name)
		return "", nil
	}
	return f.val.text, f.val
}

// choice returns a string field that must be one of words.
func (r *reader) choice(t *value, name string, words ...string) string {
	s, v := r.str(t, name)
	if v == nil || slices.Contains(words, s) {
		return s
	}
	e := r.invalid(v.start, "`%s` must be one of %s, found `%s`", name, strings.Join(words, ", "), diag.Escape(s))
	if near := nearest(s, words); near != "" {
		e.WithHint("did you mean `%s`?", near)
	}
	return ""
}

// strings returns an array of strings that are not empty; check may be nil and
// returns what is wrong with one, without its place.
func (r *reader) strings(t *value, name string, check func(string) *diag.Error) []string {
	f := t.field(name)
	if f == nil {
		return nil
	}
	if f.val.kind != kindArray {
		r.wrong(f, "an array of strings")
		return nil
	}
	list := []string{}
	for _, item := range f.val.items {
		switch {
		case item.kind != kindString:
			at := item.start
			if item.end <= item.start { // nested containers have no range
				at = f.val.start
			}
			r.invalid(at, "`%s` holds strings, found %s", name, item.kind)
		case item.text == "":
			r.invalid(item.start, "`%s` holds an empty string", name)
		case slices.Contains(list, item.text):
			r.invalid(item.start, "`%s` names `%s` twice", name, diag.Escape(item.text))
		default:
			if check != nil {
				if e := check(item.text); e != nil {
					line, column := place(r.data, item.start)
					r.list = append(r.list, e.At(r.file, line, column))
					continue
				}
			}
			list = append(list, item.text)
		}
	}
	return list
}

// places returns where the elements of an array of strings stand.
func (r *reader) places(t *value, name string) []Place {
	f := t.field(name)
	if f == nil {
		return nil
	}
	var list []Place
	for _, item := range f.val.items {
		line, column := place(r.data, item.start)
		list = append(list, Place{line, column})
	}
	return list
}

// boolean returns a boolean, nil if there is none.
func (r *reader) boolean(t *value, name string) *bool {
	f := t.field(name)
	if f == nil {
		return nil
	}
	if f.val.kind != kindBool {
		r.wrong(f, "true or false")
		return nil
	}
	yes := f.val.text == "true"
	return &yes
}

// size returns a whole number from 1.
func (r *reader) size(t *value, name string) int64 {
	f := t.field(name)
	if f == nil {
		return 0
	}
	if f.val.kind != kindInt {
		r.wrong(f, "an integer")
		return 0
	}
	n, err := strconv.ParseInt(f.val.text, 0, 64) // base 0 reads TOML's underscores and prefixes
	if err != nil || n < 1 {
		r.invalid(f.val.start, "`%s` must be a whole number from 1, found %s", name, f.val.text)
		return 0
	}
	return n
}

// nearest returns the word at an edit distance of at most 2, or "".
func nearest(s string, words []string) string {
	best, found := 3, ""
	for _, w := range words {
		if d := diag.Distance(strings.ToLower(s), w); d < best && d < len(w) {
			best, found = d, w
		}
	}
	return found
}
