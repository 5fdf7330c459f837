package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillpm/skillpm/skill"
)

// descriptorDir holds one descriptor file an item, beside index.json.
const descriptorDir = "skillpm"

// maxDescriptorBytes bounds a descriptor file: ours have 1.5 KB, most of it the
// embedded manifest.
const maxDescriptorBytes = 64 << 10

// files is where an image layout lies: a folder, an archive, a web server. An
// absent file is fs.ErrNotExist. Implementations are safe for concurrent use.
type files interface {
	open(ctx context.Context, name string) (io.ReadCloser, error)
	close() error
}

// layout reads an OCI image layout through files. An item is found by its
// descriptor file and never through index.json, which has 35 MB at 100,000
// items.
type layout struct {
	files files
	// index finds tags in a layout that another tool made, which has no
	// descriptor files; nil where index.json is too far away to be loaded.
	index func() (map[string]ocispec.Descriptor, error)
}

func newLayout(f files) *layout {
	l := &layout{files: f}
	l.index = sync.OnceValues(l.foreignIndex)
	return l
}

func (l *layout) close() error { return l.files.close() }

func descriptorName(d skill.Digest) string {
	return descriptorDir + "/" + d.Hex()[:2] + "/" + d.Hex()
}

func blobName(d digest.Digest) (string, error) {
	parsed, err := skill.ParseDigest(string(d))
	if err != nil {
		return "", malformed("blob %q: %w", d, err)
	}
	return "blobs/sha256/" + parsed.Hex(), nil
}

// Resolve returns the descriptor of a tag, with the manifest in its Data if the
// layout embeds it.
func (l *layout) Resolve(ctx context.Context, tag string) (ocispec.Descriptor, error) {
	ref, ok := ParseTag(tag)
	if !ok {
		return ocispec.Descriptor{}, notFound(tag)
	}
	rc, err := l.files.open(ctx, descriptorName(ref.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return l.resolveInIndex(tag)
	}
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	b, err := readBody(rc, maxDescriptorBytes)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return parseDescriptor(b, tag)
}

func (l *layout) resolveInIndex(tag string) (ocispec.Descriptor, error) {
	if l.index == nil {
		return ocispec.Descriptor{}, notFound(tag)
	}
	tags, err := l.index()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, ok := tags[tag]
	if !ok {
		return d, notFound(tag)
	}
	return d, nil
}

// parseDescriptor reads a descriptor file and demands that it is of tag.
func parseDescriptor(b []byte, tag string) (ocispec.Descriptor, error) {
	var d ocispec.Descriptor
	if err := json.Unmarshal(b, &d); err != nil {
		return d, malformed("the descriptor of %.20s is not JSON: %w", tag, err)
	}
	if err := checkDescriptor(d); err != nil {
		return d, formatError{err}
	}
	if got := d.Annotations[ocispec.AnnotationRefName]; got != tag {
		return d, malformed("the descriptor of %.20s is tagged %q", tag, got)
	}
	if d.MediaType != ocispec.MediaTypeImageManifest {
		return d, malformed("the descriptor of %.20s is of a %q", tag, d.MediaType)
	}
	if d.Data != nil && digest.FromBytes(d.Data) != d.Digest {
		return d, malformed("the descriptor of %.20s embeds another manifest", tag)
	}
	return d, nil
}

// FetchReference returns the manifest of a tag.
func (l *layout) FetchReference(ctx context.Context, tag string) (ocispec.Descriptor, io.ReadCloser, error) {
	d, err := l.Resolve(ctx, tag)
	if err != nil {
		return d, nil, err
	}
	if d.Data != nil {
		return d, io.NopCloser(bytes.NewReader(d.Data)), nil
	}
	rc, err := l.Fetch(ctx, d)
	if isMissing(err) && err != nil {
		err = malformed("its manifest %.19s is missing", d.Digest)
	}
	return d, rc, err
}

// Fetch opens a blob.
func (l *layout) Fetch(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	return l.blob(ctx, d.Digest)
}

func (l *layout) blob(ctx context.Context, d digest.Digest) (io.ReadCloser, error) {
	name, err := blobName(d)
	if err != nil {
		return nil, err
	}
	return l.files.open(ctx, name)
}

// tags reads index.json as a stream, whatever its size.
func (l *layout) tags(ctx context.Context, visit func(string) error) error {
	rc, err := l.files.open(ctx, ocispec.ImageIndexFile)
	if err != nil {
		return err
	}
	defer rc.Close()
	return readIndex(rc, func(raw json.RawMessage) error {
		var d ocispec.Descriptor
		if err := json.Unmarshal(raw, &d); err != nil {
			return malformed("index.json: %w", err)
		}
		tag := d.Annotations[ocispec.AnnotationRefName]
		if tag == "" {
			return nil
		}
		return visit(tag)
	})
}

// maxForeignTags bounds the index of another tool's layout, held in memory.
const maxForeignTags = 100_000

// foreignIndex loads index.json, for a layout without descriptor files.
func (l *layout) foreignIndex() (map[string]ocispec.Descriptor, error) {
	ctx := context.Background() // local files only; see index
	if rc, err := l.files.open(ctx, markerName); err == nil {
		return nil, rc.Close()
	}
	rc, err := l.files.open(ctx, ocispec.ImageIndexFile)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	tags := map[string]ocispec.Descriptor{}
	err = readIndex(rc, func(raw json.RawMessage) error {
		var d ocispec.Descriptor
		if err := json.Unmarshal(raw, &d); err != nil {
			return malformed("index.json: %w", err)
		}
		tag := d.Annotations[ocispec.AnnotationRefName]
		if _, ours := ParseTag(tag); !ours || checkDescriptor(d) != nil {
			return nil
		}
		if len(tags) == maxForeignTags {
			return malformed("index.json has more than %d items and no descriptor files; copy the mirror with `skillpm mirror copy`", maxForeignTags)
		}
		tags[tag] = d
		return nil
	})
	return tags, err
}

// checkLayout demands an oci-layout file of a version this package knows.
func (l *layout) checkLayout(ctx context.Context) error {
	rc, err := l.files.open(ctx, ocispec.ImageLayoutFile)
	if err != nil {
		return fmt.Errorf("no OCI image layout: %w", err)
	}
	b, err := readBody(rc, maxDescriptorBytes)
	if err != nil {
		return err
	}
	var v ocispec.ImageLayout
	if err := json.Unmarshal(b, &v); err != nil || v.Version != ocispec.ImageLayoutVersion {
		return malformed("expected an OCI image layout %s, found %q", ocispec.ImageLayoutVersion, b)
	}
	return nil
}
