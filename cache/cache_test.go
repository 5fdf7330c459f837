package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// notes collects what a cache notes, from any goroutine.
type notes struct {
	mu    sync.Mutex
	codes []diag.Code
	texts []string
}

func (n *notes) add(e *diag.Error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.codes = append(n.codes, e.Code)
	n.texts = append(n.texts, e.Message)
}

func open(t *testing.T, dir string, opt cache.Options) *cache.Cache {
	t.Helper()
	c, err := cache.Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// files is a tree in the making: path to content, a leading "x:" on the path
// for the executable bit.
type files map[string]string

func (f files) tree(t testing.TB) *skill.Tree {
	t.Helper()
	var list []skill.File
	for p, content := range f {
		file := skill.File{Path: p, Size: int64(len(content)), SHA256: [32]byte(sum(content))}
		if p[0] == 'x' && p[1] == ':' {
			file.Path, file.Exec = p[2:], true
		}
		list = append(list, file)
	}
	tree, err := skill.NewTree(list, skill.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func put(t testing.TB, c *cache.Cache, f files) skill.Digest {
	t.Helper()
	tree := f.tree(t)
	w, err := c.NewTree()
	if err != nil {
		t.Fatal(err)
	}
	for p, content := range f {
		exec := p[0] == 'x' && p[1] == ':'
		if exec {
			p = p[2:]
		}
		if err := w.Add(p, exec, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(tree); err != nil {
		t.Fatal(err)
	}
	return tree.Digest()
}

var demo = files{"SKILL.md": "---\nname: demo\n---\n", "x:scripts/run.sh": "#!/bin/sh\n", "ref/a/b.md": "deep"}

func TestTreeRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := open(t, dir, cache.Options{})
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("opening the cache created its directory")
	}
	d := put(t, c, demo)
	if !c.Has(d) {
		t.Fatal("the tree is not there after Commit")
	}
	tree, err := c.Manifest(d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(demo.tree(t).Manifest(), tree.Manifest()); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	data, err := c.ReadFile(d, "ref/a/b.md")
	if err != nil || string(data) != "deep" {
		t.Errorf("ReadFile = %q, %v", data, err)
	}
	if err := c.Check(t.Context(), d); err != nil {
		t.Error(err)
	}
	for p, want := range map[string]os.FileMode{"SKILL.md": 0o444, "scripts/run.sh": 0o555} {
		info, err := os.Stat(filepath.Join(c.TreeDir(d), p))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o777&^0o022 != want&^0o022 {
			t.Errorf("%s has mode %v, want read-only %v", p, info.Mode(), want)
		}
	}
	put(t, c, demo) // a second time is no error
	left, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary directories left: %v, %v", left, err)
	}
}

func TestCommitRefusesOtherContent(t *testing.T) {
	c := open(t, t.TempDir(), cache.Options{})
	for name, add := range map[string]files{
		"changed": {"SKILL.md": "other", "x:scripts/run.sh": "#!/bin/sh\n", "ref/a/b.md": "deep"},
		"mode":    {"SKILL.md": "---\nname: demo\n---\n", "scripts/run.sh": "#!/bin/sh\n", "ref/a/b.md": "deep"},
		"missing": {"SKILL.md": "---\nname: demo\n---\n"},
		"extra": {"SKILL.md": "---\nname: demo\n---\n", "x:scripts/run.sh": "#!/bin/sh\n", "ref/a/b.md": "deep",
			"more": "more"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := c.NewTree()
			if err != nil {
				t.Fatal(err)
			}
			for p, content := range add {
				exec := p[0] == 'x' && p[1] == ':'
				if exec {
					p = p[2:]
				}
				if err := w.Add(p, exec, []byte(content)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Commit(demo.tree(t)); diag.CodeOf(err) != diag.DigestMismatch {
				t.Errorf("Commit = %v, want digest_mismatch", err)
			}
			if c.Has(demo.tree(t).Digest()) {
				t.Error("a wrong tree became visible")
			}
		})
	}
}

func TestAddRefusesUnsafePaths(t *testing.T) {
	c := open(t, t.TempDir(), cache.Options{})
	w, err := c.NewTree()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, p := range []string{"../x", "/x", "a/../../x", ".git/config", "a\\b", "nul"} {
		if err := w.Add(p, false, nil); err == nil {
			t.Errorf("Add(%q) was accepted", p)
		}
	}
}

// Whatever is done to a stored tree, reading it never gives wrong bytes, throws
// it away, says so, and storing it again heals it.
func TestDamageHeals(t *testing.T) {
	damages := map[string]func(t *testing.T, tree string){
		"changed byte": func(t *testing.T, tree string) {
			overwrite(t, filepath.Join(tree, "SKILL.md"), "---\nname: evil\n---\n")
		},
		"truncated": func(t *testing.T, tree string) { overwrite(t, filepath.Join(tree, "SKILL.md"), "") },
		"longer": func(t *testing.T, tree string) {
			overwrite(t, filepath.Join(tree, "SKILL.md"), "---\nname: demo\n---\nmore")
		},
		"file gone":        func(t *testing.T, tree string) { remove(t, filepath.Join(tree, "SKILL.md")) },
		"manifest gone":    func(t *testing.T, tree string) { remove(t, tree+".manifest") },
		"manifest changed": func(t *testing.T, tree string) { overwrite(t, tree+".manifest", "skillpm-tree-v1\n") },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			var n notes
			c := open(t, t.TempDir(), cache.Options{Note: n.add})
			d := put(t, c, demo)
			damage(t, c.TreeDir(d))
			if _, err := c.ReadFile(d, "SKILL.md"); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("ReadFile = %v, want fs.ErrNotExist", err)
			}
			if diff := cmp.Diff([]diag.Code{diag.CacheCorrupt}, n.codes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if c.Has(d) {
				t.Fatal("the damaged tree is still there")
			}
			put(t, c, demo)
			if err := c.Check(t.Context(), d); err != nil {
				t.Errorf("not healed: %v", err)
			}
		})
	}
}

func overwrite(t *testing.T, name, content string) {
	t.Helper()
	remove(t, name)
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func TestBundle(t *testing.T) {
	var n notes
	c := open(t, t.TempDir(), cache.Options{Note: n.add})
	d, err := c.PutBundle([]byte("bundle"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Bundle(d); err != nil || string(got) != "bundle" {
		t.Errorf("Bundle = %q, %v", got, err)
	}
	overwrite(t, filepath.Join(c.Dir(), "sigs", d.Hex()[:2], d.Hex()[2:]), "other")
	if _, err := c.Bundle(d); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a damaged bundle gave %v", err)
	}
	if _, err := c.PutBundle([]byte("bundle")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bundle(d); err != nil {
		t.Errorf("not healed: %v", err)
	}
}

// A hand-made digest must not name a path outside the store.
func TestHostileDigest(t *testing.T) {
	c := open(t, t.TempDir(), cache.Options{})
	d := skill.Digest("sha256:../../../../etc")
	if c.Has(d) {
		t.Error("Has")
	}
	if _, err := c.Open(d, "passwd"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open = %v", err)
	}
	if err := c.Discard(d); err != nil {
		t.Errorf("Discard = %v", err)
	}
}

// Writers of the same and of different trees at once, with readers between.
func TestConcurrentWriters(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			c := open(t, dir, cache.Options{})
			for i := range 10 {
				f := files{"SKILL.md": fmt.Sprint("skill ", i), "data": fmt.Sprint(i % 3)}
				d := put(t, c, f)
				if _, err := c.ReadFile(d, "SKILL.md"); err != nil {
					t.Errorf("worker %d, tree %d: %v", worker, i, err)
				}
			}
		})
	}
	wg.Wait()
	c := open(t, dir, cache.Options{})
	result, err := c.Verify(t.Context())
	if err != nil || result.Trees != 10 || len(result.Damaged) != 0 {
		t.Errorf("Verify = %+v, %v", result, err)
	}
}

func TestSizeGCVerify(t *testing.T) {
	now := time.Now()
	c := open(t, t.TempDir(), cache.Options{Now: func() time.Time { return now }})
	kept, old := put(t, c, files{"SKILL.md": "kept"}), put(t, c, files{"SKILL.md": "old!"})
	bundle, err := c.PutBundle([]byte("signed"))
	if err != nil {
		t.Fatal(err)
	}
	usage, err := c.Size(t.Context())
	if want := (cache.Usage{Trees: 2, Files: 2, Bundles: 1, TreeBytes: 8, BundleBytes: 6}); err != nil || usage != want {
		t.Errorf("Size = %+v, %v, want %+v", usage, err, want)
	}

	now = now.Add(48 * time.Hour)
	c.Used(kept)
	c.Flush(t.Context())
	if err := os.Mkdir(filepath.Join(c.Dir(), "tmp", "dead"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := cache.GCResult{Trees: 1, Bundles: 1, Temporary: 1, Bytes: 10}
	for _, dry := range []bool{true, false} {
		got, err := c.GC(t.Context(), 24*time.Hour, dry)
		if err != nil || got != want {
			t.Errorf("GC(dry %v) = %+v, %v, want %+v", dry, got, err, want)
		}
	}
	if !c.Has(kept) || c.Has(old) {
		t.Errorf("after gc: kept %v, old %v", c.Has(kept), c.Has(old))
	}
	if _, err := c.Bundle(bundle); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old bundle gave %v", err)
	}

	overwrite(t, filepath.Join(c.TreeDir(kept), "SKILL.md"), "kepT")
	result, err := c.Verify(context.Background())
	if err != nil || len(result.Damaged) != 1 || result.Damaged[0] != kept {
		t.Errorf("Verify = %+v, %v", result, err)
	}
}
