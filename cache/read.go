package cache

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// maxManifestBytes bounds one manifest: the most files a tree may have by
// default, each with the longest path, would not fit in memory sensibly; real
// ones are below 200 KB.
const maxManifestBytes = 64 << 20

// maxBundleBytes bounds one signature bundle. Real ones have 5 to 300 KB.
const maxBundleBytes = 16 << 20

// copyBuffer is what one copy or hash holds in memory.
const copyBuffer = 128 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }}

// Has reports whether the tree of d is there. It hashes nothing.
func (c *Cache) Has(d skill.Digest) bool {
	if !known(d) {
		return false
	}
	info, err := c.disk.Stat(c.TreeDir(d))
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = c.disk.Stat(c.abs(manifestPath(d)))
	return err == nil
}

// Manifest returns the tree of d, its manifest verified against d. The error of
// a tree that is not there satisfies fs.ErrNotExist; a damaged manifest, or one
// without its tree, is the same.
func (c *Cache) Manifest(d skill.Digest) (*skill.Tree, error) {
	if !known(d) {
		return nil, missing("tree", d)
	}
	data, err := c.readWhole(c.abs(manifestPath(d)), maxManifestBytes)
	if fsx.IsNotExist(err) {
		if _, err := c.disk.Stat(c.TreeDir(d)); err == nil {
			return nil, c.damaged(d, "its manifest is gone")
		}
		return nil, missing("tree", d)
	}
	if err != nil {
		return nil, fsx.Diag(err, "read the cache")
	}
	if skill.DigestOf(data) != d {
		return nil, c.damaged(d, "its manifest was changed")
	}
	tree, err := skill.ParseTreeManifest(data, c.limits)
	if err != nil {
		return nil, err // right bytes: a limit that was lowered since, not damage
	}
	if _, err := c.disk.Stat(c.TreeDir(d)); err != nil {
		return nil, missing("tree", d)
	}
	return tree, nil
}

// Peek is Manifest for those who must leave the store as it is: a tree that is
// damaged or cannot be read is not there. Of its files nothing is known to be right.
func (c *Cache) Peek(d skill.Digest) (*skill.Tree, bool) {
	if !known(d) {
		return nil, false
	}
	data, err := c.readWhole(c.abs(manifestPath(d)), maxManifestBytes)
	if err != nil || skill.DigestOf(data) != d {
		return nil, false
	}
	tree, err := skill.ParseTreeManifest(data, c.limits)
	return tree, err == nil
}

func (c *Cache) readWhole(name string, limit int64) ([]byte, error) {
	f, err := c.disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fsx.ErrTooLarge}
	}
	return data, err
}

// damaged throws the tree of d away and returns the error of a missing one.
func (c *Cache) damaged(d skill.Digest, why string) error {
	c.note(diag.Note(diag.CacheCorrupt, "tree %s in the cache was damaged: %s; it was thrown away", d.Short(), why))
	if err := c.remove(d); err != nil {
		return err
	}
	return missing("tree", d)
}

// Discard throws the tree of d away and notes it as damaged. A tree that is not
// there is no error.
func (c *Cache) Discard(d skill.Digest) error {
	if !known(d) {
		return nil
	}
	if err := c.damaged(d, "its content does not match its name"); !fsx.IsNotExist(err) {
		return err
	}
	return nil
}

// remove takes the tree out of sight by one rename and then deletes it, so that
// nobody meets half of it.
func (c *Cache) remove(d skill.Digest) error {
	root, err := c.writable()
	if err != nil {
		return err
	}
	away, err := c.temporary(root)
	if err != nil {
		return err
	}
	if err := root.Rename(treePath(d), path.Join(away, "tree")); err != nil && !fsx.IsNotExist(err) {
		return fsx.Diag(err, "clean the cache")
	}
	if err := root.Remove(manifestPath(d)); err != nil && !fsx.IsNotExist(err) {
		return fsx.Diag(err, "clean the cache")
	}
	return fsx.Diag(root.RemoveAll(away), "clean the cache")
}

// Check hashes the whole tree. One that does not match is thrown away and noted,
// and the error satisfies fs.ErrNotExist like that of a missing one.
func (c *Cache) Check(ctx context.Context, d skill.Digest) error {
	_, err := c.checkTree(ctx, d)
	return err
}

func (c *Cache) checkTree(ctx context.Context, d skill.Digest) (*skill.Tree, error) {
	tree, err := c.Manifest(d)
	if err != nil {
		return nil, err
	}
	for _, f := range tree.Files() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.checkFile(d, f, io.Discard); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// ReadFile returns the verified bytes of one file. A damaged tree is thrown
// away, noted, and reported as fs.ErrNotExist, as is a path the tree lacks.
func (c *Cache) ReadFile(d skill.Digest, p string) ([]byte, error) {
	tree, err := c.Manifest(d)
	if err != nil {
		return nil, err
	}
	f, ok := tree.File(p)
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: p, Err: fs.ErrNotExist}
	}
	data := make([]byte, 0, f.Size)
	if err := c.checkFile(d, f, writerFunc(func(b []byte) { data = append(data, b...) })); err != nil {
		return nil, err
	}
	return data, nil
}

type writerFunc func([]byte)

func (w writerFunc) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// checkFile copies one stored file to out while hashing it; what out got counts
// only when the error is nil.
func (c *Cache) checkFile(d skill.Digest, f skill.File, out io.Writer) error {
	in, err := c.disk.Open(c.filePath(d, f.Path))
	if fsx.IsNotExist(err) {
		return c.damaged(d, "`"+f.Path+"` is gone")
	}
	if err != nil {
		return fsx.Diag(err, "read the cache")
	}
	defer in.Close()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(h, out), onlyReader{io.LimitReader(in, f.Size+1)}, *buf)
	if err != nil {
		return fsx.Diag(err, "read the cache")
	}
	if n != f.Size || [sha256.Size]byte(h.Sum(nil)) != f.SHA256 {
		return c.damaged(d, "`"+f.Path+"` was changed")
	}
	return nil
}

// onlyReader hides every other method, so that io.CopyBuffer uses the buffer.
type onlyReader struct{ io.Reader }

func (c *Cache) filePath(d skill.Digest, p string) string {
	return filepath.Join(c.TreeDir(d), filepath.FromSlash(p))
}

// Open opens one file of the tree of d. Its bytes are not verified: the caller
// hashes what it reads and calls Discard when it does not match Manifest.
func (c *Cache) Open(d skill.Digest, p string) (*os.File, error) {
	if !known(d) || skill.CheckPath(p) != nil {
		return nil, missing("file `"+p+"` of tree", d)
	}
	return c.disk.Open(c.filePath(d, p))
}

// Bundle returns the verified bytes of a bundle; a missing or damaged one is
// fs.ErrNotExist.
func (c *Cache) Bundle(d skill.Digest) ([]byte, error) {
	if !known(d) {
		return nil, missing("signature bundle", d)
	}
	data, err := c.readWhole(c.abs(bundlePath(d)), maxBundleBytes)
	if fsx.IsNotExist(err) {
		return nil, missing("signature bundle", d)
	}
	if err != nil && !errors.Is(err, fsx.ErrTooLarge) {
		return nil, fsx.Diag(err, "read the cache")
	}
	if err == nil && skill.DigestOf(data) == d {
		return data, nil
	}
	c.note(diag.Note(diag.CacheCorrupt, "signature bundle %s in the cache was damaged; it was thrown away", d.Short()))
	root, err := c.writable()
	if err != nil {
		return nil, err
	}
	if err := root.Remove(bundlePath(d)); err != nil && !fsx.IsNotExist(err) {
		return nil, fsx.Diag(err, "clean the cache")
	}
	return nil, missing("signature bundle", d)
}
