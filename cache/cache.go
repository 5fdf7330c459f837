package cache

import (
	"context"
	"os"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// Options are what a cache is opened with; the zero value works.
type Options struct {
	FS *fsx.FS // nil is the real disk without faults
	// Limits bound the trees that are read back; zero means skill.DefaultLimits.
	Limits skill.Limits
	// IndexWait bounds waiting for another run that holds the index; 0 means
	// DefaultIndexWait.
	IndexWait time.Duration
	// Note receives cache_corrupt notes, at most one per cause. nil drops them.
	Note func(*diag.Error)
	// Now is the clock for last use and age; nil means time.Now.
	Now func() time.Time
}

// DefaultIndexWait is how long a run waits for the index. It is short because
// the index costs speed only.
const DefaultIndexWait = 3 * time.Second

// Cache is one user's store and index. Every method is safe for concurrent use,
// also by several processes.
type Cache struct{ state }

// Open returns the cache in dir, an absolute path. Nothing is created or opened
// before it is needed.
func Open(dir string, opt Options) (*Cache, error) { return open(dir, opt) }

// Dir returns the cache's directory.
func (c *Cache) Dir() string { return c.dir }

// Has reports whether the tree of d is there. It hashes nothing.
func (c *Cache) Has(d skill.Digest) bool { return c.has(d) }

// Manifest returns the tree of d, its manifest verified against d. The error of
// a tree that is not there satisfies fs.ErrNotExist.
func (c *Cache) Manifest(d skill.Digest) (*skill.Tree, error) { return c.manifest(d) }

// Check hashes the whole tree. One that does not match is thrown away and noted,
// and the error satisfies fs.ErrNotExist like that of a missing one.
func (c *Cache) Check(ctx context.Context, d skill.Digest) error { return c.check(ctx, d) }

// ReadFile returns the verified bytes of one file. A damaged tree is thrown
// away, noted, and reported as fs.ErrNotExist.
func (c *Cache) ReadFile(d skill.Digest, path string) ([]byte, error) { return c.readFile(d, path) }

// Open opens one file of the tree of d. Its bytes are not verified: the caller
// hashes what it reads and calls Discard when it does not match Manifest.
func (c *Cache) Open(d skill.Digest, path string) (*os.File, error) { return c.openFile(d, path) }

// TreeDir returns the directory that holds, or would hold, the tree of d.
func (c *Cache) TreeDir(d skill.Digest) string { return c.treeDir(d) }

// Discard throws the tree of d away and notes it as damaged. A tree that is not
// there is no error.
func (c *Cache) Discard(d skill.Digest) error { return c.discard(d) }

// PutBundle stores a signature bundle under its own hash, which it returns.
func (c *Cache) PutBundle(b []byte) (skill.Digest, error) { return c.putBundle(b) }

// Bundle returns the verified bytes of a bundle; a missing or damaged one is
// fs.ErrNotExist.
func (c *Cache) Bundle(d skill.Digest) ([]byte, error) { return c.bundle(d) }

// NewTree starts writing a tree. Commit or Abort must be called.
func (c *Cache) NewTree() (*TreeWriter, error) { return c.newTree() }

// TreeWriter writes one tree into the store. Add may be called from several
// goroutines; Commit and Abort end it.
type TreeWriter struct{ treeWriter }

// Add writes one file. path must be legal in a tree (skill.CheckPath).
func (w *TreeWriter) Add(path string, exec bool, data []byte) error { return w.add(path, exec, data) }

// Commit makes the files that were added visible under tree's digest, all at
// once; files that differ from tree are digest_mismatch and nothing is kept. A
// tree that another run stored meanwhile is no error. Without sync: every read
// checks.
func (w *TreeWriter) Commit(tree *skill.Tree) error { return w.commit(tree) }

// Abort throws away what was added. After Commit it does nothing.
func (w *TreeWriter) Abort() { w.abort() }

// Usage is what the store holds.
type Usage struct {
	Trees, Files, Bundles int
	TreeBytes, IndexBytes int64
	BundleBytes           int64
}

// Size walks the store and returns what it holds.
func (c *Cache) Size(ctx context.Context) (Usage, error) { return c.size(ctx) }

// GCResult is what GC removed.
type GCResult struct {
	Trees, Bundles, Temporary int
	Bytes                     int64
}

// GC removes trees and bundles that were last used longer ago than age, and
// what dead writers left. The cache does not know every lock, so age is all it
// can judge by. dryRun counts only.
func (c *Cache) GC(ctx context.Context, age time.Duration, dryRun bool) (GCResult, error) {
	return c.gc(ctx, age, dryRun)
}

// VerifyResult is what Verify found.
type VerifyResult struct {
	Trees, Files, Bundles int
	Bytes                 int64
	// Damaged were thrown away; sorted.
	Damaged []skill.Digest
}

// Verify hashes everything in the store and throws away what does not match its
// name.
func (c *Cache) Verify(ctx context.Context) (VerifyResult, error) { return c.verify(ctx) }
