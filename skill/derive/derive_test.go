package derive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
	"github.com/skillpm/skillpm/skill/parse"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// load reads a skill from a file system; everything under scripts/ but data is
// executable, so that the goldens do not depend on the checkout's modes.
func load(t testing.TB, fsys fs.FS) *derive.Skill {
	t.Helper()
	text, err := fs.ReadFile(fsys, "SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	var files []skill.File
	err = fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, path)
		files = append(files, skill.File{
			Path: path, Exec: path == "scripts/plot", Size: int64(len(data)), SHA256: sha256.Sum256(data),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := skill.NewTree(files, skill.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	p, findings := parse.Read(text, parse.Options{Dir: "report"})
	if p == nil {
		t.Fatal(findings)
	}
	return derive.Of(p, text, tree, func(path string) ([]byte, error) { return fs.ReadFile(fsys, path) })
}

func report(t testing.TB) *derive.Skill {
	s := load(t, os.DirFS("testdata/report"))
	s.Version = "1.2.0"
	return s
}

// golden compares got with testdata/golden/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCard(t *testing.T) {
	card, err := derive.NewCard(report(t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "card.json", asJSON(t, card))
}

func TestResources(t *testing.T) {
	rows, err := derive.Resources(report(t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "resources.json", asJSON(t, rows))
}

func TestPack(t *testing.T) {
	for _, test := range []struct {
		golden string
		opt    derive.PackOptions
	}{
		{"pack.json", derive.PackOptions{}},
		{"pack_intent.json", derive.PackOptions{Intent: "style", Assets: derive.IncludeAlways, References: derive.IncludeAuto}},
		{"pack_small.json", derive.PackOptions{Budget: 120, Examples: derive.IncludeAlways}},
	} {
		pack, err := derive.Pack([]*derive.Skill{report(t)}, test.opt)
		if err != nil {
			t.Fatal(err)
		}
		data, err := pack.JSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, test.golden, data)
	}
}

// Whatever the budget, the texts fit it, and every citation names bytes that the
// tree holds.
func TestPackBudget(t *testing.T) {
	s := report(t)
	for budget := 1; budget < 2000; budget += 7 {
		pack, err := derive.Pack([]*derive.Skill{s, s, s}, derive.PackOptions{
			Budget: budget, Examples: derive.IncludeAlways, Assets: derive.IncludeAlways,
		})
		if err != nil {
			t.Fatal(err)
		}
		used := 0
		for _, k := range pack.Skills {
			if k.Guidance != nil {
				used += len([]rune(k.Guidance.Excerpt))
			}
			for _, list := range [][]derive.PackResource{k.References, k.Examples, k.Assets} {
				for _, r := range list {
					used += len([]rune(r.Content))
				}
			}
		}
		if used != pack.UsedChars || used > budget {
			t.Fatalf("budget %d: %d used, %d reported", budget, used, pack.UsedChars)
		}
		for _, c := range pack.Citations {
			if f, ok := s.Tree.File(c.Path); !ok || skill.DigestFromSum(f.SHA256) != c.Digest || c.Tree != s.Tree.Digest() {
				t.Fatalf("budget %d: citation %+v names no file of the tree", budget, c)
			}
		}
	}
	for _, budget := range []int{-1, derive.MaxPackBudget + 1} {
		if _, err := derive.Pack(nil, derive.PackOptions{Budget: budget}); skill.CodeOf(err) != "usage" {
			t.Errorf("a budget of %d gives %v", budget, err)
		}
	}
}

func TestAgently(t *testing.T) {
	files, err := derive.Agently(report(t), derive.Origin{
		Type: "git", URL: "https://github.com/acme/skills", Ref: "v1.2.0",
		Commit: strings.Repeat("a1", 20), Subpath: "skills/report",
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
		golden(t, "agently_"+f.Path, f.Data)
		for _, dropped := range []string{"only_when", "exclude_when", "not_for", "required_context", "availability"} {
			if bytes.Contains(f.Data, []byte(`"`+dropped+`"`)) {
				t.Errorf("%s has the key %s, for which Agently throws a card away", f.Path, dropped)
			}
		}
	}
	want := []string{"checksums.json", "decision_card.json", "install.json", "resource_index.json"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestLayers(t *testing.T) {
	skills := []derive.Installed{
		{Key: "report", Name: "report", Description: "Writes \"it\".", Path: ".agents/skills/report", Digest: skill.DigestOf(nil)},
		{Key: "drill", Name: "drill", Description: "Trains.", Path: ".agents/skills/drill", TrainingMode: "trainable"},
	}
	data, err := derive.Clever(skills)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "clever.yaml", data)
	data, err = derive.Chock([]derive.LayerSkills{
		{Layer: derive.LayerOperator, Path: "~/.config/chock/skills", Skills: skills[:1]},
		{Layer: derive.LayerProject, Path: ".agents/skills", Skills: skills},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "chock.json", data)
}

// A skill in which every size is hostile gives bounded output, and an unreadable
// file is an error that names it.
func TestBounds(t *testing.T) {
	fsys := fstest.MapFS{
		"SKILL.md":     {Data: []byte("---\nname: report\ndescription: d\n---\n" + strings.Repeat("npx x; search the web 漢字\n", 20_000))},
		"scripts/a.py": {Data: bytes.Repeat([]byte("x"), derive.MaxRead+1)},
		"references/b": {Data: []byte{0xff, 0xfe, 0}},
	}
	for i := range 500 {
		fsys[fmt.Sprintf("scripts/s%03d.sh", i)] = &fstest.MapFile{Data: []byte("#!/bin/sh\n" + strings.Repeat("漢", 5000))}
	}
	s := load(t, fsys)
	card, err := derive.NewCard(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(card.Scripts) != 200 || card.ScriptsLeftOut != 301 || len(card.ResourceSummary) != 20 || len(card.Fetches) != 20 {
		t.Errorf("card has %d scripts and %d left out, %d resources, %d fetches",
			len(card.Scripts), card.ScriptsLeftOut, len(card.ResourceSummary), len(card.Fetches))
	}
	if n := len(asJSON(t, card)); n > 200_000 {
		t.Errorf("the card has %d bytes", n)
	}
	for _, r := range card.ResourceSummary {
		if n := len([]rune(r.Summary)); n > derive.SummaryLength {
			t.Errorf("the summary of %s has %d characters", r.Path, n)
		}
	}

	gone := errors.New("gone")
	s.Read = func(string) ([]byte, error) { return nil, gone }
	if _, err := derive.Resources(s); !errors.Is(err, gone) || !strings.Contains(err.Error(), "scripts/s000.sh") {
		t.Errorf("an unreadable file gives %v", err)
	}
	s.Read = nil
	if _, err := derive.Resources(s); err != nil {
		t.Errorf("without Read: %v", err)
	}
}

// Quotes are spelled as Python's html.escape does, and the empty catalogue has
// its two lines: these are the bytes of skills-ref.
func TestPromptXML(t *testing.T) {
	if got, want := derive.PromptXML(nil), "<available_skills>\n</available_skills>"; got != want {
		t.Errorf("empty catalogue: %q", got)
	}
	got := derive.PromptXML([]derive.PromptEntry{{Name: `a"b`, Description: `it's <b>&#34;</b>`, Location: "/x/it's/SKILL.md"}})
	want := "<available_skills>\n<skill>\n<name>\na&quot;b\n</name>\n<description>\nit&#x27;s &lt;b&gt;&amp;#34;&lt;/b&gt;\n</description>\n" +
		"<location>\n/x/it&#x27;s/SKILL.md\n</location>\n</skill>\n</available_skills>"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Text from outside reaches no terminal and no reader as anything but text.
func TestHostileText(t *testing.T) {
	hostile := "a\x1b[31m\x00\x7f\u009b\ufeff\u2028\n- b: c"
	xml := derive.PromptXML([]derive.PromptEntry{{Name: hostile, Description: hostile, Location: hostile}})
	if strings.ContainsAny(xml, "\x1b\x00\x7f\u009b") {
		t.Errorf("control characters in %q", xml)
	}
	xml = derive.PromptXML([]derive.PromptEntry{{Name: "a", Description: "x\u202ey\U000e0041\u200dz", Location: "/"}})
	if !strings.Contains(xml, "\nx&#x202e;y&#xe0041;\u200dz\n") {
		t.Errorf("hidden characters in %q", xml)
	}
	data, err := derive.Clever([]derive.Installed{{Name: hostile, Path: hostile}})
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Skills []struct{ Path, Name string } `yaml:"agent_skills"`
	}
	if err := yaml.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Skills) != 1 || document.Skills[0].Name != hostile || document.Skills[0].Path != hostile {
		t.Errorf("%s reads back as %q", data, document)
	}
}

func TestSkillID(t *testing.T) {
	for in, want := range map[string]string{
		"report": "report", "My  Skill": "my-skill", "A.b_c": "a.b_c", "Ünïcode!": "ncode", " - ": "",
	} {
		if got := derive.SkillID(in); got != want {
			t.Errorf("SkillID(%q) = %q, want %q", in, got, want)
		}
	}
}
