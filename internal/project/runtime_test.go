package project_test

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"

	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
)

// installed writes a project of n locked and installed skills, each with a
// script and a reference, and a chain over the first two.
func installed(t testing.TB, n int) workspace.Options {
	t.Helper()
	base := t.TempDir()
	opt := workspace.Options{
		Dir: filepath.Join(base, "project"), Home: filepath.Join(base, "home"), ConfigDir: filepath.Join(base, "config"),
		CacheDir: filepath.Join(base, "cache"), SystemDir: filepath.Join(base, "etc"),
	}
	l := &lockfile.Lock{Root: lockfile.Root{Requires: map[string]string{}}, Targets: []string{".agents/skills"}}
	manifest := "[skills]\n"
	for i := range n {
		key := fmt.Sprintf("skill-%04d", i)
		requirement := "^1.0.0 github.com/acme/skills//skills/" + key
		manifest += fmt.Sprintf("%s = %q\n", key, requirement)
		l.Root.Requires[key] = requirement
		l.Skills = append(l.Skills, install(t, opt.Dir, key))
	}
	if n > 2 {
		l.Skills[2].Dependencies = []string{l.Skills[0].Key, l.Skills[1].Key}
		l.Skills[2].Chain = &lockfile.Chain{Mode: lockfile.ModeSequential, Steps: l.Skills[2].Dependencies, Depth: 1, Policy: lockfile.Policy{
			ContinueOnError: true, MaxDepth: 10, ParallelLimit: 5, EarlyExitOn: "none", PassState: true, RetryCount: 1, RetryUntil: "none",
		}}
	}
	write(t, filepath.Join(opt.Dir, "skills.toml"), manifest)
	write(t, filepath.Join(opt.Dir, "skills.lock"), string(l.Bytes()))
	return opt
}

// install writes one skill into the first target and returns its entry.
func install(t testing.TB, dir, key string) *lockfile.Entry {
	t.Helper()
	description := "Does what " + key + " is for. Use when a task of that kind comes up, and at no other time."
	content := map[string]string{
		"SKILL.md":            "---\nname: " + key + "\ndescription: " + description + "\n---\n# " + key + "\n\nRun `python scripts/run.py`.\n",
		"scripts/run.py":      "print('" + key + "')\n",
		"references/guide.md": "# Guide\n\nOf " + key + ".\n",
	}
	var files []skill.File
	for path, text := range content {
		write(t, filepath.Join(dir, ".agents", "skills", key, filepath.FromSlash(path)), text)
		files = append(files, skill.File{Path: path, Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text))})
	}
	tree, err := skill.NewTree(files, skill.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	body := lockfile.SplitBody([]byte(content["SKILL.md"]))
	return &lockfile.Entry{
		Key: key, Version: "1.0.0", Description: description, Digest: tree.Digest(),
		Source: lockfile.Source{
			Type: lockfile.TypeGit, URL: "https://github.com/acme/skills", Path: "skills/" + key, Tag: "v1.0.0",
			Commit: strings.Repeat("a1", 20), Tree: strings.Repeat("b2", 20),
		},
		Size: lockfile.Size{Body: int64(len(body)), Resources: tree.Size() - int64(len(content["SKILL.md"])), Files: 3},
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, opt workspace.Options) *world.World {
	t.Helper()
	p, err := world.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// tierOne are the reads that a runtime makes before a skill is used.
var tierOne = []struct {
	name string
	run  func(t testing.TB, opt workspace.Options)
}{
	{"list", func(t testing.TB, opt workspace.Options) { must(views.List(t.Context(), open(t, opt).Local))(t) }},
	{"layers", func(t testing.TB, opt workspace.Options) {
		must(views.Layers(t.Context(), open(t, opt).Project, views.LayersOptions{}))(t)
	}},
	{"layers of a runtime", func(t testing.TB, opt workspace.Options) {
		must(views.Layers(t.Context(), open(t, opt).Project, views.LayersOptions{Runtime: "gemini-cli"}))(t)
	}},
	{"prompt", func(t testing.TB, opt workspace.Options) { must(views.Prompt(open(t, opt).Project, nil))(t) }},
	{"plan", func(t testing.TB, opt workspace.Options) { must(views.Plan(open(t, opt).Project, "skill-0002"))(t) }},
	{"graph", func(t testing.TB, opt workspace.Options) { must(views.Graph(open(t, opt)))(t) }},
	{"export clever", func(t testing.TB, opt workspace.Options) {
		must(views.Export(t.Context(), open(t, opt).Local, views.ExportOptions{Format: views.FormatClever}))(t)
	}},
	{"export chock", func(t testing.TB, opt workspace.Options) {
		must(views.Export(t.Context(), open(t, opt).Local, views.ExportOptions{Format: views.FormatChock}))(t)
	}},
	{"doctor", func(t testing.TB, opt workspace.Options) { must(views.Doctor(t.Context(), opt))(t) }},
}

// tierTwo are the reads of a skill that was chosen.
var tierTwo = []struct {
	name string
	run  func(t testing.TB, opt workspace.Options)
}{
	{"card", func(t testing.TB, opt workspace.Options) {
		must(views.Card(t.Context(), open(t, opt).Local, "skill-0001"))(t)
	}},
	{"resources", func(t testing.TB, opt workspace.Options) {
		must(views.Resources(t.Context(), open(t, opt).Local, "skill-0001"))(t)
	}},
	{"needs", func(t testing.TB, opt workspace.Options) {
		must(views.Needs(t.Context(), open(t, opt).Local, "skill-0001"))(t)
	}},
	{"pack-context", func(t testing.TB, opt workspace.Options) {
		must(views.Pack(t.Context(), open(t, opt).Local, []string{"skill-0001", "skill-0002"}, derive.PackOptions{}))(t)
	}},
}

// must returns a check that a call gave no error but notes and warnings.
func must[T any](_ T, err error) func(testing.TB) {
	return func(t testing.TB) {
		t.Helper()
		if diag.Exit(err) != 0 {
			t.Fatal(err)
		}
	}
}

// snapshot describes every file below the options' directories: name, mode, size
// and time of change.
func snapshot(t *testing.T, opt workspace.Options) string {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(filepath.Dir(opt.Dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Reading writes nothing: not into the project, not into the cache, not even
// where the cache is damaged.
func TestReadingWritesNothing(t *testing.T) {
	opt := installed(t, 4)
	write(t, filepath.Join(opt.CacheDir, "index.db"), "this is no database")
	digest := install(t, t.TempDir(), "skill-0001").Digest
	write(t, filepath.Join(opt.CacheDir, "trees", digest.Hex()[:2], digest.Hex()[2:], "SKILL.md"), "damaged")
	before := snapshot(t, opt)
	for _, read := range append(tierOne, tierTwo...) {
		t.Run(read.name, func(t *testing.T) {
			read.run(t, opt)
			if diff := cmp.Diff(before, snapshot(t, opt)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A read reports what it can be sure of: another tree than the locked one, a
// body of 300 KB, a path that climbs.
func TestReadingBadInput(t *testing.T) {
	opt := installed(t, 3)
	file := filepath.Join(opt.Dir, ".agents", "skills", "skill-0001", "SKILL.md")
	write(t, file, "---\nname: skill-0001\ndescription: Other.\n---\n"+strings.Repeat("x", 300<<10))
	if _, err := views.Card(t.Context(), open(t, opt).Local, "skill-0001"); diag.CodeOf(err) != diag.VerifyChanged {
		t.Errorf("a tree that differs from the lock: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../skills.toml", file); err != nil {
		t.Fatal(err)
	}
	if _, err := views.Card(t.Context(), open(t, opt).Local, "skill-0001"); diag.CodeOf(err) != diag.PathUnsafe {
		t.Errorf("a link that climbs: %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	if _, err := views.Card(t.Context(), open(t, opt).Local, "skill-0001"); diag.CodeOf(err) != diag.VerifyMissing {
		t.Errorf("a skill that is nowhere: %v", err)
	}
	if _, err := views.Card(t.Context(), open(t, opt).Local, "../skill-0002"); diag.CodeOf(err) != diag.Usage {
		t.Errorf("a name that climbs: %v", err)
	}
}

func BenchmarkList2000(b *testing.B) {
	opt := installed(b, 2000)
	b.ResetTimer()
	for b.Loop() {
		p, err := world.Open(opt)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := views.List(b.Context(), p.Local); err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}

func BenchmarkLayers2000(b *testing.B) {
	opt := installed(b, 2000)
	b.ResetTimer()
	for b.Loop() {
		p, err := world.Open(opt)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := views.Layers(b.Context(), p.Project, views.LayersOptions{}); err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}
