package oci

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

func client(t *testing.T, spec string) *http.Client {
	t.Helper()
	s, err := ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func refused(c *http.Client, address string) bool {
	res, err := c.Get(address)
	if err == nil {
		_ = res.Body.Close()
	}
	_, ok := errors.AsType[*web.Refused](err)
	return ok
}

// A mirror of the public internet leads to no address inside.
func TestMirrorsDoNotLeadInside(t *testing.T) {
	for _, spec := range []string{"oci://192.0.2.1/skills", "https://192.0.2.1/skills", "oci+http://192.0.2.1:5000/skills"} {
		c := client(t, spec)
		for _, host := range fetchtest.Inside {
			if address := "http://" + host + "/"; !refused(c, address) {
				t.Errorf("%s leads to %s", spec, address)
			}
		}
	}
}

// A redirect of a mirror behind a proxy is checked too: the proxy would dial.
func TestRedirectsOfMirrors(t *testing.T) {
	var to string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "mirror.example" {
			t.Errorf("%s was asked for", r.Host)
		}
		http.Redirect(w, r, to, http.StatusFound)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	for _, spec := range []string{"oci+http://mirror.example/skills", "http://mirror.example/skills"} {
		c := client(t, spec)
		for _, host := range fetchtest.Inside {
			if to = "http://" + host + "/"; !refused(c, "http://mirror.example/skills") {
				t.Errorf("%s leads to %s", spec, to)
			}
		}
	}
}

// A password for one port is not for another, whatever a redirect says.
func TestRedirectKeepsCredentialsBack(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))
	t.Cleanup(s.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("me", "secret")
	res, err := client(t, s.URL+"/skills").Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if len(got) != 1 || got[0] != "" {
		t.Errorf("the other port got %q", got)
	}
}

// A silent host is a timeout, and is not waited for again.
func TestSilentMirror(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	m, err := Open(t.Context(), s.URL, Options{Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Has(t.Context(), Ref{Kind: KindTree, Digest: skill.DigestOf(nil)})
	if diag.CodeOf(err) != diag.FetchTimeout || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}
