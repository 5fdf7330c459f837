package oci

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Removed is what GC took away, or would take.
type Removed struct {
	Refs  []Ref // sorted by tag
	Blobs int
	Bytes int64 // 0 for a registry, which frees space by itself
}

// GC removes every item that is not in keep. Content that is not skillpm's stays.
// It waits for pushes into the same folder, and then refuses (project_locked). A
// registry must allow deletion, and frees space by its own collection later.
func (m *Mirror) GC(ctx context.Context, keep map[Ref]bool, dryRun bool) (*Removed, error) {
	if err := m.writable(); err != nil {
		return nil, err
	}
	removed, err := m.w.collect(ctx, func(tag string) bool {
		ref, ok := ParseTag(tag)
		return !ok || keep[ref]
	}, dryRun)
	return removed, m.explainRun("collect", err)
}

// collect removes descriptor files, then their rows of index.json, then blobs
// that nothing names any more: killed in between, it leaves garbage and never a
// broken item.
func (f *folder) collect(ctx context.Context, keep func(tag string) bool, dryRun bool) (*Removed, error) {
	exclusive := flock.New(f.private(lockName))
	if err := f.acquire(ctx, exclusive.TryLockContext); err != nil {
		return nil, err
	}
	defer exclusive.Close()
	if err := f.recover(ctx); err != nil {
		return nil, err
	}
	live, old, err := f.mark(ctx, keep)
	if err != nil {
		return nil, err
	}
	removed := &Removed{Refs: old}
	if !dryRun {
		if err := f.forget(ctx, old, keep); err != nil {
			return removed, err
		}
	}
	return removed, f.sweep(ctx, live, dryRun, removed)
}

// mark returns the digests that kept items and foreign content need, and the
// items that go.
func (f *folder) mark(ctx context.Context, keep func(string) bool) (live map[digest.Digest]bool, old []Ref, err error) {
	live = map[digest.Digest]bool{}
	err = f.walkDescriptors(ctx, func(ref Ref, d ocispec.Descriptor) error {
		if !keep(ref.Tag()) {
			old = append(old, ref)
			return nil
		}
		return f.markManifest(ctx, d, live, 0)
	})
	if err != nil {
		return nil, nil, err
	}
	rc, err := f.files.open(ctx, ocispec.ImageIndexFile)
	if err != nil {
		return nil, nil, err
	}
	defer rc.Close()
	err = readIndex(rc, func(raw json.RawMessage) error {
		var d ocispec.Descriptor
		if err := json.Unmarshal(raw, &d); err != nil {
			return malformed("index.json: %w", err)
		}
		if tag := d.Annotations[ocispec.AnnotationRefName]; tag != "" && !keep(tag) || live[d.Digest] {
			return nil
		}
		return f.markManifest(ctx, d, live, 0)
	})
	slices.SortFunc(old, compareRefs)
	return live, old, err
}

// maxNesting bounds indexes within indexes of another tool's content.
const maxNesting = 8

// markManifest marks a manifest or index and all that it names. One that cannot
// be read stops the collection: its blobs could not be told from garbage.
func (f *folder) markManifest(ctx context.Context, d ocispec.Descriptor, live map[digest.Digest]bool, depth int) error {
	if depth > maxNesting {
		return malformed("indexes are nested deeper than %d", maxNesting)
	}
	live[d.Digest] = true
	b := d.Data
	if b == nil {
		rc, err := f.Fetch(ctx, d)
		if err != nil {
			return malformed("manifest %.19s cannot be read: %w", d.Digest, err)
		}
		if b, err = readBody(rc, maxManifestBytes); err != nil {
			return err
		}
	}
	var m struct {
		Config    *ocispec.Descriptor  `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
		Blobs     []ocispec.Descriptor `json:"blobs"`
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return malformed("manifest %.19s: %w", d.Digest, err)
	}
	if m.Config != nil {
		live[m.Config.Digest] = true
	}
	for _, blob := range append(m.Layers, m.Blobs...) {
		live[blob.Digest] = true
	}
	for _, child := range m.Manifests {
		if live[child.Digest] {
			continue
		}
		if there, _ := f.Exists(ctx, child); !there {
			continue // a sparse index; nothing of it to keep
		}
		if err := f.markManifest(ctx, child, live, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// walkDescriptors visits every descriptor file, sorted by name. An unreadable
// one is skipped: it is no item, and mirror verify reports it missing.
func (f *folder) walkDescriptors(ctx context.Context, visit func(Ref, ocispec.Descriptor) error) error {
	base := f.private(".")
	dirs, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if !dir.IsDir() || len(dir.Name()) != 2 {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(base, dir.Name()))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			ref, d, ok := f.readDescriptor(ctx, dir.Name(), e.Name())
			if !ok {
				continue
			}
			if err := visit(ref, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *folder) readDescriptor(ctx context.Context, dir, name string) (ref Ref, d ocispec.Descriptor, ok bool) {
	rc, err := f.files.open(ctx, descriptorDir+"/"+dir+"/"+name)
	if err != nil {
		return ref, d, false
	}
	b, err := readBody(rc, maxDescriptorBytes)
	if err != nil || json.Unmarshal(b, &d) != nil {
		return ref, d, false
	}
	tag := d.Annotations[ocispec.AnnotationRefName]
	if ref, ok = ParseTag(tag); !ok || ref.Digest.Hex() != name {
		return ref, d, false
	}
	d, err = parseDescriptor(b, tag)
	return ref, d, err == nil
}

// forget removes the descriptor files and rows of the items that go.
func (f *folder) forget(ctx context.Context, old []Ref, keep func(string) bool) error {
	for _, ref := range old {
		err := os.Remove(filepath.Join(f.path, filepath.FromSlash(descriptorName(ref.Digest))))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.updateIndex(ctx, func() (change, error) {
		return change{drop: func(tag string) bool { return tag != "" && !keep(tag) }}, nil
	})
}

// sweep removes blobs that are not live, and temporary files of killed runs.
func (f *folder) sweep(ctx context.Context, live map[digest.Digest]bool, dryRun bool, removed *Removed) error {
	dir := filepath.Join(f.path, "blobs", "sha256")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if live[digest.NewDigestFromEncoded(digest.SHA256, e.Name())] || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			removed.Bytes += info.Size()
		}
		removed.Blobs++
		if dryRun {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if dryRun {
		return nil
	}
	return f.sweepTemporary()
}

// sweepTemporary may remove every one: the exclusive lock says that no run of
// skillpm is storing.
func (f *folder) sweepTemporary() error {
	if err := os.RemoveAll(filepath.Join(f.path, "ingest")); err != nil {
		return err
	}
	base := f.private(".")
	return filepath.WalkDir(base, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		stale := strings.HasPrefix(e.Name(), tmpPrefix) || strings.HasPrefix(e.Name(), pushPrefix)
		if e.IsDir() || !stale {
			return nil
		}
		return os.Remove(name)
	})
}

func compareRefs(a, b Ref) int { return strings.Compare(a.Tag(), b.Tag()) }
