package install_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/skill"
)

// files is a skill: path to content, "x:" before an executable's path.
type files map[string]string

func (f files) tree(t testing.TB) *skill.Tree {
	t.Helper()
	var list []skill.File
	for p, content := range f {
		plain, exec := strings.CutPrefix(p, "x:")
		list = append(list, skill.File{Path: plain, Exec: exec, Size: int64(len(content)), SHA256: sha256.Sum256([]byte(content))})
	}
	tree, err := skill.NewTree(list, skill.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func (f files) digest(t testing.TB) skill.Digest { return f.tree(t).Digest() }

// write puts f at dir, by hand: what a person or another tool does.
func (f files) write(t testing.TB, dir string) {
	t.Helper()
	for p, content := range f {
		plain, exec := strings.CutPrefix(p, "x:")
		perm := os.FileMode(0o644)
		if exec {
			perm = 0o755
		}
		name := filepath.Join(dir, filepath.FromSlash(plain))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), perm))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// project is a throw-away project with a store.
type project struct {
	t      testing.TB
	dir    string
	store  *cache.Cache
	layout install.Layout
	opt    install.Options
	want   install.Desired
	notes  []diag.Code
}

// unsynced leaves syncs out: the tests end processes, not machines.
func unsynced(c fsx.Call) error {
	if !c.After && (c.Op == fsx.OpSync || c.Op == fsx.OpSyncDir) {
		return fsx.Skip
	}
	return nil
}

const main, second = ".agents/skills", ".claude/skills"

func newProject(t testing.TB) *project {
	t.Helper()
	return newProjectIn(t, tempDir(t))
}

func newProjectIn(t testing.TB, dir string) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	must(t, err)
	p := &project{t: t, dir: filepath.Join(dir, "project")}
	must(t, os.Mkdir(p.dir, 0o755))
	p.store, err = cache.Open(filepath.Join(dir, "cache"), cache.Options{})
	must(t, err)
	t.Cleanup(func() { p.store.Close() })
	p.layout = install.Layout{Root: p.dir, State: ".skillpm", Files: []string{p.path("skills.toml"), p.path("skills.lock")}}
	p.opt = install.Options{Store: p.store, FS: &fsx.FS{Hook: unsynced}, Note: func(e *diag.Error) { p.notes = append(p.notes, e.Code) }}
	p.want = install.Desired{Targets: []string{main, second}}
	return p
}

// tempDir is t.TempDir in memory where the system has a place for that: the
// crash tests make thousands of small trees.
func tempDir(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "skillpm-install-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func (p *project) path(elem ...string) string {
	return filepath.Join(append([]string{p.dir}, elem...)...)
}

// put stores f and returns the item that orders it.
func (p *project) put(key string, f files) install.Item {
	p.t.Helper()
	w, err := p.store.NewTree()
	must(p.t, err)
	for path, content := range f {
		plain, exec := strings.CutPrefix(path, "x:")
		must(p.t, w.Add(plain, exec, []byte(content)))
	}
	tree := f.tree(p.t)
	must(p.t, w.Commit(tree))
	return install.Item{Key: skill.Key(key), Digest: tree.Digest()}
}

// order wants items, and remembers what was wanted before as the old lock.
func (p *project) order(items ...install.Item) {
	p.want.OldLock = map[skill.Key]skill.Digest{}
	for _, item := range p.want.Items {
		p.want.OldLock[item.Key] = item.Digest
	}
	p.want.Items = items
}

func (p *project) apply(changes ...install.FileChange) (*install.Result, error) {
	s, err := install.Begin(p.t.Context(), p.layout, p.opt)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	plan, err := s.Plan(p.t.Context(), p.want)
	if err != nil {
		return nil, err
	}
	return s.Apply(p.t.Context(), plan, changes...)
}

func (p *project) mustApply(changes ...install.FileChange) *install.Result {
	p.t.Helper()
	r, err := p.apply(changes...)
	must(p.t, err)
	return r
}

func (p *project) lock(text string) install.FileChange {
	return install.FileChange{Path: p.path("skills.lock"), Data: []byte(text)}
}

func (p *project) manifest(text string) install.FileChange {
	return install.FileChange{Path: p.path("skills.toml"), Data: []byte(text)}
}

func (p *project) verify() []install.Finding {
	p.t.Helper()
	report, err := install.Verify(p.t.Context(), p.layout, p.opt, p.want)
	must(p.t, err)
	return report.Findings
}

func (p *project) wantClean() {
	p.t.Helper()
	if diff := cmp.Diff([]install.Finding(nil), p.verify()); diff != "" {
		p.t.Errorf("verify (-want +got):\n%s", diff)
	}
}

func (p *project) preview() *install.Plan {
	p.t.Helper()
	plan, err := install.Preview(p.t.Context(), p.layout, p.opt, p.want)
	must(p.t, err)
	return plan
}

// snapshot lists the project without the private directory: path to mode and
// content.
func (p *project) snapshot() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(p.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.dir, name)
		if rel == ".skillpm" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			content = string(b)
		case info.Mode()&fs.ModeSymlink != 0:
			if content, err = os.Readlink(name); err != nil {
				return err
			}
		}
		out[filepath.ToSlash(rel)] = info.Mode().String() + " " + content
		return nil
	})
	must(p.t, err)
	return out
}

func kinds(plan *install.Plan) []string {
	var out []string
	for _, a := range plan.Actions {
		out = append(out, fmt.Sprintf("%s %s %s", a.Kind, a.Path(), a.Mode))
	}
	return out
}

func keysOf(r *install.Result) string {
	return fmt.Sprintf("created %v replaced %v removed %v adopted %v kept %v", r.Created, r.Replaced, r.Removed, r.Adopted, r.Kept)
}

var (
	alpha  = files{"SKILL.md": "alpha", "x:scripts/run": "#!/bin/sh\n", "ref/deep/a.md": "a"}
	alpha2 = files{"SKILL.md": "alpha 2", "x:scripts/run": "#!/bin/sh\n"}
	beta   = files{"SKILL.md": "beta"}
	gamma  = files{"SKILL.md": "gamma", "data.bin": strings.Repeat("g", 140_000)}
)

func TestInstallUpdateRemove(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha), p.put("beta", beta))
	r := p.mustApply(p.manifest("m1"), p.lock("l1"))
	if got, want := keysOf(r), "created [alpha beta] replaced [] removed [] adopted [] kept []"; got != want {
		t.Errorf("result %s, want %s", got, want)
	}
	p.wantClean()
	snap := p.snapshot()
	if got := snap[second+"/alpha"]; !strings.HasSuffix(got, " ../../.agents/skills/alpha") {
		t.Errorf("second target holds %q", got)
	}
	if got := snap[main+"/alpha/scripts/run"]; !strings.HasPrefix(got, "-rwxr-xr-x") {
		t.Errorf("script is %q", got)
	}
	if b, err := os.ReadFile(p.path(".skillpm/.gitignore")); err != nil || string(b) != "*\n" {
		t.Errorf(".gitignore %q, %v", b, err)
	}
	if plan := p.preview(); !plan.NoOp() {
		t.Errorf("not a no-op after install: %v", kinds(plan))
	}

	p.order(p.put("alpha", alpha2), p.put("gamma", gamma))
	r = p.mustApply(p.lock("l2"))
	if got, want := keysOf(r), "created [gamma] replaced [alpha] removed [beta] adopted [] kept []"; got != want {
		t.Errorf("result %s, want %s", got, want)
	}
	p.wantClean()
	for name := range p.snapshot() {
		if strings.Contains(name, "beta") || strings.Contains(name, "alpha/ref") {
			t.Errorf("left behind: %s", name)
		}
	}
	left, err := os.ReadDir(p.path(".skillpm"))
	must(t, err)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{".gitignore", "lock", "receipt.json"}, names); diff != "" {
		t.Errorf("private directory (-want +got):\n%s", diff)
	}

	p.order()
	p.mustApply(p.lock("l3"))
	if names := slices.Sorted(maps.Keys(p.snapshot())); !slices.Equal(names, []string{".", ".agents", ".agents/skills", ".claude", ".claude/skills", "skills.lock", "skills.toml"}) {
		t.Errorf("after removing all: %v", names)
	}
}

func TestReceiptVersionRefuses(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha))
	p.mustApply()
	must(t, os.WriteFile(p.path(".skillpm/receipt.json"), []byte(`{"format":"skillpm-receipt","receiptVersion":2,"new":{}}`), 0o644))
	if _, err := p.apply(); diag.CodeOf(err) != diag.ReceiptVersion {
		t.Errorf("apply = %v, want receipt_version", err)
	}
}

// A run that only resolves writes its files as one transaction too.
func TestWriteFilesOnly(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha))
	p.mustApply(p.manifest("m1"), p.lock("l1"))
	old := p.snapshot()
	for k := int64(1); ; k++ {
		hook, calls := killer(k)
		p.opt.FS.Hook = hook
		s, err := install.Begin(t.Context(), p.layout, p.opt)
		if err == nil {
			err = s.Write(p.manifest("m2"), p.lock("l2"))
			s.Close()
		}
		p.opt.FS.Hook = unsynced
		s, beginErr := install.Begin(t.Context(), p.layout, p.opt)
		must(t, beginErr)
		now := p.snapshot()
		got := now["skills.toml"] + now["skills.lock"]
		if !cmp.Equal(now, old) && !(strings.HasSuffix(now["skills.toml"], "m2") && strings.HasSuffix(now["skills.lock"], "l2")) {
			t.Fatalf("kill at call %d: %v: mixed: %s", k, err, got)
		}
		must(t, s.Write(p.manifest("m1"), p.lock("l1")))
		must(t, s.Close())
		if err == nil && calls.Load() < k {
			break
		}
	}
	if err := (func() error {
		s, err := install.Begin(t.Context(), p.layout, p.opt)
		must(t, err)
		defer s.Close()
		return s.Write(install.FileChange{Path: "/etc/passwd", Data: nil})
	})(); diag.CodeOf(err) != diag.Internal {
		t.Errorf("writing a foreign file = %v", err)
	}
	p.wantClean()
}
