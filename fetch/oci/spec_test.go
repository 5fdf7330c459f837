package oci_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

func TestParseSpec(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"dir:mirror", "dir:mirror"},
		{"dir:/srv/mirror", "dir:/srv/mirror"},
		{`dir:C:\mirror`, `dir:C:\mirror`},
		{"tar:m.tar", "tar:m.tar"},
		{"tar:-", "tar:-"},
		{"oci://registry.example/team/skills", "oci://registry.example/team/skills"},
		{"oci://127.0.0.1:5000/skills/", "oci://127.0.0.1:5000/skills"},
		{"oci+http://registry.example/skills", "oci+http://registry.example/skills"},
		{"oci+https://localhost:5000/skills", "oci+https://localhost:5000/skills"},
		{"https://mirror.example", "https://mirror.example/"},
		{"HTTPS://Mirror.Example/a/b/", "https://mirror.example/a/b/"},
		{"https://user:secret@mirror.example/a", "https://mirror.example/a/"},
	} {
		s, err := oci.ParseSpec(c.in)
		if err != nil || s.String() != c.want {
			t.Errorf("%q: %q, %v; want %q", c.in, s, err, c.want)
		}
	}
	for _, in := range []string{
		"", "mirror", "dir:", "tar:", "ftp://host/x", "oci:host/x", "oci://", "oci://host", "oci://host/Upper",
		"oci://host/repo:tag", "oci://host/repo@sha256:aa", "oci://user:secret@host/repo", "https://", "https:///x",
		"https://host/x?token=secret", "https://host/x#a", "dir:a\nb", "https://ho st/",
	} {
		_, err := oci.ParseSpec(in)
		if diag.CodeOf(err) != diag.Usage || diag.Exit(err) != 64 {
			t.Errorf("%q: %v", in, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error holds the secret: %v", in, err)
		}
	}
}

func TestPlainHTTPIsRefused(t *testing.T) {
	for _, c := range []struct {
		spec  string
		plain bool
		code  diag.Code
	}{
		{"http://mirror.example/", false, diag.HostRefused},
		{"http://mirror.example/", true, ""},
		{"http://127.0.0.1:1/", false, ""},
		{"http://[::1]:1/", false, ""},
		{"http://localhost:1/", false, ""},
		{"http://127.0.0.1.example/", false, diag.HostRefused},
		{"oci+http://registry.example/skills", false, ""},
		{"oci://registry.example/skills", false, ""},
	} {
		m, err := oci.Open(t.Context(), c.spec, oci.Options{PlainHTTP: c.plain})
		if diag.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.spec, err)
		}
		if err == nil {
			m.Close()
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		spec  string
		write bool
		code  diag.Code
	}{
		{"dir:" + t.TempDir() + "/none", false, diag.MirrorInvalid},
		{"dir:" + t.TempDir(), false, diag.MirrorInvalid},
		{"tar:" + t.TempDir() + "/none.tar", false, diag.MirrorInvalid},
		{"tar:-", false, diag.Usage},
		{"tar:-", true, diag.Usage},
		{"https://mirror.example/", true, diag.Usage},
		{"dir:.", true, diag.MirrorInvalid}, // holds this package's files
	} {
		_, err := oci.Open(t.Context(), c.spec, oci.Options{Write: c.write})
		if diag.CodeOf(err) != c.code {
			t.Errorf("%s: %v (%s), want %s", c.spec, err, diag.CodeOf(err), c.code)
		}
	}
}

// A redirect may not lead from https to http, nor go round in circles.
func TestRedirects(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the plain server was asked for %s", r.URL)
	}))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(secure.Close)
	m := open(t, secure.URL, oci.Options{Transport: secure.Client().Transport})
	_, _, err := read(t.Context(), m, skill.DigestOf(nil))
	if diag.CodeOf(err) != diag.HostRefused {
		t.Errorf("https to http: %v (%s)", err, diag.CodeOf(err))
	}
	circle := httptest.NewServer(http.RedirectHandler("/again", http.StatusFound))
	t.Cleanup(circle.Close)
	_, _, err = read(t.Context(), open(t, circle.URL, oci.Options{}), skill.DigestOf(nil))
	if diag.CodeOf(err) != diag.FetchFailed {
		t.Errorf("circle: %v (%s)", err, diag.CodeOf(err))
	}
}

// A blob that lies elsewhere is followed without the mirror's credentials.
func TestRedirectedBlob(t *testing.T) {
	dir := t.TempDir()
	list := samples(t, 1)
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), items(list), oci.RunOptions{})
	files := http.FileServer(http.Dir(dir))
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("credentials went to the blob store")
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(store.Close)
	elsewhere := strings.Replace(store.URL, "127.0.0.1", "localhost", 1)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/blobs/") {
			http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	list[0].mustRead(t, open(t, strings.Replace(front.URL, "://", "://u:p@", 1), oci.Options{}))
}
