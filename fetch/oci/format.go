package oci

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillpm/skillpm/skill"
)

// The media types of the mirror format (docs/mirrors.md).
const (
	ArtifactTree     = "application/vnd.skillpm.skill.v1"
	ArtifactBundle   = "application/vnd.skillpm.signature.v1"
	ArtifactVersions = "application/vnd.skillpm.versions.v1"

	mediaTree     = "application/vnd.skillpm.tree.v1"
	mediaLayer    = "application/vnd.skillpm.tree.v1.tar+gzip"
	mediaVersions = "application/vnd.skillpm.versions.v1+json"
	// mediaSigstore stands in for a bundle that does not say its own type.
	mediaSigstore = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// epoch is the fixed time of creation, so that equal content is equal bytes.
const epoch = "1970-01-01T00:00:00Z"

// maxManifestBytes bounds a manifest: ours have 700 bytes, registries take 4 MiB.
const maxManifestBytes = 4 << 20

// Tag returns "<kind>-<hex>", under which the item lies in an OCI repository.
func (r Ref) Tag() string { return string(r.Kind) + "-" + r.Digest.Hex() }

// String returns kind and shortened digest, for people.
func (r Ref) String() string { return string(r.Kind) + " " + r.Digest.Short() }

// ParseTag is the reverse of Tag; ok is false for tags that are not skillpm's.
func ParseTag(tag string) (r Ref, ok bool) {
	kind, hex, found := strings.Cut(tag, "-")
	if !found || artifactTypes[Kind(kind)] == "" {
		return Ref{}, false
	}
	d, err := skill.ParseDigest("sha256:" + hex)
	if err != nil {
		return Ref{}, false
	}
	return Ref{Kind(kind), d}, true
}

var artifactTypes = map[Kind]string{
	KindTree: ArtifactTree, KindBundle: ArtifactBundle, KindVersions: ArtifactVersions,
}

// newManifest returns the manifest of an item with one layer, its descriptor
// and its bytes. Equal arguments give equal bytes.
func newManifest(kind Kind, config, layer ocispec.Descriptor) (ocispec.Descriptor, []byte) {
	b, err := json.Marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: artifactTypes[kind],
		Config:       config,
		Layers:       []ocispec.Descriptor{layer},
		Annotations:  map[string]string{ocispec.AnnotationCreated: epoch},
	})
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	desc := describe(ocispec.MediaTypeImageManifest, b)
	desc.ArtifactType = artifactTypes[kind]
	return desc, b
}

func describe(mediaType string, b []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(b), Size: int64(len(b))}
}

// parseManifest reads the manifest of ref and says how it breaks the format.
func parseManifest(b []byte, ref Ref) (ocispec.Manifest, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("the manifest is not JSON: %w", err)
	}
	switch {
	case m.MediaType != "" && m.MediaType != ocispec.MediaTypeImageManifest:
		return m, fmt.Errorf("expected a manifest of type %s, found %q", ocispec.MediaTypeImageManifest, m.MediaType)
	case m.ArtifactType != artifactTypes[ref.Kind]:
		return m, fmt.Errorf("expected an artifact of type %s, found %q", artifactTypes[ref.Kind], m.ArtifactType)
	case len(m.Layers) != 1:
		return m, fmt.Errorf("expected one layer, found %d", len(m.Layers))
	}
	for _, d := range []ocispec.Descriptor{m.Config, m.Layers[0]} {
		if err := checkDescriptor(d); err != nil {
			return m, err
		}
	}
	if ref.Kind == KindTree {
		return m, checkTreeManifest(m, ref.Digest)
	}
	return m, nil
}

// checkTreeManifest refuses early what could never unpack to d: the config is
// the tree's own manifest, so its digest is the tree's.
func checkTreeManifest(m ocispec.Manifest, d skill.Digest) error {
	switch {
	case m.Config.MediaType != mediaTree:
		return fmt.Errorf("expected a config of type %s, found %q", mediaTree, m.Config.MediaType)
	case m.Config.Digest != digest.Digest(d):
		return fmt.Errorf("it describes the tree %.19s", m.Config.Digest)
	case m.Layers[0].MediaType != mediaLayer:
		return fmt.Errorf("expected a layer of type %s, found %q", mediaLayer, m.Layers[0].MediaType)
	}
	return nil
}

// checkDescriptor refuses what cannot name a blob of a mirror: only SHA-256
// digests, which are also file names, and sizes that are no lie on their face.
func checkDescriptor(d ocispec.Descriptor) error {
	if _, err := skill.ParseDigest(string(d.Digest)); err != nil {
		return fmt.Errorf("descriptor %q: %w", d.Digest, err)
	}
	if d.Size < 0 {
		return fmt.Errorf("descriptor %s has the size %d", d.Digest, d.Size)
	}
	return nil
}

// bundleMediaType returns the type that the bundle says it has.
func bundleMediaType(bundle []byte) string {
	var head struct {
		MediaType string `json:"mediaType"`
	}
	if json.Unmarshal(bundle, &head) != nil {
		return mediaSigstore
	}
	t, params, err := mime.ParseMediaType(head.MediaType)
	if err != nil || !strings.Contains(t, "/") || len(t) > 127 {
		return mediaSigstore
	}
	if v := params["version"]; v != "" { // v0.1 and v0.2 carry it as a parameter
		return mime.FormatMediaType(t, map[string]string{"version": v})
	}
	return t
}
