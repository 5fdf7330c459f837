package cache

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// TreeWriter writes one tree into the store. Add may be called from several
// goroutines; Commit or Abort ends it.
type TreeWriter struct {
	cache *Cache
	root  *fsx.Root // the cache's
	home  string    // slash path of our temporary directory
	tree  *fsx.Root // home/tree

	mu    sync.Mutex
	dirs  map[string]bool
	files map[string]skill.File
}

// NewTree starts writing a tree. Commit or Abort must be called.
func (c *Cache) NewTree() (*TreeWriter, error) {
	root, err := c.writable()
	if err != nil {
		return nil, err
	}
	home, err := c.temporary(root)
	if err != nil {
		return nil, err
	}
	w := &TreeWriter{cache: c, root: root, home: home, dirs: map[string]bool{".": true}, files: map[string]skill.File{}}
	if err := root.Mkdir(path.Join(home, "tree"), 0o755); err != nil {
		return nil, fsx.Diag(err, "write to the cache")
	}
	if w.tree, err = root.Sub(path.Join(home, "tree")); err != nil {
		return nil, fsx.Diag(err, "write to the cache")
	}
	return w, nil
}

// temporary makes a directory of our own that no other process uses.
func (c *Cache) temporary(root *fsx.Root) (string, error) {
	if err := root.MkdirAll(temporaryDir, 0o755); err != nil {
		return "", fsx.Diag(err, "write to the cache")
	}
	name := path.Join(temporaryDir, rand.Text())
	if err := root.Mkdir(name, 0o755); err != nil {
		return "", fsx.Diag(err, "write to the cache")
	}
	return name, nil
}

// Add writes one file, read-only. Errors: path_unsafe, disk_full,
// permission_denied, disk_failed.
func (w *TreeWriter) Add(p string, exec bool, data []byte) error {
	if err := skill.CheckPath(p); err != nil {
		return err
	}
	if err := w.makeDirs(path.Dir(p)); err != nil {
		return fsx.Diag(err, "write to the cache")
	}
	perm := os.FileMode(0o444)
	if exec {
		perm = 0o555
	}
	if err := w.tree.WriteFile(p, data, perm); err != nil {
		return fsx.Diag(err, "write to the cache")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[p] = skill.File{Path: p, Exec: exec, Size: int64(len(data)), SHA256: sha256.Sum256(data)}
	return nil
}

func (w *TreeWriter) makeDirs(dir string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dirs[dir] {
		return nil
	}
	if err := w.tree.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for ; !w.dirs[dir]; dir = path.Dir(dir) {
		w.dirs[dir] = true
	}
	return nil
}

// Commit makes the files that were added visible under tree's digest, all at
// once; files that differ from tree are digest_mismatch and nothing is kept. A
// tree that another run stored meanwhile is no error. Without sync: every read
// checks.
func (w *TreeWriter) Commit(tree *skill.Tree) error {
	if w.tree == nil {
		return errors.New("the tree was committed or aborted before")
	}
	defer w.Abort()
	if err := w.compare(tree); err != nil {
		return err
	}
	d := tree.Digest()
	if w.cache.Has(d) {
		return nil
	}
	if err := w.root.MkdirAll(path.Dir(treePath(d)), 0o755); err != nil {
		return fsx.Diag(err, "write to the cache")
	}
	// The manifest first: it proves itself, so it may stand without its tree. The
	// directory's rename is the moment the tree is there.
	if err := w.root.WriteRacing(manifestPath(d), tree.Manifest(), 0o444); err != nil {
		return fsx.Diag(err, "write to the cache")
	}
	err := w.root.Rename(path.Join(w.home, "tree"), treePath(d))
	if err != nil && w.cache.Has(d) {
		return nil // another run was faster; its tree has the same digest
	}
	return fsx.Diag(err, "write to the cache")
}

func (w *TreeWriter) compare(tree *skill.Tree) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, want := range tree.Files() {
		got, ok := w.files[want.Path]
		if !ok || got != want {
			return diag.New(diag.DigestMismatch, "file `%s` of a tree differs from its manifest", want.Path).
				WithDetail("expected %s, found %s", describe(want, true), describe(got, ok))
		}
	}
	if n := len(tree.Files()); n != len(w.files) {
		return diag.New(diag.DigestMismatch, "a tree with %d files was written, its manifest has %d", len(w.files), n)
	}
	return nil
}

func describe(f skill.File, there bool) string {
	if !there {
		return "nothing"
	}
	mode := "-"
	if f.Exec {
		mode = "x"
	}
	return fmt.Sprintf("%s %s, %d bytes", mode, skill.DigestFromSum(f.SHA256).Short(), f.Size)
}

// Abort throws away what was added. After Commit it does nothing.
func (w *TreeWriter) Abort() {
	if w.tree == nil {
		return
	}
	w.tree.Close()
	w.tree = nil
	_ = w.root.RemoveAll(w.home) // gc removes what is left of it
}

// PutBundle stores a signature bundle under its own hash, which it returns.
func (c *Cache) PutBundle(b []byte) (skill.Digest, error) {
	d := skill.DigestOf(b)
	if int64(len(b)) > maxBundleBytes {
		return "", diag.New(diag.SignatureTooLarge, "the signature bundle has %d bytes; the limit is %d", len(b), maxBundleBytes)
	}
	root, err := c.writable()
	if err != nil {
		return "", err
	}
	if old, err := root.ReadFile(bundlePath(d), maxBundleBytes); err == nil && skill.DigestOf(old) == d {
		return d, nil
	}
	if err := root.MkdirAll(path.Dir(bundlePath(d)), 0o755); err != nil {
		return "", fsx.Diag(err, "write to the cache")
	}
	return d, fsx.Diag(root.WriteRacing(bundlePath(d), b, 0o444), "write to the cache")
}
