package parse_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/parse"
)

// fixes returns the repairs of one skill `a` whose file has the given name.
func fixes(t *testing.T, file, text string) []parse.Fix {
	t.Helper()
	base := t.TempDir()
	writeCaseFile(t, base, caseFile{Path: "a/" + file, Text: text})
	list, _, err := parse.Fixes(t.Context(), []string{"a"}, parse.ValidateOptions{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestFixesChangeNothingElse(t *testing.T) {
	front := func(lines string) string { return "---\nname: a\n" + lines + "---\nbody --- \n\ttext" }
	for _, c := range []struct{ name, before, after string }{
		{"a colon", front("description: Use when: it's so\n"), front("description: 'Use when: it''s so'\n")},
		{"a value over two lines", front("description: Use\n  when: so\nlicense: MIT\n"), front("description: 'Use when: so'\nlicense: MIT\n")},
		{"a number", front("description: D.\nmetadata:\n  version: 1.10 # ours\n"), front("description: D.\nmetadata:\n  version: \"1.10\" # ours\n")},
		{"a chain", front("description: D.\nmetadata:\n  chain:\n  - b\n  - c\n  x: y\n"), front("description: D.\nmetadata:\n  chain: \"b, c\"\n  x: y\n")},
		{"a flow chain", front("description: D.\nmetadata:\n  chain: [b, c]\n"), front("description: D.\nmetadata:\n  chain: \"b, c\"\n")},
		{"CRLF", "---\r\nname: a\r\ndescription: x: y\r\n---\r\nb\r\n", "---\r\nname: a\r\ndescription: 'x: y'\r\n---\r\nb\r\n"},
		{"two places", front("description: 3\ncompatibility: 4\n"), front("description: \"3\"\ncompatibility: \"4\"\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := fixes(t, "SKILL.md", c.before)
			if len(list) != 1 {
				t.Fatalf("%d fixes, want 1", len(list))
			}
			if diff := cmp.Diff(c.after, string(list[0].After)); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFixesLeaveAloneWhatIsAGuess(t *testing.T) {
	for name, text := range map[string]string{
		"nothing to do":             "---\nname: a\ndescription: D.\n---\n",
		"no frontmatter":            "# A\n",
		"a duplicate key":           "---\nname: a\nname: b\n---\n",
		"a broken bracket":          "---\nname: a\nmetadata:\n  - [x\n---\n",
		"a chain with a comment":    "---\nname: a\ndescription: D.\nmetadata:\n  chain:\n    - b # first\n---\n",
		"a member with a comma":     "---\nname: a\ndescription: D.\nmetadata:\n  chain: ['b, c']\n---\n",
		"a name that breaks a rule": "---\nname: B_C\ndescription: D.\n---\n",
	} {
		t.Run(name, func(t *testing.T) {
			if list := fixes(t, "SKILL.md", text); len(list) != 0 {
				t.Errorf("fixes %v:\n%s", list[0].What, list[0].Diff())
			}
		})
	}
}

func TestFixRenamesTheFile(t *testing.T) {
	list := fixes(t, "skill.md", "---\nname: a\ndescription: D.\n---\n")
	if len(list) != 1 || list[0].From != "skill.md" || list[0].To != "SKILL.md" || string(list[0].Before) != string(list[0].After) {
		t.Fatalf("got %+v", list)
	}
	if !strings.HasPrefix(list[0].Diff(), "--- a/skill.md\n+++ a/SKILL.md\n") {
		t.Errorf("diff:\n%s", list[0].Diff())
	}
}

func TestFixDoesNotWriteThroughALink(t *testing.T) {
	base := t.TempDir()
	writeCaseFile(t, base, caseFile{Path: "a/real.md", Text: "---\nname: a\ndescription: x: y\n---\n"})
	writeCaseFile(t, base, caseFile{Path: "a/SKILL.md", Symlink: "real.md"})
	list, _, err := parse.Fixes(t.Context(), []string{"a"}, parse.ValidateOptions{Base: base})
	if err != nil || len(list) != 0 {
		t.Errorf("%d fixes, error %v; want none", len(list), err)
	}
}

func TestDiffIsUnified(t *testing.T) {
	list := fixes(t, "SKILL.md", "---\nname: a\ndescription: 3\nlicense: MIT\ncompatibility: 4\nmetadata:\n  a: b\n  c: d\n  e: f\n  g: h\n  i: j\n  chain:\n    - b\n---\n")
	want := `--- a/SKILL.md
+++ a/SKILL.md
@@ -1,7 +1,7 @@
 ---
 name: a
-description: 3
+description: "3"
 license: MIT
-compatibility: 4
+compatibility: "4"
 metadata:
   a: b
@@ -10,6 +10,5 @@
   g: h
   i: j
-  chain:
-    - b
+  chain: "b"
 ---
 
`
	if diff := cmp.Diff(want, list[0].Diff()); diff != "" {
		t.Errorf("diff differs (-want +got):\n%s", diff)
	}
}

// A new skill has no problems, and notes for what nobody has written yet.
func TestScaffoldValidates(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "my-new-skill")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, parse.FileName), parse.Scaffold("my-new-skill"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := validate(t, base, "my-new-skill", parse.ValidateOptions{StrictSpec: true})
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	for _, e := range r.Findings() {
		if e.Code != diag.PlaceholderLeft {
			t.Errorf("finding %v", e)
		}
	}
	if len(r.Findings()) != 2 {
		t.Errorf("report:\n%s", r.Text())
	}
}
