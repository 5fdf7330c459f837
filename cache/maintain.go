package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// deadWriter is the age from which a temporary directory counts as left by a
// run that died: no tree takes an hour to write.
const deadWriter = time.Hour

// Usage is what the store holds.
type Usage struct {
	Trees, Files, Bundles              int
	TreeBytes, BundleBytes, IndexBytes int64
}

// Size returns what the store holds, by its manifests. Damaged trees count as
// missing.
func (c *Cache) Size(ctx context.Context) (Usage, error) {
	var u Usage
	err := c.each(ctx, func(e entry) error {
		if e.bundle {
			u.Bundles++
			u.BundleBytes += e.size
			return nil
		}
		tree, err := c.Manifest(e.digest)
		if err != nil {
			return skipMissing(err)
		}
		u.Trees++
		u.Files += len(tree.Files())
		u.TreeBytes += tree.Size()
		return nil
	})
	if info, err := os.Stat(c.index.path); err == nil {
		u.IndexBytes = info.Size()
	}
	return u, err
}

func skipMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// entry is one tree, by its manifest, or one bundle.
type entry struct {
	digest skill.Digest
	bundle bool
	size   int64 // of the bundle
	time   time.Time
}

// each calls f for every entry of the store in the order of paths. What has no
// name of ours is passed over.
func (c *Cache) each(ctx context.Context, f func(entry) error) error {
	for _, top := range []string{"sigs", "trees"} {
		fans, err := os.ReadDir(c.abs(top))
		if err != nil {
			if fsx.IsNotExist(err) {
				continue
			}
			return fsx.Diag(err, "read the cache")
		}
		for _, fan := range fans {
			if err := c.eachOf(ctx, top, fan.Name(), f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cache) eachOf(ctx context.Context, top, fan string, f func(entry) error) error {
	files, err := os.ReadDir(filepath.Join(c.abs(top), fan))
	if err != nil {
		return nil // a stray file, or removed meanwhile
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest, isManifest := strings.CutSuffix(file.Name(), ".manifest")
		if isManifest != (top == "trees") {
			continue
		}
		d, err := skill.ParseDigest("sha256:" + fan + rest)
		if err != nil {
			continue
		}
		info, err := file.Info()
		if err != nil {
			continue // removed meanwhile
		}
		if err := f(entry{d, top == "sigs", info.Size(), info.ModTime()}); err != nil {
			return err
		}
	}
	return nil
}

// GCResult is what GC removed, or would.
type GCResult struct {
	Trees, Bundles, Temporary int
	Bytes                     int64
}

// GC removes trees and bundles that were last used longer ago than age, and
// what dead writers left. The cache does not know every lock, so age is all it
// can judge by. dryRun counts only. The caller flushes.
func (c *Cache) GC(ctx context.Context, age time.Duration, dryRun bool) (GCResult, error) {
	var result GCResult
	var old []entry
	err := c.each(ctx, func(e entry) error {
		if c.now().Sub(e.time) >= age {
			old = append(old, e)
		}
		return nil
	})
	if err != nil {
		return result, err
	}
	keys := make([]string, len(old))
	for i, e := range old {
		keys[i] = e.digest.Hex()
	}
	used := c.GetAll(usedBucket, keys)
	for i, e := range old {
		if at, ok := parseTime(used[keys[i]]); ok && c.now().Sub(at) < age {
			continue
		}
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if err := c.collect(e, dryRun, &result); err != nil {
			return result, err
		}
	}
	return result, c.collectTemporary(dryRun, &result)
}

func (c *Cache) collect(e entry, dryRun bool, result *GCResult) error {
	if e.bundle {
		result.Bundles++
		result.Bytes += e.size
		if dryRun {
			return nil
		}
		root, err := c.writable()
		if err != nil {
			return err
		}
		if err := root.Remove(bundlePath(e.digest)); err != nil && !fsx.IsNotExist(err) {
			return fsx.Diag(err, "clean the cache")
		}
	} else {
		if tree, err := c.Manifest(e.digest); err == nil {
			result.Bytes += tree.Size()
		}
		result.Trees++
		if dryRun {
			return nil
		}
		if err := c.remove(e.digest); err != nil {
			return err
		}
	}
	c.Put(usedBucket, e.digest.Hex(), nil)
	return nil
}

func (c *Cache) collectTemporary(dryRun bool, result *GCResult) error {
	list, err := os.ReadDir(c.abs(temporaryDir))
	if err != nil {
		return nil // none
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil || c.now().Sub(info.ModTime()) < deadWriter {
			continue
		}
		result.Temporary++
		if dryRun {
			continue
		}
		root, err := c.writable()
		if err != nil {
			return err
		}
		if err := root.RemoveAll(temporaryDir + "/" + e.Name()); err != nil {
			return fsx.Diag(err, "clean the cache")
		}
	}
	return nil
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
func (c *Cache) Verify(ctx context.Context) (VerifyResult, error) {
	var result VerifyResult
	err := c.each(ctx, func(e entry) error {
		err := c.verifyEntry(ctx, e, &result)
		if errors.Is(err, fs.ErrNotExist) {
			result.Damaged = append(result.Damaged, e.digest)
			return nil
		}
		return err
	})
	slices.Sort(result.Damaged)
	return result, err
}

func (c *Cache) verifyEntry(ctx context.Context, e entry, result *VerifyResult) error {
	if e.bundle {
		data, err := c.Bundle(e.digest)
		if err == nil {
			result.Bundles++
			result.Bytes += int64(len(data))
		}
		return err
	}
	tree, err := c.checkTree(ctx, e.digest)
	if err == nil {
		result.Trees++
		result.Files += len(tree.Files())
		result.Bytes += tree.Size()
	}
	return err
}
