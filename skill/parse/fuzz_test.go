package parse_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/skillpm/skillpm/skill/parse"
)

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"---\nname: a\ndescription: D.\n---\nbody", "\ufeff\n---\r\nname: x\r\n---", "---\na: b: c\nd: [e\n---\n",
		"---\nmetadata:\n  chain: [a, b/c]\n  async: yes\n  skillpm.requires.b: \"^1 a/b//c\"\n---\n", "---\nmetadata: {a: {b: [c]}}\n---\n",
		"---\nx: |\n  y\n  z: {\n---\n", "---\n? a\n: b\n---\n", "---\na: &x 1\nb: *x\n---\n", "---\nname: \"\\x41\"\n---\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, list := parse.Read(data, parse.Options{Dir: "a"})
		if s == nil && len(list) == 0 {
			t.Fatal("a skill was dropped silently")
		}
		if s == nil {
			return
		}
		if s.BodyOffset < 0 || s.BodyOffset+s.BodySize != len(data) {
			t.Fatalf("body at %d of %d bytes in a file of %d", s.BodyOffset, s.BodySize, len(data))
		}
		again, _ := parse.Read(data, parse.Options{Dir: "a"})
		if again.Name != s.Name || again.Description != s.Description || len(again.Metadata) != len(s.Metadata) {
			t.Fatal("two readings differ")
		}
	})
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte("---\nname: a\ndescription: D.\n---\n[x](y.md) `z`\n```\n[a](b)\n"), []byte(".{}"))
	f.Add([]byte("---\nname: a\ndescription: D.\nmetadata:\n  n: 1\n  chain:\n  - b\n---\n"), []byte("// x"))
	f.Fuzz(func(t *testing.T, text, training []byte) {
		base := t.TempDir()
		dir := filepath.Join(base, "a")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{parse.FileName: text, parse.TrainingFile: training} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		report := validate(t, base, "a", parse.ValidateOptions{})
		if len(report.Lines) == 0 {
			t.Fatal("a report without a line")
		}
		list, _, err := parse.Fixes(t.Context(), []string{"a"}, parse.ValidateOptions{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			list[i].Diff()
			fixed, _ := parse.Read(list[i].After, parse.Options{})
			if fixed == nil || fixed.Repaired {
				t.Fatalf("a fix that does not read:\n%s", list[i].Diff())
			}
		}
	})
}

func FuzzTraining(f *testing.F) {
	for _, text := range []string{
		".{}", ".{ .a = 1, .b = .{ \"x\", .y } }", "// c\n.{ .@\"a b\" = \"\\u{41}\\x41\\n\" }", ".{ .a = \\\\x\n\\\\y\n}", "-0x1F", "1_000.5e-3", ".{,}", ".{ .a = .{", "\"", ".",
		`.{ .schema = "chock.skill-training", .version = 1, .skill = "a", .mode = .hybrid, .suites = .{ .train = "a", .validation = "b", .@"test" = "c" } }`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		training, list := parse.ReadTraining(data, "a")
		if (training == nil) == (len(list) == 0) {
			t.Fatalf("training %v with %d findings", training, len(list))
		}
		for _, e := range list {
			if e.Line < 1 || e.Column < 1 {
				t.Fatalf("%s at %d:%d", e.Message, e.Line, e.Column)
			}
		}
	})
}
