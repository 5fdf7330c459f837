package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// ErrMiss is in the chain of an error that says the mirror does not hold the
// item. Its code is mirror_incomplete.
var ErrMiss = errors.New("not in the mirror")

// MaxBundleBytes bounds a signature bundle: real ones have 5 to 60 KB, and one
// with a statement over 10,000 files less than 4 MB.
const MaxBundleBytes = 8 << 20

// Options says how a mirror is opened. The zero value opens it for reading with
// the default limits.
type Options struct {
	// Write allows Put, Push, Copy to it, and GC. A folder that does not exist is
	// made; an archive is made anew, whatever FILE held before.
	Write bool
	// PlainHTTP allows http to hosts other than loopback.
	PlainHTTP bool
	// Limits bounds every tree read; zero means skill.DefaultLimits.
	Limits skill.Limits
	// Dir is what relative paths of a spec start from; empty is the current directory.
	Dir string
	// Stdin and Stdout serve `tar:-`.
	Stdin  io.Reader
	Stdout io.Writer
	// TempDir holds what does not fit in memory; empty is os.TempDir.
	TempDir string
	// DockerConfig replaces docker's own config.json as the source of registry
	// credentials.
	DockerConfig string
	// Transport replaces the HTTP transport, with its address checks and retries;
	// for tests.
	Transport http.RoundTripper
	// Patience is the longest wait for a host to answer, or for more of its answer
	// to come; 0 means a minute. One that sends next to nothing is given up after
	// twice that.
	Patience time.Duration
	// UserAgent is sent to registries and web servers; empty is "skillpm".
	UserAgent string
}

// Mirror is an open mirror, safe for concurrent use.
type Mirror struct {
	spec  Spec
	opt   Options
	store reader
	w     writer // nil unless opened for writing

	stored sync.Map // digests of shared blobs that this run has stored already
}

// Kind is what a mirror's item is.
type Kind string

// The kinds of items.
const (
	KindTree     Kind = "tree"     // a skill's files
	KindBundle   Kind = "bundle"   // a signature
	KindVersions Kind = "versions" // what versions a source has
)

// Ref names one item of a mirror: a tree or bundle by its digest, versions by
// the SHA-256 of the source's identity. Its tag is "<kind>-<hex>".
type Ref struct {
	Kind   Kind
	Digest skill.Digest
}

// OpenFunc opens one file of a tree by its path.
type OpenFunc func(path string) (io.ReadCloser, error)

// reader is what a mirror is read through: a registry's repository, or an image
// layout on disk, in an archive or behind a web server. A missing item is
// errdef.ErrNotFound. Implementations are safe for concurrent use.
type reader interface {
	content.Fetcher
	content.Resolver
	registry.ReferenceFetcher
	// blob opens a blob of unknown size.
	blob(ctx context.Context, d digest.Digest) (io.ReadCloser, error)
	// tags calls visit for every tag, in any order.
	tags(ctx context.Context, visit func(tag string) error) error
	close() error
}

// writer is a reader that can be changed.
type writer interface {
	reader
	content.Pusher
	Exists(ctx context.Context, d ocispec.Descriptor) (bool, error)
	registry.ReferencePusher
	// discard forgets a blob that is about to be stored again.
	discard(ctx context.Context, d ocispec.Descriptor) error
	commit(ctx context.Context) error
	// collect removes all tags of skillpm that keep does not hold.
	collect(ctx context.Context, keep func(tag string) bool, dryRun bool) (*Removed, error)
}

// Open opens the mirror that spec names: dir:PATH, oci://HOST/REPOSITORY,
// https://HOST/PATH or tar:FILE (tar:- is Stdin or Stdout). It contacts no host.
// A folder or archive to read that is not there, or is no mirror, is
// mirror_invalid; a malformed spec is usage.
func Open(ctx context.Context, spec string, opt Options) (*Mirror, error) {
	s, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	if opt.Limits == (skill.Limits{}) {
		opt.Limits = skill.DefaultLimits
	}
	if opt.TempDir == "" {
		opt.TempDir = os.TempDir()
	}
	if opt.UserAgent == "" {
		opt.UserAgent = "skillpm"
	}
	m := &Mirror{spec: s, opt: opt}
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	if w, ok := m.store.(writer); ok && opt.Write {
		m.w = w
	} else if opt.Write {
		return nil, diag.New(diag.Usage, "mirror `%s` can only be read", s).
			WithHint("write the folder behind the web server as dir:PATH")
	}
	return m, nil
}

func (m *Mirror) open(ctx context.Context) (err error) {
	if err := m.checkPlain(); err != nil {
		return err
	}
	switch m.spec.kind {
	case formRegistry:
		m.store, err = openRegistry(m.spec, m.opt)
	case formStatic:
		m.store, err = openStatic(m.spec, m.opt)
	case formFolder:
		m.store, err = m.openFolder(ctx)
	case formArchive:
		m.store, err = m.openArchive(ctx)
	}
	return err
}

// checkPlain refuses http to another machine unless the user allowed it.
func (m *Mirror) checkPlain() error {
	if !m.spec.plain || m.opt.PlainHTTP || isLoopback(m.spec.host()) || m.spec.kind == formRegistry && m.spec.said {
		return nil
	}
	return diag.New(diag.HostRefused, "mirror `%s` is plain http to another machine", m.spec).
		WithHint("serve it over https; the mirror commands also take --plain-http")
}

// String returns the spec without credentials.
func (m *Mirror) String() string { return m.spec.String() }

// Offline reports whether the mirror can be read without a network: folders and
// archives can.
func (m *Mirror) Offline() bool { return m.spec.Offline() }

// Close releases what the mirror holds. It does not commit.
func (m *Mirror) Close() error { return m.store.close() }

// Has reports whether the mirror says that it holds the item; the content is
// checked by Tree, Bundle and Verify.
func (m *Mirror) Has(ctx context.Context, ref Ref) (bool, error) {
	ok, err := m.has(ctx, ref)
	return ok, m.explain(ref, err)
}

// has is Has with the error as it came.
func (m *Mirror) has(ctx context.Context, ref Ref) (bool, error) {
	_, err := m.store.Resolve(ctx, ref.Tag())
	if err != nil && isMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// Tree reads the tree with digest d and hands every file to sink, in order,
// while it verifies. data is valid during the call only. Files come before the
// proof: on any error the caller must discard all that sink got. Errors:
// ErrMiss (mirror_incomplete); mirror_invalid for content that is not what was
// asked for or breaks the format; tree_too_large; the fetch_* codes; and
// whatever sink returned, unchanged.
func (m *Mirror) Tree(ctx context.Context, d skill.Digest, sink func(f skill.File, data []byte) error) (*skill.Tree, error) {
	ref := Ref{KindTree, d}
	manifest, err := m.manifest(ctx, ref)
	if err != nil {
		return nil, m.explain(ref, err)
	}
	tree, err := m.unpack(ctx, manifest.Layers[0], d, nil, sink)
	if err != nil {
		return nil, m.explain(ref, err)
	}
	return tree, nil
}

// manifest fetches and checks the manifest of ref.
func (m *Mirror) manifest(ctx context.Context, ref Ref) (ocispec.Manifest, error) {
	_, rc, err := m.store.FetchReference(ctx, ref.Tag())
	if err != nil {
		return ocispec.Manifest{}, err
	}
	b, err := readBody(rc, maxManifestBytes)
	if err != nil {
		return ocispec.Manifest{}, err
	}
	manifest, err := parseManifest(b, ref)
	if err != nil {
		return manifest, formatError{err}
	}
	return manifest, nil
}

// unpack reads the layer, copying its packed bytes to raw if that is not nil,
// and demands that it holds the tree d.
func (m *Mirror) unpack(ctx context.Context, layer ocispec.Descriptor, d skill.Digest, raw io.Writer, sink func(skill.File, []byte) error) (*skill.Tree, error) {
	rc, err := m.fetchBlob(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	body := &tracked{r: io.LimitReader(rc, layer.Size+1)}
	var r io.Reader = body
	if raw != nil {
		r = io.TeeReader(body, raw)
	}
	tree, err := readLayer(ctx, r, m.opt.Limits, sink)
	switch {
	case body.err != nil:
		return nil, body.err
	case err != nil:
		return nil, err
	case tree.Digest() != d:
		return nil, malformed("it holds the tree %s", tree.Digest().Short())
	}
	return tree, nil
}

// fetchBlob opens a blob that a manifest names. A manifest without its blob is
// a broken item, not an absent one.
func (m *Mirror) fetchBlob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	rc, err := m.store.Fetch(ctx, d)
	if err == nil {
		return rc, nil
	}
	if code, _ := classify(err); code == diag.MirrorIncomplete {
		return nil, malformed("its blob %.19s is missing", d.Digest)
	}
	return nil, err
}

// Bundle returns the signature bundle with digest d, at most MaxBundleBytes.
// Errors are those of Tree. The bundle is a blob by its own digest, so one
// request is enough; the manifest only keeps it from being collected.
func (m *Mirror) Bundle(ctx context.Context, d skill.Digest) ([]byte, error) {
	ref := Ref{KindBundle, d}
	rc, err := m.store.blob(ctx, digest.Digest(d))
	if err != nil {
		return nil, m.explain(ref, err)
	}
	b, err := readBody(rc, MaxBundleBytes)
	if err == nil && skill.DigestOf(b) != d {
		err = malformed("it has the digest %s", skill.DigestOf(b).Short())
	}
	if err != nil {
		return nil, m.explain(ref, err)
	}
	return b, nil
}

// readBody reads and closes rc, and refuses more than limit bytes.
func readBody(rc io.ReadCloser, limit int64) ([]byte, error) {
	defer rc.Close()
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(rc, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, malformed("it has more than %d bytes", limit)
	}
	return b.Bytes(), nil
}

// isMissing reports whether err says that there is no such item or blob.
func isMissing(err error) bool {
	code, _ := classify(err)
	return code == diag.MirrorIncomplete
}

func notFound(what string) error { return fmt.Errorf("%s: %w", what, errdef.ErrNotFound) }
