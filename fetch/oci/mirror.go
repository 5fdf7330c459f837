package oci

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/skillpm/skillpm/skill"
)

// ErrMiss is in the chain of an error that says the mirror does not hold the
// item. Its code is mirror_incomplete.
var ErrMiss = errors.New("not in the mirror")

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
	// UserAgent is sent to registries and web servers; empty is "skillpm".
	UserAgent string
}

// Mirror is an open mirror, safe for concurrent use.
type Mirror struct {
	spec  Spec
	opt   Options
	store store
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

// Open opens the mirror that spec names: dir:PATH, oci://HOST/REPOSITORY,
// https://HOST/PATH or tar:FILE (tar:- is Stdin or Stdout). It contacts no host.
// A folder or archive to read that is not there, or is no mirror, is
// mirror_invalid; a malformed spec is usage.
func Open(ctx context.Context, spec string, opt Options) (*Mirror, error) {
	return nil, errors.New("not implemented")
}

// String returns the spec without credentials.
func (m *Mirror) String() string { return m.spec.String() }

// Offline reports whether the mirror can be read without a network: folders and
// archives can.
func (m *Mirror) Offline() bool { return m.spec.Offline() }

// Close releases what the mirror holds. It does not commit.
func (m *Mirror) Close() error { return nil }

// Has reports whether the mirror says that it holds the item; the content is
// checked by Tree, Bundle and Verify.
func (m *Mirror) Has(ctx context.Context, ref Ref) (bool, error) { return false, nil }

// Tree reads the tree with digest d and hands every file to sink, in order,
// while it verifies. data is valid during the call only. Files come before the
// proof: on any error the caller must discard all that sink got. Errors:
// ErrMiss (mirror_incomplete); mirror_invalid for content that is not what was
// asked for or breaks the format; tree_too_large; the fetch_* codes; and
// whatever sink returned, unchanged.
func (m *Mirror) Tree(ctx context.Context, d skill.Digest, sink func(f skill.File, data []byte) error) (*skill.Tree, error) {
	return nil, nil
}

// Bundle returns the signature bundle with digest d, at most MaxBundleBytes.
// Errors are those of Tree.
func (m *Mirror) Bundle(ctx context.Context, d skill.Digest) ([]byte, error) { return nil, nil }

// PutTree stores tree, whose files open returns, unless the mirror has it, and
// reports whether it did. Content that differs from tree is digest_mismatch.
// It is complete for readers at once; Commit makes it durable.
func (m *Mirror) PutTree(ctx context.Context, tree *skill.Tree, open OpenFunc) (stored bool, err error) {
	return false, nil
}

// PutBundle stores a signature bundle likewise.
func (m *Mirror) PutBundle(ctx context.Context, bundle []byte) (stored bool, err error) {
	return false, nil
}

// Commit ends a series of Puts: it writes a folder's index.json, or the archive
// itself. For a registry there is nothing to do. Push and Copy commit themselves.
func (m *Mirror) Commit(ctx context.Context) error { return nil }

// Archive returns the SHA-256 and the size of the archive that Commit wrote;
// the digest is empty for other mirrors.
func (m *Mirror) Archive() (skill.Digest, int64) { return "", 0 }

// MaxBundleBytes bounds a signature bundle: real ones have 5 to 60 KB, and one
// with a statement over 10,000 files less than 4 MB.
const MaxBundleBytes = 8 << 20
