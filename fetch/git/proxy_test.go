package git_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
)

// A proxy is the user's own choice, so it may be inside their network; what is
// behind it may not, unless they named it.
func TestProxy(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		out, err := http.NewRequestWithContext(r.Context(), r.Method, s.URL+r.URL.RequestURI(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		out.Header, out.ContentLength = r.Header, r.ContentLength
		res, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	}))
	t.Cleanup(proxy.Close)
	for name, env := range map[string][]string{
		"HTTP_PROXY": {"HTTP_PROXY=" + proxy.URL},
		"http_proxy": {"http_proxy=" + strings.TrimPrefix(proxy.URL, "http://")},
		"ALL_PROXY":  {"ALL_PROXY=" + proxy.URL},
		"git config": {"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.proxy", "GIT_CONFIG_VALUE_0=" + proxy.URL},
	} {
		asked = 0
		src := newSource(t, git.Options{Named: only("git.example.com"), Environ: env})
		if _, err := src.Refs(t.Context(), parse(t, "http://git.example.com/acme/skills"), "HEAD"); err != nil || asked == 0 {
			t.Errorf("%s: %v, the proxy was asked %d times", name, err, asked)
		}
	}
	src := newSource(t, git.Options{Environ: []string{"HTTPS_PROXY=" + proxy.URL}})
	if _, err := src.Refs(t.Context(), parse(t, "https://10.0.0.1/acme/skills")); diag.CodeOf(err) != diag.HostRefused {
		t.Errorf("behind a proxy: %v, want host_refused", err)
	}
	src = newSource(t, git.Options{Named: only(s.Host()), Environ: []string{"HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1"}})
	if _, err := src.Refs(t.Context(), parse(t, s.URL+"/acme/skills")); err != nil {
		t.Errorf("NO_PROXY: %v", err)
	}
}
