package cache

import (
	"os"
	"path/filepath"
	"sync"
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
	// Note receives cache_corrupt and cache_locked notes, at most one per cause.
	// nil drops them. It must be safe for concurrent use.
	Note func(*diag.Error)
	// Now is the clock for last use and age; nil means time.Now.
	Now func() time.Time
}

// Cache is one user's store and index. Every method is safe for concurrent use,
// also by several processes.
type Cache struct {
	dir    string
	disk   *fsx.FS
	limits skill.Limits
	now    func() time.Time
	note   func(*diag.Error)
	index  index

	mu   sync.Mutex
	root *fsx.Root // opened by the first write
}

// Open returns the cache in dir, an absolute path. Nothing is created or opened
// before it is needed. Close may be called to give its handles back.
func Open(dir string, opt Options) (*Cache, error) {
	if !filepath.IsAbs(dir) {
		return nil, diag.New(diag.Internal, "the cache directory `%s` is not absolute", dir)
	}
	c := &Cache{dir: filepath.Clean(dir), disk: opt.FS, limits: opt.Limits, now: opt.Now, note: opt.Note}
	if c.limits == (skill.Limits{}) {
		c.limits = skill.DefaultLimits
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.note == nil {
		c.note = func(*diag.Error) {}
	}
	c.index.path, c.index.wait, c.index.note = filepath.Join(c.dir, "index.db"), opt.IndexWait, c.note
	if c.index.wait == 0 {
		c.index.wait = DefaultIndexWait
	}
	return c, nil
}

// Dir returns the cache's directory.
func (c *Cache) Dir() string { return c.dir }

// Close gives the cache's handles back. What was put and not flushed is lost.
func (c *Cache) Close() error {
	c.index.reader.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root == nil {
		return nil
	}
	root := c.root
	c.root = nil
	return root.Close()
}

// writable returns the cache's root, created where needed.
func (c *Cache) writable() (*fsx.Root, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != nil {
		return c.root, nil
	}
	root, err := c.disk.MakeRoot(c.dir, 0o755)
	if err != nil {
		return nil, fsx.Diag(err, "open the cache")
	}
	c.root = root
	return root, nil
}

// The slash paths below the cache's directory. Two digits of fan-out keep
// directories short on file systems that search them one by one.
func treePath(d skill.Digest) string     { return "trees/" + d.Hex()[:2] + "/" + d.Hex()[2:] }
func manifestPath(d skill.Digest) string { return treePath(d) + ".manifest" }
func bundlePath(d skill.Digest) string   { return "sigs/" + d.Hex()[:2] + "/" + d.Hex()[2:] }

const temporaryDir = "tmp"

func (c *Cache) abs(p string) string { return filepath.Join(c.dir, filepath.FromSlash(p)) }

// TreeDir returns the directory that holds, or would hold, the tree of d.
func (c *Cache) TreeDir(d skill.Digest) string { return c.abs(treePath(d)) }

// known says whether d has the form of a digest, so that a hand-made value
// cannot name a path outside the store.
func known(d skill.Digest) bool {
	_, err := skill.ParseDigest(string(d))
	return err == nil
}

// missing is the error of what is not in the store; it satisfies fs.ErrNotExist.
func missing(what string, d skill.Digest) error {
	return &os.PathError{Op: "read", Path: what + " " + d.Short() + " in the cache", Err: os.ErrNotExist}
}
