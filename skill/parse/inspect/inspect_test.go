package inspect_test

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/author"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
	"github.com/skillpm/skillpm/skill/parse/inspect"
)

func write(t *testing.T, base string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

const contract = `---
name: a
description: "D <b>."
license: MIT
allowed-tools: Bash(git:*), Read
mcpServers: x
metadata:
  z: "last"
  b: [1.10, yes]
  chain: "near"
  skillpm.requires.near: "^1.2"
---
body
`

const training = `.{
    .schema = "chock.skill-training", .version = 1, .skill = "a", .mode = .hybrid,
    .suites = .{ .train = "evals/train", .validation = "evals/val", .@"test" = "all/test" },
}
`

func whole() map[string]string {
	return map[string]string{
		"a/SKILL.md": contract, "a/training.zon": training, "a/skill.oms.sig": "{}", "near/SKILL.md": "---\nname: near\ndescription: D.\n---\nx\n",
		"a/scripts/run.sh": "#!/bin/sh\n", "a/evals/train": "1", "a/evals/val": "2", "a/evals/test": "3", "a/all": "-> evals",
		"a/references/copy.md": "-> ../SKILL.md",
	}
}

func TestInspectionIsTheSameFromAnywhere(t *testing.T) {
	var texts []string
	for range 2 {
		base := t.TempDir()
		write(t, base, whole())
		in, report, err := inspect.Skill(t.Context(), "a", parse.ValidateOptions{Base: base, Load: author.LoadDirectories})
		if err != nil {
			t.Fatal(err)
		}
		if list := diag.All(report.Err()); len(list) != 1 || list[0].Code != diag.SignatureMalformed {
			t.Errorf("problems %v, want the signature's alone", list)
		}
		text, err := in.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), base) {
			t.Errorf("an absolute path in %s", text)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Errorf("two copies differ:\n%s", cmp.Diff(texts[0], texts[1]))
	}
	if !strings.Contains(texts[0], "D <b>.") {
		t.Error("the description is escaped as HTML")
	}
	var sorted any
	if err := json.Unmarshal([]byte(texts[0]), &sorted); err != nil {
		t.Fatal(err)
	}
}

func TestInspectionHoldsFilesDigestAndTraining(t *testing.T) {
	base := t.TempDir()
	write(t, base, whole())
	in, _, err := inspect.Skill(t.Context(), "a/SKILL.md", parse.ValidateOptions{Base: base, Load: author.LoadDirectories})
	if err != nil {
		t.Fatal(err)
	}
	// What an install makes: links replaced by what they name, no signature.
	var tree []skill.File
	for path, text := range map[string]string{
		"SKILL.md": contract, "references/copy.md": contract, "training.zon": training, "scripts/run.sh": "#!/bin/sh\n",
		"evals/train": "1", "evals/val": "2", "evals/test": "3", "all/train": "1", "all/val": "2", "all/test": "3",
	} {
		tree = append(tree, skill.File{Path: path, Exec: path == "scripts/run.sh", Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text))})
	}
	want, err := skill.NewTree(tree, skill.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if in.Digest != want.Digest() {
		t.Errorf("digest %s, want %s", in.Digest, want.Digest())
	}
	if in.Size.Files != 10 || in.Size.Body != len("body\n") {
		t.Errorf("size %+v", in.Size)
	}
	if got := in.Training.Suites["test"]; !got.HeldOut || got.Path != "all/test" || got.SHA256 != skill.DigestOf([]byte("3")).Hex() {
		t.Errorf("test suite %+v", got)
	}
	if diff := cmp.Diff(map[string]any{"z": "last", "b": []any{"1.10", "yes"}, "chain": "near", "skillpm.requires.near": "^1.2"}, in.Contract.Metadata); diff != "" {
		t.Errorf("metadata differs:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mcpServers"}, in.Contract.Declares.Other); diff != "" {
		t.Errorf("other fields differ:\n%s", diff)
	}
	for _, f := range in.Files {
		if f.Path == "all" && (f.Link != "evals" || f.SHA256 != "") {
			t.Errorf("a link is %+v", f)
		}
		if f.Path == "scripts/run.sh" && f.Mode != "0755" {
			t.Errorf("a script is %+v", f)
		}
	}
}

func TestInspectionOfABrokenSkill(t *testing.T) {
	base := t.TempDir()
	write(t, base, map[string]string{"a/SKILL.md": "# A\n", "a/x": "1", "a/out": "-> ../b"})
	in, report, err := inspect.Skill(t.Context(), "a", parse.ValidateOptions{Base: base, Load: author.LoadDirectories})
	if err != nil {
		t.Fatal(err)
	}
	if in == nil || in.Contract != nil || in.Digest != "" || len(in.Files) != 3 || report.Err() == nil {
		t.Errorf("inspection %+v, report %s", in, report.Text())
	}
	for _, target := range []string{".", "nothing"} {
		if in, _, err := inspect.Skill(t.Context(), target, parse.ValidateOptions{Base: base, Load: author.LoadDirectories}); in != nil || err != nil {
			t.Errorf("%s: inspection %v, error %v; want neither", target, in, err)
		}
	}
}
