package oci

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// MaxVersionsBytes bounds one source's versions: 500 of them with a SKILL.md of
// 20 KB, and 10,000 tags.
const MaxVersionsBytes = 16 << 20

// Versions is what a mirror knows about one source: the references that were
// listed, and the SKILL.md of the versions that were in somebody's range. It
// lets add, update and lock work where no git host can be reached.
//
// It is a mirror's word, not proven by a digest: whoever may write to the mirror
// decides what versions there are. The content of each version stays pinned by
// the digest in the lock that is made from it.
type Versions struct {
	// Source is the identity, such as github.com/acme/skills//skills/deploy; with
	// an empty subpath it describes the repository.
	Source string `json:"source"`
	// Head is the full name of the default branch, HeadCommit its commit.
	Head       string `json:"head,omitempty"`
	HeadCommit string `json:"headCommit,omitempty"`
	// Refs are the tags and branches as listed, sorted by name.
	Refs []VersionRef `json:"refs,omitempty"`
	// Candidates are sorted by commit and path.
	Candidates []Candidate `json:"candidates,omitempty"`
}

// VersionRef is one reference of the repository.
type VersionRef struct {
	Name   string `json:"name"`             // refs/tags/v1.0.0
	ID     string `json:"id"`               // what it points at
	Peeled string `json:"peeled,omitempty"` // commit of an annotated tag
}

// Candidate is one skill at one commit.
type Candidate struct {
	Commit string       `json:"commit"`
	Path   string       `json:"path"`             // directory in the repository, "" is the root
	Time   time.Time    `json:"time,omitzero"`    // committer time, UTC, seconds
	Tree   string       `json:"tree,omitempty"`   // git tree id of Path
	Digest skill.Digest `json:"digest,omitempty"` // where known
	Bundle skill.Digest `json:"bundle,omitempty"` // its signature, where it has one
	File   string       `json:"file"`             // spelling of SKILL.md
	Text   []byte       `json:"text"`             // its bytes (base64 in JSON)
}

// versionsHeader comes first in the document, so that nobody mistakes it.
type versionsDocument struct {
	Format  string `json:"format"`
	Version int    `json:"formatVersion"`
	Versions
}

const (
	versionsFormat  = "skillpm-versions"
	versionsVersion = 1
)

// VersionsRef returns the reference under which a source's versions lie.
func VersionsRef(source string) Ref {
	return Ref{KindVersions, skill.DigestOf([]byte(source))}
}

// Versions returns what the mirror knows about the source with this identity.
// Errors are those of Tree.
func (m *Mirror) Versions(ctx context.Context, source string) (*Versions, error) {
	ref := VersionsRef(source)
	v, err := m.versions(ctx, ref)
	if err != nil {
		return nil, m.explain(ref, err)
	}
	return v, nil
}

func (m *Mirror) versions(ctx context.Context, ref Ref) (*Versions, error) {
	manifest, err := m.manifest(ctx, ref)
	if err != nil {
		return nil, err
	}
	layer := manifest.Layers[0]
	if layer.MediaType != mediaVersions {
		return nil, malformed("expected a layer of type %s, found %q", mediaVersions, layer.MediaType)
	}
	rc, err := m.fetchBlob(ctx, layer)
	if err != nil {
		return nil, err
	}
	b, err := readBody(rc, MaxVersionsBytes)
	if err != nil {
		return nil, err
	}
	return parseVersions(b, ref)
}

func parseVersions(b []byte, ref Ref) (*Versions, error) {
	var doc versionsDocument
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, malformed("the versions are not JSON: %w", err)
	}
	switch {
	case doc.Format != versionsFormat:
		return nil, malformed("expected the format %s, found %q", versionsFormat, doc.Format)
	case doc.Version != versionsVersion:
		return nil, malformed("the versions have the format version %d; this skillpm reads %d", doc.Version, versionsVersion)
	case VersionsRef(doc.Source) != ref:
		return nil, malformed("the versions are of the source %q", doc.Source)
	}
	return &doc.Versions, nil
}

// PutVersions merges v into what the mirror knows and reports whether that
// changed anything: newer references replace older ones of the same name,
// candidates of the same commit and path replace each other, nothing is dropped.
// Two runs that merge at the same time may lose one's addition, never the other's.
func (m *Mirror) PutVersions(ctx context.Context, v *Versions) (bool, error) {
	if err := m.writable(); err != nil {
		return false, err
	}
	n, err := m.putVersions(ctx, v)
	return n.blobs > 0, m.explain(VersionsRef(v.Source), err)
}

func (m *Mirror) putVersions(ctx context.Context, v *Versions) (moved, error) {
	ref := VersionsRef(v.Source)
	old, err := m.versions(ctx, ref)
	if err != nil && !isMissing(err) && !isDamage(err) {
		return moved{}, err
	}
	missing := err != nil
	text, err := mergeVersions(old, v).bytes()
	if err != nil {
		return moved{}, sourceError{err}
	}
	if len(text) > MaxVersionsBytes {
		return moved{}, diag.New(diag.FetchTooLarge, "the versions of `%s` take %d bytes; the limit is %d", v.Source, len(text), MaxVersionsBytes)
	}
	if before, err := old.bytes(); !missing && err == nil && bytes.Equal(before, text) {
		return moved{}, nil
	}
	p := put{m: m}
	p.emptyConfig(ctx)
	layer := describe(mediaVersions, text)
	p.blob(ctx, layer, bytes.NewReader(text))
	n, err := p.tag(ctx, ref, ocispec.DescriptorEmptyJSON, layer)
	n.blobs = max(n.blobs, 1) // the tag moved even if the blob was there
	return n, err
}

func isDamage(err error) bool {
	_, ok := errors.AsType[formatError](err)
	return ok
}

// bytes returns the canonical document. It fails for a commit of the year 10000.
func (v *Versions) bytes() ([]byte, error) {
	if v == nil {
		v = &Versions{}
	}
	b, err := json.Marshal(versionsDocument{versionsFormat, versionsVersion, *v})
	return append(b, '\n'), err
}

func mergeVersions(old, v *Versions) *Versions {
	out := &Versions{Source: v.Source, Head: v.Head, HeadCommit: v.HeadCommit}
	if old == nil {
		old = &Versions{}
	}
	if v.Head == "" {
		out.Head, out.HeadCommit = old.Head, old.HeadCommit
	}
	out.Refs = mergeSorted(old.Refs, v.Refs, func(a, b VersionRef) int { return cmp.Compare(a.Name, b.Name) })
	out.Candidates = mergeSorted(old.Candidates, v.Candidates, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Path, b.Path))
	})
	for i := range out.Candidates {
		c := &out.Candidates[i]
		c.Time = c.Time.UTC().Truncate(time.Second)
	}
	return out
}

// mergeSorted returns the union, sorted; of equal elements the newest stays.
func mergeSorted[T any](old, newer []T, compare func(a, b T) int) []T {
	all := slices.Concat(newer, old)
	slices.SortStableFunc(all, compare)
	return slices.CompactFunc(all, func(a, b T) bool { return compare(a, b) == 0 })
}
