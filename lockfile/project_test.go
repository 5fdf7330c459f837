package lockfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/skill"
)

// testdata/lock/project is a small project as skillpm leaves it. The readers for
// other languages are tested against it too.
const projectDir = "../testdata/lock/project"

func projectLock(t *testing.T) *Lock {
	t.Helper()
	source := func(repo, path, tag, ref, commit string) Source {
		return Source{Type: TypeGit, URL: "https://github.com/acme/" + repo, Path: path, Tag: tag, Ref: ref, Commit: strings.Repeat(commit, 5), Tree: strings.Repeat(commit, 5)[1:] + "0"}
	}
	chain := &Chain{Mode: ModeSequential, Steps: []string{"deploy", "notes"}, Depth: 1, Policy: DefaultPolicy()}
	chain.Policy.ContinueOnError = false
	l := &Lock{
		Root: Root{Requires: map[string]string{
			"release": "^1.0 github.com/acme/skills//skills/release",
			"notes":   "github.com/acme/notes// ref:main",
		}},
		Skills: []*Entry{
			{Key: "deploy", Version: "2.1.0", Source: source("skills", "skills/deploy", "v2.1.0", "", "8d3cb7e1"), Requires: map[string]string{"vault": "1.0.0"}, Dependencies: []string{"vault"}, AllowedTools: "Bash(git:*) Read"},
			{Key: "vault", Version: "1.0.0", Source: source("skills", "skills/vault", "vault-v1.0.0", "", "51b20f6a")},
			{Key: "release", Version: "1.0.0", Source: source("skills", "skills/release", "v1.0.0", "", "c4f09a72"), Dependencies: []string{"deploy", "notes"}, Chain: chain},
			{Key: "notes", Version: "0.0.0-0.20260102030405-e0917d3ce091", Source: source("notes", "", "", "refs/heads/main", "e0917d3c")},
		},
		Targets: []string{".agents/skills", ".claude/skills"},
	}
	for _, e := range l.Skills {
		fillFromDisk(t, e)
	}
	l.Sort(nil)
	return l
}

// fillFromDisk sets what follows from an installed skill's bytes.
func fillFromDisk(t *testing.T, e *Entry) {
	t.Helper()
	d := open(t, filepath.Join(projectDir, ".agents/skills", e.Key))
	tree, _, err := d.Tree(skill.DefaultLimits, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := d.SkillFile(0)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\ndescription: ")
	e.Description, _, _ = strings.Cut(rest, "\n")
	e.Digest = tree.Digest()
	e.Size = Size{Body: int64(len(SplitBody(text))), Resources: tree.Size() - int64(len(text)), Files: int64(len(tree.Files()))}
}

func TestProject(t *testing.T) {
	l := projectLock(t)
	for _, file := range []string{filepath.Join(projectDir, FileName)} {
		if *update {
			if err := os.WriteFile(file, l.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(l.Bytes()), string(data)); diff != "" {
			t.Errorf("%s; run with -update if this is meant:\n%s", file, diff)
		}
		if !IsCanonical(data) {
			t.Errorf("%s is not canonical", file)
		}
	}
	if len(l.Open()) > 0 || len(l.Unreachable()) > 0 || l.Cycle() != nil {
		t.Errorf("open %v, unreachable %v, cycle %v", l.Open(), l.Unreachable(), l.Cycle())
	}
	for _, e := range l.Skills {
		if err := VerifyDir(filepath.Join(projectDir, filepath.FromSlash(l.InstallPath(e.Key))), e, nil); err != nil {
			t.Error(err)
		}
	}
}
