package oci_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/internal/testkit/registrykit"
)

func discardLogger() *log.Logger { return log.New(io.Discard, "", 0) }

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
