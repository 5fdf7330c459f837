package tomledit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func place(s string) (p Place) {
	fmt.Sscanf(s, "%d:%d", &p.Line, &p.Column)
	return p
}

// genFile draws a file in the forms that people write, and returns its lines; a
// line that a key or a table owns begins with its name, comments of one too.
func genFile(t *rapid.T) string {
	eols := rapid.SampledFrom([][]string{{"\n"}, {"\r\n"}, {"\n", "\r\n"}}).Draw(t, "eols")
	var b strings.Builder
	line := func(s string) {
		b.WriteString(s + rapid.SampledFrom(eols).Draw(t, "eol"))
	}
	noise := func(owner string) {
		for range rapid.IntRange(0, 2).Draw(t, "noise") {
			line(rapid.SampledFrom([]string{"", "# detached", ""}).Draw(t, "noise line"))
		}
		if rapid.Bool().Draw(t, "blank") {
			line("")
			line("# of " + owner)
		}
	}
	values := []string{"1", "'x'", "\"y\\u00e4\" # behind", "[1, 'x', [2]]", "[\n  'x', # one\n  # of y\n  'y'\n]", "{ p = 1, q = 'x' }", "{}", "{ p.q = 1, p.r = 2 }", "1979-05-27", "'''\nx\n'''"}
	keys := func(prefix, where string) {
		for i := range rapid.IntRange(0, 4).Draw(t, "keys") {
			key := fmt.Sprintf("k%d", i)
			noise(where + key)
			line(strings.Repeat(" ", rapid.IntRange(0, 2).Draw(t, "indent")) + prefix + key + " = " + rapid.SampledFrom(values).Draw(t, "value"))
		}
	}
	keys("", "")
	keys("d.", "d.")
	for i := range rapid.IntRange(0, 3).Draw(t, "tables") {
		name := fmt.Sprintf("t%d", i)
		noise(name)
		switch rapid.SampledFrom([]string{"table", "array", "sub"}).Draw(t, "form") {
		case "table":
			line("[" + name + "] # behind")
			keys("", name+".")
		case "array":
			for range rapid.IntRange(1, 3).Draw(t, "elements") {
				line("[[" + name + "]]")
				keys("", name+".")
			}
		case "sub":
			line("[" + name + ".s]")
			keys("", name+".s.")
			line("[" + name + ".s.u]")
		}
	}
	noise("nothing")
	text := b.String()
	if rapid.Bool().Draw(t, "no last line end") {
		text = strings.TrimRight(text, "\r\n")
	}
	if rapid.Bool().Draw(t, "mark") {
		text = bom + text
	}
	return text
}

// genPath draws a path to a table or key of the file, or one beside them.
func genPath(t *rapid.T, v *Value) []string {
	var path []string
	for {
		names := []string{"new"}
		for _, f := range v.Fields {
			names = append(names, f.Name)
		}
		name := rapid.SampledFrom(names).Draw(t, "name")
		path = append(path, name)
		f := v.Field(name)
		if f == nil || f.Value.Kind != KindTable || len(f.Value.Fields) == 0 || rapid.Bool().Draw(t, "stop") {
			return path
		}
		v = f.Value
	}
}

// A file that is not edited is written as it was read, byte for byte.
func TestUneditedIsIdentical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genFile(t)
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got := d.render(); got != text {
			t.Fatalf("got\n%q\nwant\n%q", got, text)
		}
	})
}

// Any edits in a row mean what they say when they are read again (Apply compares
// the whole tree), and the lines that no edit is about stand there still, in
// their order.
func TestEditsMeanWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genFile(t)
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var done []string
		var lost []*Value
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			path := genPath(t, d.root)
			old := d.root.Get(path...)
			switch rapid.SampledFrom([]string{"set", "remove", "append", "insert", "strings"}).Draw(t, "edit") {
			case "set":
				v := rapid.SampledFrom([]*Value{String("new"), boolean(true), Strings("a", "b"), Inline(Pair{"p", String("x")})}).Draw(t, "value")
				again, _ := Parse([]byte("v = " + v.String()))
				if d.Set(again.root.Get("v"), path...) == nil {
					if got := d.root.Get(path...); got == nil || !got.equal(v) {
						t.Fatalf("set %v, have %v", v, got)
					}
					lost = append(lost, old)
					done = append(done, "set "+strings.Join(path, "."))
				}
			case "remove":
				if found := d.Remove(path...); found != (old != nil) || d.root.Get(path...) != nil {
					t.Fatalf("removed %v: %v", path, found)
				}
				lost = append(lost, old)
				done = append(done, "remove "+strings.Join(path, "."))
			case "append":
				if d.Append(String("last"), path...) == nil {
					if items := d.root.Get(path...).Items; items[len(items)-1].Text != "last" {
						t.Fatalf("appended to %v: %v", path, items)
					}
					done = append(done, "append "+strings.Join(path, "."))
				}
			case "insert":
				if d.InsertTable("[[t1]]\nk0 = 'new'\n", rapid.Bool().Draw(t, "first")) == nil {
					done = append(done, "insert")
				}
			case "strings":
				if d.SetStrings([]string{"y", "z"}, path...) == nil {
					lost = append(lost, old)
					done = append(done, "strings "+strings.Join(path, "."))
				}
			}
		}
		after, err := d.Apply()
		if err != nil {
			t.Fatalf("%v\n%v\n%s\n---\n%s", err, done, text, d.render())
		}
		mustKeepLines(t, text, string(after.Bytes()), lost, done)
	})
}

// mustKeepLines checks that every line of before is in after, in order, but for
// lines of values that were lost, their comments, and blank lines.
func mustKeepLines(t *rapid.T, before, after string, lost []*Value, done []string) {
	t.Helper()
	if strings.HasPrefix(before, bom) != strings.HasPrefix(after, bom) {
		t.Fatalf("byte order mark lost or made\n%q", after)
	}
	d, _ := Parse([]byte(before))
	gone := map[int]bool{}
	for e := d.top.next; e != nil; e = e.next {
		if !strings.Contains(after, e.head) {
			for at := d.Place(e.keys[0].start).Line; ; at++ {
				gone[at] = true
				if e.val == nil || at >= d.Place(e.val.End).Line {
					break
				}
			}
		}
	}
	if len(lost) > 0 {
		return
	}
	rest := after
	for i, line := range slices.Collect(strings.Lines(before)) {
		line = strings.TrimSpace(strings.TrimPrefix(line, bom))
		if line == "" || gone[i+1] || strings.ContainsAny(line, "[]{}'") {
			continue // arrays and inline tables may have been appended to
		}
		_, tail, ok := strings.Cut(rest, line)
		if !ok {
			t.Fatalf("%v lost %q of\n%s\nin\n%s", done, line, before, after)
		}
		rest = tail
	}
}

// One key is removed: everything but its lines and its comments is byte for byte
// what it was, blank lines around it left out.
func TestRemoveTouchesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genFile(t)
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var all []*entry
		for e := d.top.next; e != nil; e = e.next {
			if e.val != nil && len(e.val.defs) == 1 && e.section.array == false {
				all = append(all, e)
			}
		}
		if len(all) == 0 {
			return
		}
		e := rapid.SampledFrom(all).Draw(t, "key")
		path := names(e.keys)
		if e.section != d.top {
			path = append(names(e.section.keys), path...)
		}
		_, own := split(e.lead)
		head := strings.TrimSuffix(textUpTo(text, e), own)
		tail := text[len(textUpTo(text, e))+len(e.indent)+len(e.head)+(e.val.End-e.val.Start)+len(e.trail):]
		if !d.Remove(path...) {
			t.Fatalf("no %v in\n%s", path, text)
		}
		got := d.render()
		if want := squeeze(head) + squeeze(tail); squeeze(got) != want {
			t.Fatalf("removed %v of\n%q\ngot\n%q\nwant\n%q", path, text, squeeze(got), want)
		}
	})
}

// textUpTo returns the text before an entry's line.
func textUpTo(text string, e *entry) string {
	return text[:e.keys[0].start-len(e.indent)]
}

// squeeze drops blank lines.
func squeeze(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(text, bom)) {
		if !blank(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte("\ufeff# c\r\n[t]\r\na = 'x' # why\r\n\r\n[[r]]\nm = [1, {a=2}]\n"), "t", "a")
	f.Add([]byte("t.a.b = 1\nt.c = [\n 'x', # y\n]\n"), "t", "a")
	f.Add([]byte("t = { a.b = 1, c = {} }\n[u.t]\n[u]"), "u", "t")
	f.Add([]byte("[[t]]\n[t.a]\nx = \"\"\"\n\\\"\"\"\"\n[[t]]\n"), "t", "a")
	f.Fuzz(func(t *testing.T, data []byte, a, b string) {
		if !utf8.ValidString(a+b) || !utf8.ValidString(a) {
			return
		}
		Section(data, a)
		if utf8.Valid(data) && !bytes.HasPrefix(data, []byte(bom)) {
			agree(t, string(data))
		}
		d, err := Parse(data)
		if err != nil {
			e, ok := errors.AsType[*SyntaxError](err)
			if !ok || e.Line < 1 || e.Column < 1 || e.Offset > len(data) {
				t.Fatalf("%#v", err)
			}
			return
		}
		if got := d.render(); got != string(data) {
			t.Fatalf("unedited: %q, want %q", got, data)
		}
		set := d.Set(String("fuzzed"), a, b)
		next, err := d.Apply()
		if err != nil {
			t.Fatalf("set: %v\n%q", err, d.render())
		}
		if v := next.root.Get(a, b); set == nil && (v == nil || v.Text != "fuzzed") {
			t.Fatalf("not set: %q", next.Bytes())
		}
		next.Remove(a)
		if next, err = next.Apply(); err != nil {
			t.Fatalf("remove: %v", err)
		}
		if next.root.Field(a) != nil {
			t.Fatalf("not removed: %q", next.Bytes())
		}
	})
}

// What an edit costs does not grow with the file: a batch is one pass.
func BenchmarkRemoveAll(b *testing.B) {
	for _, n := range []int{2000, 8000} {
		var text bytes.Buffer
		text.WriteString("[skills]\n")
		for i := range n {
			fmt.Fprintf(&text, "# of %d\n\nskill-%d = \"^1 github.com/acme/skills//skills/skill-%d\"\n", i, i, i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				d, err := Parse(text.Bytes())
				if err != nil {
					b.Fatal(err)
				}
				for i := range n {
					d.Set(String("^2"), "skills", fmt.Sprintf("skill-%d", i))
					d.Set(String("^2"), "skills", fmt.Sprintf("new-%d", i))
					d.Remove("skills", fmt.Sprintf("skill-%d", i))
				}
				if _, err := d.Apply(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
