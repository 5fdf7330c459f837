package interop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Each testdata/*.txtar holds the files of one project as another tool left it;
// the file `want` is what is read from them.
func TestFormats(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fsys, want := fstest.MapFS{}, ""
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				fsys[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			docs, err := Detect(fsys)
			got := describe(docs, err)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				rewrite(t, name, archive, got)
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func rewrite(t *testing.T, name string, archive *txtar.Archive, got string) {
	t.Helper()
	for i := range archive.Files {
		if archive.Files[i].Name == "want" {
			archive.Files[i].Data = []byte(got)
		}
	}
	if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// describe writes documents as one line a fact.
func describe(docs []*Document, err error) string {
	var b strings.Builder
	for _, d := range docs {
		fmt.Fprintf(&b, "%s: %s\n", d.Tool, strings.Join(d.Files, " "))
		for _, a := range d.Agents {
			fmt.Fprintf(&b, "  agent %s %s\n", at(a.Place), a.ID)
		}
		for _, i := range d.Items {
			fmt.Fprintf(&b, "  take %s %s", at(i.Place), i.Source.Identity())
			for _, f := range []struct{ name, value string }{
				{"key", i.Key}, {"pick", strings.Join(i.Pick, ",")}, {"exclude", strings.Join(i.Exclude, ",")},
				{"range", i.Range}, {"ref", i.Ref}, {"commit", i.Commit}, {"tag", i.Tag}, {"tree", i.Tree},
			} {
				if f.value != "" {
					fmt.Fprintf(&b, " %s=%s", f.name, f.value)
				}
			}
			if i.Whole {
				b.WriteString(" whole")
			}
			b.WriteString("\n")
		}
		for _, s := range d.Skipped {
			fmt.Fprintf(&b, "  skip %s %s: %s\n", at(s.Place), s.Name, s.Reason)
		}
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "  note %s:%d:%d %s\n", n.File, n.Line, n.Column, n.Message)
		}
	}
	for _, e := range diag.All(err) {
		fmt.Fprintf(&b, "error %s:%d:%d %s: %s\n", e.File, e.Line, e.Column, e.Code, e.Message)
	}
	return b.String()
}

func at(p Place) string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Every pattern of the table has a reader, and every reader a pattern.
func TestTableIsWhole(t *testing.T) {
	used := map[string]bool{}
	for _, f := range formats() {
		if readers[f.reader] == nil {
			t.Errorf("%s: no reader %q", f.pattern, f.reader)
		}
		used[f.reader] = true
		if !matches(f.pattern, strings.ReplaceAll(f.pattern, "*", "x")) {
			t.Errorf("%s does not match itself", f.pattern)
		}
	}
	for name := range readers {
		if !used[name] {
			t.Errorf("no file leads to reader %q", name)
		}
	}
}

func TestLocate(t *testing.T) {
	for _, c := range []struct{ file, dir, name string }{
		{"/p/skills-lock.json", "/p", "skills-lock.json"},
		{"/p/.claude-plugin/marketplace.json", "/p", ".claude-plugin/marketplace.json"},
		{"/home/a/.agents/.skill-lock.json", "/home/a", ".agents/.skill-lock.json"},
		{"/state/skills/.skill-lock.json", "/state/skills", ".skill-lock.json"},
		{"/p/.claude/skills/pdf/SKILL.md", "/p", ".claude/skills/pdf/SKILL.md"},
		{"/skills-lock.json", "/", "skills-lock.json"},
		{"a/what.txt", "a", "what.txt"},
		{"what.txt", "", "what.txt"},
	} {
		if dir, name := Locate(c.file); dir != c.dir || name != c.name {
			t.Errorf("Locate(%q) = %q, %q; want %q, %q", c.file, dir, name, c.dir, c.name)
		}
	}
}

// What stands in a file can make a reader refuse it, never hang, panic or be
// read twice.
func TestHostileFiles(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+2)
	for name, c := range map[string]struct{ file, text, want string }{
		"deep json":    {"skills-lock.json", `{"version":1,"skills":` + strings.Repeat(`{"a":`, maxDepth+2), "nested deeper"},
		"deep toml":    {"agents.toml", "version = 1\nskills = " + deep + strings.Repeat("]", maxDepth+2), "nested deeper"},
		"deep yaml":    {"apm.yml", "a: " + deep + strings.Repeat("]", maxDepth+2), "not YAML"},
		"twice":        {"skills-lock.json", `{"version":1,"skills":{"a":{},"a":{}}}`, `the key "a" stands twice`},
		"trailing":     {"skills-lock.json", `{"version":1,"skills":{}} {}`, "after the end"},
		"alias":        {"apm.yml", "name: &a x\nversion: *a\n", "anchor or alias"},
		"not utf-8":    {"skills-lock.json", "{\"version\":1,\"skills\":{\"\xff\":{}}}", "not UTF-8"},
		"no table":     {"skills-lock.json", `[]`, "expected a table"},
		"new version":  {"skills-lock.json", `{"version":9,"skills":{}}`, "version 9"},
		"marketplaces": {".claude-plugin/marketplace.json", `{"plugins":[{"name":"x","source":"./../../etc"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(fstest.MapFS{c.file: {Data: []byte(c.text)}}, c.file)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			e, ok := errors.AsType[*diag.Error](err)
			if !ok || e.Code != diag.ImportUnreadable || !strings.Contains(e.Message, c.want) || e.File != c.file {
				t.Errorf("got %v, want %q in %s", err, c.want, c.file)
			}
		})
	}
}

func TestReadRefusesUnknownNames(t *testing.T) {
	_, err := Read(fstest.MapFS{"x.json": {Data: []byte("{}")}}, "x.json")
	if diag.CodeOf(err) != diag.Usage {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"toolhive.lock.yaml", ".skill-lock.json", ".claude/skills/x/SKILL.md"} {
		pipe := fstest.MapFS{name: {Mode: fs.ModeNamedPipe}}
		if _, err := Read(pipe, name); diag.CodeOf(err) != diag.ImportUnreadable {
			t.Errorf("%s as a pipe: %v", name, err)
		}
	}
	if _, err := Detect(fstest.MapFS{}); err != nil {
		t.Error(err)
	}
}

// Whatever a file holds, a reader ends, and what it takes is well-formed.
func FuzzRead(f *testing.F) {
	names := []string{}
	for _, form := range formats() {
		names = append(names, strings.ReplaceAll(form.pattern, "*", "x"))
	}
	cases, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range cases {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			for n, known := range names {
				if base(known) == base(file.Name) {
					f.Add(n, file.Data)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, n int, data []byte) {
		if n < 0 || n >= len(names) {
			return
		}
		var fsys fs.FS = fstest.MapFS{names[n]: {Data: data}}
		doc, err := Read(fsys, names[n])
		if (doc == nil) == (err == nil) {
			t.Fatalf("document %v, error %v", doc, err)
		}
		if doc == nil {
			return
		}
		for _, i := range doc.Items {
			if i.Source.IsZero() || i.Commit != "" && !skill.IsObjectID(i.Commit) || i.File == "" {
				t.Errorf("%+v", i)
			}
		}
	})
}
