//go:build external

package oci_test

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit/registrykit"
)

// dockerRegistry starts the real registry until the test ends, and returns the
// spec of a repository in it and its address.
func dockerRegistry(t testing.TB, cfg registrykit.Config) (spec, address string) {
	t.Helper()
	r, err := registrykit.Start(t.TempDir(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return "oci://" + r.Host + "/team/skills", r.Host
}

// proxyTo forwards to a registry, so that its requests can be counted.
func proxyTo(t testing.TB, spec string) http.Handler {
	t.Helper()
	host, _, _ := strings.Cut(strings.TrimPrefix(spec, "oci://"), "/")
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: host})
			r.Out.Host = r.In.Host // the registry makes its upload addresses from it
		},
		ErrorLog: discardLogger(),
	}
}

// What is written of registries in general holds of Debian's docker-registry,
// the program that many run under other names.
func TestDockerRegistry(t *testing.T) {
	t.Run("form", func(t *testing.T) {
		spec, _ := dockerRegistry(t, registrykit.Config{Delete: true})
		testForm(t, spec, spec)
	})
	t.Run("second push", func(t *testing.T) {
		spec, _ := dockerRegistry(t, registrykit.Config{})
		testSecondPush(t, proxyTo(t, spec))
	})
	t.Run("gc", func(t *testing.T) {
		spec, _ := dockerRegistry(t, registrykit.Config{Delete: true})
		testGC(t, spec)
	})
}

// A registry that forbids deletion says so.
func TestGCForbidden(t *testing.T) {
	spec, _ := dockerRegistry(t, registrykit.Config{})
	m := open(t, spec, oci.Options{Write: true})
	push(t, m, items(samples(t, 1)), oci.RunOptions{})
	_, err := m.GC(t.Context(), nil, false)
	if diag.CodeOf(err) != diag.FetchFailed || !strings.Contains(diag.All(err)[0].Hint, "deleting has to be switched on") {
		t.Errorf("%v", err)
	}
}
