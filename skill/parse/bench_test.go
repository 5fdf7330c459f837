package parse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillpm/skillpm/skill/parse"
)

// benchSkill has the shape of a published skill: 6 KB of text, a few files.
func benchSkill(b *testing.B, dir string, i int) {
	b.Helper()
	name := fmt.Sprintf("skill-%d", i)
	text := "---\nname: " + name + "\ndescription: Sorts parts by size. Use when a tray of parts must be sorted.\nlicense: MIT\n"
	if i%2 == 0 {
		text += "metadata:\n  author: tray-co\n  tags: [a, b]\nallowed-tools: Read Bash(jq:*)\n"
	}
	text += "---\n\n# Steps\n"
	for j := range 100 {
		text += fmt.Sprintf("\n%d. Look at `scripts/run.py`, then read [the guide](references/guide.md).", j)
	}
	for file, data := range map[string]string{"SKILL.md": text, "scripts/run.py": "print(1)\n", "references/guide.md": "# Guide\n", "LICENSE.txt": "MIT\n"} {
		path := filepath.Join(dir, name, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkValidate is a layer of 1,000 skills; the goal is a second on two
// cores.
func BenchmarkValidate(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		benchSkill(b, dir, i)
	}
	for b.Loop() {
		report, err := parse.Validate(b.Context(), []string{dir}, parse.ValidateOptions{})
		if err != nil || report.Skills != 1000 || report.Err() != nil {
			b.Fatal(report.Skills, err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	benchSkill(b, dir, 2)
	data, err := os.ReadFile(filepath.Join(dir, "skill-2", "SKILL.md"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if s, _ := parse.Read(data, parse.Options{}); s == nil {
			b.Fatal("nothing was read")
		}
	}
}
