package tomledit

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type change func(*Document) error

func set(v *Value, path ...string) change {
	return func(d *Document) error { return d.Set(v, path...) }
}

func remove(path ...string) change {
	return func(d *Document) error {
		if !d.Remove(path...) {
			return errors.New("not there")
		}
		return nil
	}
}

func insert(text string, first bool) change {
	return func(d *Document) error { return d.InsertTable(text, first) }
}

func dropX(path ...string) change {
	return func(d *Document) error {
		d.RemoveItems(func(v *Value) bool { return v.Text == "x" || v.Get("n") != nil && v.Get("n").Text == "x" }, path...)
		return nil
	}
}

func TestEdits(t *testing.T) {
	tests := []struct {
		name, before, after string
		changes             []change
	}{
		{"same meaning stays", "a = 'x' # why\n", "a = 'x' # why\n", []change{set(String("x"), "a")}},
		{"a value of several lines", "a = '''\nx\ny''' # why\nb = 1\n", "a = \"z\" # why\nb = 1\n", []change{set(String("z"), "a")}},
		{"at the root before tables", "# top\n\n# of t\n[t]\n", "# top\n\na = true\n\n# of t\n[t]\n", []change{set(boolean(true), "a")}},
		{"into nothing", "", "[t]\na = \"x\"\n", []change{set(String("x"), "t", "a")}},
		{"below a mark and a comment", "\ufeff# c", "\ufeff# c\n\n[t]\na = \"x\"\n", []change{set(String("x"), "t", "a")}},
		{"indented as its neighbour", "[t]\n  a = 1\n", "[t]\n  a = 1\n  b = \"x\"\n", []change{set(String("x"), "t", "b")}},
		{"mixed line ends", "[t]\r\na = 1\r\n[u]\nb = 2\n", "[t]\r\na = 1\r\nx = \"y\"\r\n[u]\nb = 2\nx = \"y\"\n", []change{set(String("y"), "t", "x"), set(String("y"), "u", "x")}},
		{"no last line end", "[t]\na = 1", "[t]\na = 1\nb = \"x\"\nc = \"y\"", []change{set(String("x"), "t", "b"), set(String("y"), "t", "c")}},
		{"dotted in an inline table", "t = { a.b = 1 }\n", "t = { a.b = 1, a.c = \"x\" }\n", []change{set(String("x"), "t", "a", "c")}},
		{"tables in an inline table", "t = {}\n", "t = { a = { b = \"x\" } }\n", []change{set(String("x"), "t", "a", "b")}},
		{"a table twice", "", "[t]\na = \"x\"\nb = \"y\"\n", []change{set(String("x"), "t", "a"), set(String("y"), "t", "b")}},
		{"what was set is set again", "[t]\n", "[t]\na = { x = \"y\", z = true }\n", []change{set(String("x"), "t", "a"), set(Inline(Pair{"x", String("y")}), "t", "a"), set(boolean(true), "t", "a", "z")}},
		{"what was removed is set again", "[t]\n# of a\na = 1\nb = 2\n", "[t]\nb = 2\na = \"x\"\n", []change{remove("t", "a"), set(String("x"), "t", "a")}},
		{"a table removed and made again", "[t]\na = 1\n\n[u]\n", "[u]\n\n[t]\na = \"x\"\n", []change{remove("t"), set(String("x"), "t", "a")}},

		{"its comments go", "a = 1\n# of b\n# too\nb = 2 # and this\n# of c\nc = 3\n", "a = 1\n# of c\nc = 3\n", []change{remove("b")}},
		{"a comment apart stays", "a = 1\n\n# general\n\n# of b\nb = 2\n\nc = 3\n", "a = 1\n\n# general\n\nc = 3\n", []change{remove("b")}},
		{"blank lines do not pile up", "a = 1\n\nb = 2\n\nc = 3\n\nd = 4\n", "a = 1\n\nd = 4\n", []change{remove("b"), remove("c")}},
		{"nor at the end", "a = 1\n\nb = 2\n", "a = 1\n", []change{remove("b")}},
		{"nor at the beginning", "# of a\na = 1\n\nb = 2\n", "b = 2\n", []change{remove("a")}},
		{"own blank lines stay", "a = 1\n\n\nb = 2\nc = 3\n", "a = 1\n\n\nb = 2\n", []change{remove("c")}},
		{"a table with all its comments", "[a]\nx = 1\n\n# of t\n[t]\n# of x\nx = 1\n\n# inside\n\ny = 2\n# off = 1\n\n# of b\n[b]\n", "[a]\nx = 1\n\n# of b\n[b]\n", []change{remove("t")}},
		{"comments below are the next table's", "[t]\nx = 1\n# of b\n[b]\n", "# of b\n[b]\n", []change{remove("t")}},
		{"a table and its sub-tables", "[t.a]\nx = 1\n[u]\n[t.b]\nx = 1\n", "[u]\n", []change{remove("t")}},
		{"a table's only key", "[t]\na = 1\n", "[t]\n", []change{remove("t", "a")}},
		{"the last of a dotted table", "t.a = 1\nu = 2\n", "u = 2\nt = \"x\"\n", []change{remove("t", "a"), set(String("x"), "t")}},

		{"element on its line", "a = [\n  # of x\n  'x', # why\n  'y',\n]\n", "a = [\n  'y',\n]\n", []change{dropX("a")}},
		{"last element, comment kept", "a = [\n  'y', # of y\n  'x' # of x\n]\n", "a = [\n  'y' # of y\n]\n", []change{dropX("a")}},
		{"elements on one line", "a = ['x', 'y', 'x']\n", "a = ['y']\n", []change{dropX("a")}},
		{"the only element", "a = [ 'x' ]\n", "a = []\n", []change{dropX("a")}},
		{"append behind a comment", "a = [\n\t'y' # of y\n]\n", "a = [\n\t'y', # of y\n\t\"z\",\n]\n", []change{func(d *Document) error { return d.Append(String("z"), "a") }}},
		{"append to comments", "a = [\n  # none\n]\n", "a = [\n  # none\n\"z\"]\n", []change{func(d *Document) error { return d.Append(String("z"), "a") }}},
		{"append makes the list", "[t]\nb = 1\n", "[t]\nb = 1\n\n[t.u]\na = [\"z\"]\n", []change{func(d *Document) error { return d.Append(String("z"), "t", "u", "a") }}},

		{"a table first", "a = 1\n\n# of x\n[[t]]\nn = 'x'\n", "a = 1\n\n[[t]]\nn = \"y\"\n\n# of x\n[[t]]\nn = 'x'\n", []change{insert("[[t]]\nn = \"y\"\n", true)}},
		{"a table last", "[[t]]\nn = 'x'", "[[t]]\nn = 'x'\n\n[[t]]\nn = \"y\"\n", []change{insert("[[t]]\nn = \"y\"\n", false)}},
		{"tables with sub-tables", "[[t]]\nn = 'x'\n[t.s]\na = 1\n\n[[t]]\nn = 'y'\n[t.s]\na = 2\n", "[[t]]\nn = 'y'\n[t.s]\na = 2\n", []change{dropX("t")}},
		{"every table", "[a]\n\n[[t]]\nn = 'x'\n\n[[t]]\nn = 'x'\n", "[a]\n", []change{dropX("t")}},
		{"removed and inserted", "[a]\n\n# of x\n[[t]]\nn = 'x'\n", "[a]\n\n[[t]]\nn = \"z\"\n", []change{dropX("t"), insert("[[t]]\nn = \"z\"\n", true)}},
		{"CRLF", "[[t]]\r\nn = 'x'\r\n", "[[t]]\r\nn = \"z\"\r\n\r\n[[t]]\r\nn = 'x'\r\n", []change{insert("[[t]]\nn = \"z\"\n", true)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Parse([]byte(tt.before))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range tt.changes {
				if err := c(d); err != nil {
					t.Fatal(err)
				}
			}
			text := d.render()
			if diff := cmp.Diff(tt.after, text); diff != "" {
				t.Error(diff)
			}
			if _, err := d.Apply(); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// An edit for which the file's form has no place says where, and changes nothing
// else than it says.
func TestNoPlace(t *testing.T) {
	tests := []struct {
		name, text, at string
		change         change
	}{
		{"below a string", "a = 1\nb = 'x'\n", "2:5", set(String("x"), "b", "c")},
		{"a table in place of", "[a]\n[a.b]\n", "2:4", set(String("x"), "a", "b")},
		{"a dotted table in place of", "a.b = 1\n", "1:1", set(String("x"), "a")},
		{"append to a string", "a = 'x'\n", "1:5", func(d *Document) error { return d.Append(String("x"), "a") }},
		{"append to tables", "[[a]]\n", "1:3", func(d *Document) error { return d.Append(String("x"), "a") }},
		{"a table into an inline table", "a = { b = 1 }\n", "1:5", insert("[[a.c]]\n", false)},
		{"a table into an array", "a = [{ b = 1 }]\n", "1:5", insert("[[a]]\n", false)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			e, ok := errors.AsType[*FormError](tt.change(d))
			if !ok || e.Place != place(tt.at) {
				t.Errorf("got %+v, want one at %s", e, tt.at)
			}
		})
	}
}

// boolean is a kind of value that Set takes and nobody makes outside tests.
func boolean(b bool) *Value {
	text := strconv.FormatBool(b)
	return &Value{Kind: KindBool, Text: text, raw: text}
}
