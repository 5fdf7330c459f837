package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/skillpm/skillpm/internal/diag"
)

const (
	tagPage = 1000
	// maxTagPages bounds a listing at ten million tags, ten times the largest
	// mirror that docs/mirrors.md plans for.
	maxTagPages = 10_000
)

// registryStore is a repository of a registry.
type registryStore struct{ *remote.Repository }

var _ writer = registryStore{}

func openRegistry(spec Spec, opt Options) (reader, error) {
	over, err := newClient(spec, opt)
	if err != nil {
		return nil, err
	}
	client := &auth.Client{
		Client:     over,
		Header:     http.Header{"User-Agent": {opt.UserAgent}},
		Cache:      auth.NewCache(),
		Credential: dockerCredentials(opt.DockerConfig),
	}
	if isLoopback(spec.host()) {
		client.BlockedRealmPrefixes = []netip.Prefix{} // its token server may be here too
	}
	repo := &remote.Repository{
		Client:             client,
		Reference:          spec.ref,
		PlainHTTP:          spec.isPlain(opt),
		ManifestMediaTypes: []string{ocispec.MediaTypeImageManifest},
		TagListPageSize:    tagPage,
		TagListMaxPages:    maxTagPages,
		MaxMetadataBytes:   maxManifestBytes,
	}
	// No item has a subject, so registries with and without the referrers API are
	// alike; saying so saves the requests that would find out.
	_ = repo.SetReferrersCapability(true)
	return registryStore{repo}, nil
}

// dockerCredentials asks what docker would ask: credHelpers, credsStore and auths
// of config.json (in $DOCKER_CONFIG or ~/.docker), or of the file named. It is
// read when a registry wants credentials, not before.
func dockerCredentials(file string) auth.CredentialFunc {
	open := sync.OnceValues(func() (credentials.Store, error) {
		if file != "" {
			return credentials.NewStore(file, credentials.StoreOptions{})
		}
		return credentials.NewStoreFromDocker(credentials.StoreOptions{})
	})
	return func(ctx context.Context, hostport string) (auth.Credential, error) {
		store, err := open()
		if err == nil {
			var c auth.Credential
			if c, err = credentials.Credential(store)(ctx, hostport); err == nil {
				return c, nil
			}
		}
		if ctx.Err() != nil {
			return auth.EmptyCredential, ctx.Err()
		}
		return auth.EmptyCredential, diag.New(diag.FetchAuth, "no credentials for registry `%s`", hostport).WithCause(err).
			WithHint("check docker's config.json and its credential helper, or run `docker login %s`", hostport)
	}
}

func (s registryStore) blob(ctx context.Context, d digest.Digest) (io.ReadCloser, error) {
	_, rc, err := s.Blobs().FetchReference(ctx, d.String())
	return rc, err
}

func (s registryStore) tags(ctx context.Context, visit func(string) error) error {
	return s.Tags(ctx, "", func(tags []string) error {
		for _, tag := range tags {
			if err := visit(tag); err != nil {
				return err
			}
		}
		return nil
	})
}

// discard does nothing: a registry takes a blob again and puts it in place.
func (s registryStore) discard(context.Context, ocispec.Descriptor) error { return nil }
func (s registryStore) commit(context.Context) error                      { return nil }
func (s registryStore) close() error                                      { return nil }

// collect deletes manifests; the registry's own collection frees their blobs.
// A tag's manifest is deleted by digest, so a manifest that also has a tag that
// stays must stay.
func (s registryStore) collect(ctx context.Context, keep func(tag string) bool, dryRun bool) (*Removed, error) {
	var old []string
	err := s.tags(ctx, func(tag string) error {
		if _, ours := ParseTag(tag); ours && !keep(tag) {
			old = append(old, tag)
		}
		return nil
	})
	if err != nil && !isMissing(err) {
		return nil, err
	}
	slices.Sort(old)
	removed := &Removed{}
	for _, tag := range old {
		if !dryRun {
			err := s.deleteTag(ctx, tag)
			if err != nil && !isMissing(err) {
				return removed, fmt.Errorf("delete %s: %w", tag, err)
			}
		}
		ref, _ := ParseTag(tag)
		removed.Refs = append(removed.Refs, ref)
	}
	return removed, nil
}

func (s registryStore) deleteTag(ctx context.Context, tag string) error {
	desc, err := s.Resolve(ctx, tag)
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, desc); err != nil {
		return err
	}
	// A manifest's tags go with it, says the distribution specification; not
	// every registry does that, and a silent no would look like success.
	if _, err := s.Resolve(ctx, tag); err == nil {
		return errTagKept
	}
	return nil
}

var errTagKept = errors.New("the registry deleted the manifest and kept its tag")
