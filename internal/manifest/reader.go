package manifest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/tomledit"
)

// reader takes known fields out of tables and collects every mistake.
type reader struct {
	file       string
	doc        *tomledit.Document
	checkRange func(string) error
	list       diag.List
}

func (r *reader) fault(code diag.Code, at int, format string, args ...any) *diag.Error {
	p := r.doc.Place(at)
	e := diag.New(code, format, args...).At(r.file, p.Line, p.Column)
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
func (r *reader) known(t *tomledit.Value, where string, names ...string) {
	for _, f := range t.Fields {
		if slices.Contains(names, f.Name) {
			continue
		}
		e := r.invalid(f.At, "unknown key `%s` in %s; known are %s", diag.Escape(f.Name), where, strings.Join(names, ", "))
		near := elsewhere[strings.ToLower(f.Name)]
		if !slices.Contains(names, near) {
			near = nearest(f.Name, names)
		}
		if near != "" {
			e.WithHint("did you mean `%s`?", near)
		}
	}
}

// elsewhere maps what other package managers call the fields of an entry to what
// they are called here.
var elsewhere = map[string]string{
	"git": "source", "github": "source", "url": "source", "repo": "source", "repository": "source", "src": "source",
	"branch": "ref", "tag": "ref", "rev": "ref", "revision": "ref", "commit": "ref",
	"range": "version", "constraint": "version", "local": "path", "dir": "path", "directory": "path",
	"sha256": "digest", "hash": "digest", "checksum": "digest", "integrity": "digest",
	"optional": "use", "required": "use", "pin": "hold", "pinned": "hold", "frozen": "hold", "locked": "hold",
}

func (r *reader) wrong(f *tomledit.Field, want string) {
	r.invalid(f.Value.Start, "`%s` must be %s, found %s", diag.Escape(f.Name), want, f.Value.Kind)
}

// table returns the named sub-table, nil if it is absent or something else.
func (r *reader) table(t *tomledit.Value, name string) *tomledit.Value {
	f := t.Field(name)
	switch {
	case f == nil:
		return nil
	case f.Value.Kind != tomledit.KindTable:
		r.wrong(f, "a table")
		return nil
	}
	return f.Value
}

// str returns a string field that is not empty, and its value node.
func (r *reader) str(t *tomledit.Value, name string) (string, *tomledit.Value) {
	f := t.Field(name)
	switch {
	case f == nil:
		return "", nil
	case f.Value.Kind != tomledit.KindString:
		r.wrong(f, "a string")
		return "", nil
	case f.Value.Text == "":
		r.invalid(f.Value.Start, "`%s` is empty", name)
		return "", nil
	}
	return f.Value.Text, f.Value
}

// choice returns a string field that must be one of words.
func (r *reader) choice(t *tomledit.Value, name string, words ...string) string {
	s, v := r.str(t, name)
	if v == nil || slices.Contains(words, s) {
		return s
	}
	e := r.invalid(v.Start, "`%s` must be one of %s, found `%s`", name, strings.Join(words, ", "), diag.Escape(s))
	if near := nearest(s, words); near != "" {
		e.WithHint("did you mean `%s`?", near)
	}
	return ""
}

// strings returns an array of strings that are not empty; check may be nil and
// returns what is wrong with one, without its place.
func (r *reader) strings(t *tomledit.Value, name string, check func(string) *diag.Error) []string {
	f := t.Field(name)
	if f == nil {
		return nil
	}
	if f.Value.Kind != tomledit.KindArray {
		r.wrong(f, "an array of strings")
		return nil
	}
	list := []string{}
	for _, item := range f.Value.Items {
		switch {
		case item.Kind != tomledit.KindString:
			r.invalid(item.Start, "`%s` holds strings, found %s", name, item.Kind)
		case item.Text == "":
			r.invalid(item.Start, "`%s` holds an empty string", name)
		case slices.Contains(list, item.Text):
			r.invalid(item.Start, "`%s` names `%s` twice", name, diag.Escape(item.Text))
		default:
			if check != nil {
				if e := check(item.Text); e != nil {
					p := r.doc.Place(item.Start)
					r.list = append(r.list, e.At(r.file, p.Line, p.Column))
					continue
				}
			}
			list = append(list, item.Text)
		}
	}
	return list
}

// places returns where the elements of an array of strings stand.
func (r *reader) places(t *tomledit.Value, name string) []Place {
	f := t.Field(name)
	if f == nil {
		return nil
	}
	var list []Place
	for _, item := range f.Value.Items {
		list = append(list, Place(r.doc.Place(item.Start)))
	}
	return list
}

// boolean returns a boolean, nil if there is none.
func (r *reader) boolean(t *tomledit.Value, name string) *bool {
	f := t.Field(name)
	if f == nil {
		return nil
	}
	if f.Value.Kind != tomledit.KindBool {
		r.wrong(f, "true or false")
		return nil
	}
	yes := f.Value.Text == "true"
	return &yes
}

// size returns a whole number from 1.
func (r *reader) size(t *tomledit.Value, name string) int64 {
	f := t.Field(name)
	if f == nil {
		return 0
	}
	if f.Value.Kind != tomledit.KindInteger {
		r.wrong(f, "an integer")
		return 0
	}
	n, err := strconv.ParseInt(f.Value.Text, 0, 64) // base 0 reads TOML's underscores and prefixes
	if err != nil || n < 1 {
		r.invalid(f.Value.Start, "`%s` must be a whole number from 1, found %s", name, f.Value.Text)
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
