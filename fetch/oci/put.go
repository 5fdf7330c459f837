package oci

import (
	"bytes"
	"context"
	"errors"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// PutTree stores tree, whose files open returns, unless the mirror has it, and
// reports whether it did. Content that differs from tree is digest_mismatch.
// It is complete for readers at once; Commit makes it durable.
func (m *Mirror) PutTree(ctx context.Context, tree *skill.Tree, open OpenFunc) (bool, error) {
	ref := Ref{KindTree, tree.Digest()}
	return m.putUnlessPresent(ctx, ref, func() (moved, error) { return m.putTree(ctx, tree, open, false) })
}

// PutBundle stores a signature bundle likewise.
func (m *Mirror) PutBundle(ctx context.Context, bundle []byte) (bool, error) {
	ref := Ref{KindBundle, skill.DigestOf(bundle)}
	return m.putUnlessPresent(ctx, ref, func() (moved, error) { return m.putBundle(ctx, bundle, false) })
}

func (m *Mirror) putUnlessPresent(ctx context.Context, ref Ref, put func() (moved, error)) (bool, error) {
	if err := m.writable(); err != nil {
		return false, err
	}
	present, err := m.Has(ctx, ref)
	if err != nil || present {
		return false, err
	}
	if _, err := put(); err != nil {
		return false, m.explain(ref, err)
	}
	return true, nil
}

func (m *Mirror) writable() error {
	if m.w == nil {
		return diag.New(diag.Internal, "mirror `%s` was opened for reading", m)
	}
	return nil
}

// moved counts what one put uploaded, the manifest not included.
type moved struct {
	blobs int
	bytes int64
}

func (m *Mirror) putTree(ctx context.Context, tree *skill.Tree, open OpenFunc, replace bool) (moved, error) {
	layer := newSpool(m.opt.TempDir)
	defer layer.close()
	if err := packLayer(ctx, layer, tree, open); err != nil {
		return moved{}, err
	}
	return m.putLayer(ctx, tree, layer, replace)
}

// putLayer stores a tree whose layer is packed already.
func (m *Mirror) putLayer(ctx context.Context, tree *skill.Tree, layer *spool, replace bool) (moved, error) {
	p := put{m: m, replace: replace}
	manifest := tree.Manifest()
	config := describe(mediaTree, manifest)
	layerDesc := layer.descriptor(mediaLayer)
	p.blob(ctx, config, bytes.NewReader(manifest))
	p.blob(ctx, layerDesc, layer.reader())
	return p.tag(ctx, Ref{KindTree, tree.Digest()}, config, layerDesc)
}

func (m *Mirror) putBundle(ctx context.Context, bundle []byte, replace bool) (moved, error) {
	if len(bundle) > MaxBundleBytes {
		return moved{}, diag.New(diag.SignatureTooLarge, "the signature has %d bytes; the limit is %d", len(bundle), MaxBundleBytes)
	}
	p := put{m: m, replace: replace}
	layer := describe(bundleMediaType(bundle), bundle)
	p.emptyConfig(ctx)
	p.blob(ctx, layer, bytes.NewReader(bundle))
	return p.tag(ctx, Ref{KindBundle, skill.DigestOf(bundle)}, ocispec.DescriptorEmptyJSON, layer)
}

// put stores the blobs of one item, then its manifest, which makes it present.
// After the first error the further steps do nothing.
type put struct {
	m       *Mirror
	replace bool
	moved   moved
	err     error
}

func (p *put) blob(ctx context.Context, d ocispec.Descriptor, r io.Reader) {
	if p.err != nil {
		return
	}
	if p.replace {
		p.err = p.m.w.discard(ctx, d)
	} else {
		var there bool
		if there, p.err = p.m.w.Exists(ctx, d); there {
			return
		}
	}
	if p.err != nil {
		return
	}
	err := p.m.w.Push(ctx, d, r)
	if errors.Is(err, errdef.ErrAlreadyExists) { // another item's put was faster
		return
	}
	if p.err = err; err == nil {
		p.moved.blobs++
		p.moved.bytes += d.Size
	}
}

// emptyConfig stores the config that signatures share, once a run.
func (p *put) emptyConfig(ctx context.Context) {
	d := ocispec.DescriptorEmptyJSON
	if _, done := p.m.stored.Load(d.Digest); done && !p.replace {
		return
	}
	replace := p.replace
	p.replace = false // shared with others that may be read right now
	p.blob(ctx, d, bytes.NewReader(d.Data))
	p.replace = replace
	if p.err == nil {
		p.m.stored.Store(d.Digest, true)
	}
}

func (p *put) tag(ctx context.Context, ref Ref, config, layer ocispec.Descriptor) (moved, error) {
	if p.err != nil {
		return p.moved, p.err
	}
	desc, manifest := newManifest(ref.Kind, config, layer)
	if p.replace {
		if err := p.m.w.discard(ctx, desc); err != nil {
			return p.moved, err
		}
	}
	return p.moved, p.m.w.PushReference(ctx, desc, bytes.NewReader(manifest), ref.Tag())
}

// Commit ends a series of Puts: it writes a folder's index.json, or the archive
// itself. For a registry there is nothing to do. Push and Copy commit themselves.
func (m *Mirror) Commit(ctx context.Context) error {
	if err := m.writable(); err != nil {
		return err
	}
	if err := m.w.commit(ctx); err != nil {
		if _, ok := errors.AsType[*diag.Error](err); ok || errors.Is(err, context.Canceled) {
			return err
		}
		code, hint := classify(err)
		e := diag.New(code, "mirror `%s`: could not write its index", m).WithCause(err)
		e.Hint = hint
		return e
	}
	return nil
}

// Archive returns the SHA-256 and the size of the archive that Commit wrote;
// the digest is empty for other mirrors.
func (m *Mirror) Archive() (skill.Digest, int64) {
	if a, ok := m.store.(*archiveWriter); ok {
		return a.digest, a.size
	}
	return "", 0
}
