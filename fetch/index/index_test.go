package index_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/fetch/index"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

const schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

type member struct {
	name, data, link string
	mode             os.FileMode
}

func tarGz(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644 | int64(m.mode.Perm()), Size: int64(len(m.data)), Typeflag: tar.TypeReg}
		switch {
		case m.link != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, m.link, 0
		case m.mode&os.ModeDevice != 0:
			h.Typeflag = tar.TypeChar
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		h.SetMode(0o644 | m.mode)
		data := m.data
		if m.link != "" {
			h.SetMode(os.ModeSymlink | 0o777)
			data = m.link
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// site serves an index of one skill whose artefact is body.
type site struct {
	*httptest.Server
	files map[string][]byte
}

func serve(t *testing.T) *site {
	t.Helper()
	s := &site{files: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := s.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if to, ok := bytes.CutPrefix(body, []byte("redirect:")); ok {
			http.Redirect(w, r, string(to), http.StatusFound)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) index(t *testing.T, doc any) {
	t.Helper()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	s.files[index.WellKnown] = b
}

func (s *site) client(t *testing.T) (*index.Client, skill.Source) {
	t.Helper()
	host := strings.TrimPrefix(s.URL, "http://")
	src, err := git.New(git.Options{Named: func(h string) bool { return h == host }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	c, err := src.HTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	at, err := skill.ParseSource(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &index.Client{HTTP: c}, at
}

func entry(name, kind, url string, body []byte) map[string]string {
	return map[string]string{"name": name, "type": kind, "description": "d", "url": url, "digest": string(skill.DigestOf(body))}
}

func TestListAndLoad(t *testing.T) {
	s := serve(t)
	members := []member{{name: "SKILL.md", data: "s"}, {name: "a/run.sh", data: "r", mode: 0o755}, {name: "l", link: "a/run.sh"}}
	one, two, three := []byte("only"), tarGz(t, members...), zipped(t, members...)
	s.files["/one.md"], s.files["/x/two.tgz"], s.files["/moved.zip"] = one, two, three
	s.files["/three.zip"] = []byte("redirect:/moved.zip")
	s.index(t, map[string]any{"$schema": schema, "more": 1, "skills": []any{
		entry("one", "skill-md", "/one.md", one),
		entry("two", "archive", "../../x/two.tgz", two),
		entry("three", "archive", s.URL+"/three.zip", three),
		entry("four", "container", "/four", nil),
		entry("Bad Name", "skill-md", "/one.md", one),
		entry("one", "skill-md", "/again.md", one),
		map[string]string{"name": "nodigest", "type": "skill-md", "url": "/one.md"},
		entry("odd", "skill-md", "ftp://example.com/x", one),
		"text",
	}})
	c, at := s.client(t)
	list, err := c.List(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Skills) != 3 || len(list.Skipped) != 6 {
		t.Fatalf("%d skills, %d skipped: %v", len(list.Skills), len(list.Skipped), list.Skipped)
	}
	want := map[string]string{"one": "- SKILL.md only\n", "two": "- SKILL.md s\nx a/run.sh r\nx l r\n", "three": "- SKILL.md s\nx a/run.sh r\nx l r\n"}
	got := map[string]string{}
	for _, e := range list.Skills {
		content := map[string]string{}
		loaded, err := c.Load(t.Context(), e, fetch.LoadOptions{}, func(f skill.File, data []byte) error {
			content[f.Path] = string(data)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range loaded.Tree.Files() {
			mode := "-"
			if f.Exec {
				mode = "x"
			}
			got[e.Name] += fmt.Sprintf("%s %s %s\n", mode, f.Path, content[f.Path])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestListRefuses(t *testing.T) {
	s := serve(t)
	c, at := s.client(t)
	check := func(what string, code diag.Code) {
		t.Helper()
		if _, err := c.List(t.Context(), at); diag.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", what, err, code)
		}
	}
	check("no index", diag.RepositoryNotFoundOrPrivate)
	s.files[index.WellKnown] = []byte("{")
	check("no JSON", diag.FetchFailed)
	s.index(t, map[string]any{"skills": []any{}})
	check("no schema", diag.FetchFailed)
	s.index(t, map[string]any{"$schema": schema + "x", "skills": []any{}})
	check("unknown schema", diag.FetchFailed)
	s.files[index.WellKnown] = []byte("redirect:https://127.0.0.1:1/x")
	check("redirect to a host nobody named", diag.HostRefused)
	s.files[index.WellKnown] = []byte("redirect:" + index.WellKnown)
	check("redirect in a circle", diag.FetchFailed)
}

func TestLoadRefuses(t *testing.T) {
	good := member{name: "SKILL.md", data: "s"}
	for _, tt := range []struct {
		name string
		body []byte
		code diag.Code
	}{
		{"no archive", []byte("hello"), diag.FetchFailed},
		{"damaged gzip", tarGz(t, good)[:40], diag.FetchFailed},
		{"damaged zip", zipped(t, good)[:40], diag.FetchFailed},
		{"no SKILL.md at the root", tarGz(t, member{name: "s/SKILL.md", data: "s"}), diag.SkillNotFound},
		{"dot dot", tarGz(t, good, member{name: "../x", data: "x"}), diag.PathUnsafe},
		{"dot dot in a zip", zipped(t, good, member{name: "../x", data: "x"}), diag.PathUnsafe},
		{"absolute", tarGz(t, good, member{name: "/etc/x", data: "x"}), diag.PathUnsafe},
		{"backslash", zipped(t, good, member{name: `a\..\x`, data: "x"}), diag.PathUnsafe},
		{"link escapes", tarGz(t, good, member{name: "l", link: "../x"}), diag.SymlinkEscapes},
		{"link escapes in a zip", zipped(t, good, member{name: "l", link: "/etc/passwd"}), diag.SymlinkEscapes},
		{"dangling link", tarGz(t, good, member{name: "l", link: "gone"}), diag.SymlinkDangling},
		{"device", tarGz(t, good, member{name: "d", mode: os.ModeDevice}), diag.PathUnsafe},
		{"twice", tarGz(t, good, good), diag.PathUnsafe},
		{"file and directory", tarGz(t, good, member{name: "a", data: "x"}, member{name: "a/b", data: "x"}), diag.PathUnsafe},
		{"bomb", tarGz(t, good, member{name: "zeros", data: strings.Repeat("\x00", 5000)}), diag.TreeTooLarge},
		{"bomb in a zip", zipped(t, good, member{name: "zeros", data: strings.Repeat("\x00", 5000)}), diag.TreeTooLarge},
		{"many files", zipped(t, good, member{name: "1"}, member{name: "2"}, member{name: "3"}, member{name: "4"}, member{name: "5"}), diag.TreeTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t)
			s.files["/a"] = tt.body
			c, _ := s.client(t)
			e := index.Entry{Name: "a", Type: index.TypeArchive, URL: s.URL + "/a", Digest: skill.DigestOf(tt.body)}
			_, err := c.Load(t.Context(), e, fetch.LoadOptions{Limits: skill.Limits{Files: 4, Bytes: 4000, FileBytes: 4000}}, nil)
			if got := diag.CodeOf(err); got != tt.code {
				t.Errorf("code %q (%v), want %q", got, err, tt.code)
			}
		})
	}
	s := serve(t)
	s.files["/a"] = tarGz(t, good)
	c, _ := s.client(t)
	_, err := c.Load(t.Context(), index.Entry{Name: "a", Type: index.TypeArchive, URL: s.URL + "/a", Digest: skill.DigestOf([]byte("other"))}, fetch.LoadOptions{}, nil)
	if diag.CodeOf(err) != diag.DigestMismatch {
		t.Errorf("%v, want digest_mismatch", err)
	}
}
