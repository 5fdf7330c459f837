package oci_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// sample is a skill for tests: its files in memory.
type sample struct {
	tree  *skill.Tree
	files map[string][]byte
}

func newSample(t testing.TB, files map[string]string) sample {
	t.Helper()
	s := sample{files: map[string][]byte{}}
	var list []skill.File
	for path, text := range files {
		b := []byte(text)
		s.files[path] = b
		list = append(list, skill.File{Path: path, Exec: strings.HasSuffix(path, ".sh"), Size: int64(len(b)), SHA256: sha256.Sum256(b)})
	}
	tree, err := skill.NewTree(list, skill.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	s.tree = tree
	return s
}

// samples returns n different small skills, the same for every run.
func samples(t testing.TB, n int) []sample {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]sample, n)
	for i := range out {
		body := make([]byte, 2000+rng.IntN(4000))
		for j := range body {
			body[j] = "abcdefghijklmnop \n"[rng.IntN(18)]
		}
		out[i] = newSample(t, map[string]string{
			"SKILL.md":           fmt.Sprintf("---\nname: skill-%d\ndescription: Test skill %d.\n---\n%s", i, i, body),
			"scripts/run.sh":     fmt.Sprintf("#!/bin/sh\necho %d\n", i),
			"references/äöü.txt": strings.Repeat("reference ", 50+i),
		})
	}
	return out
}

func (s sample) open(path string) (io.ReadCloser, error) {
	b, ok := s.files[path]
	if !ok {
		return nil, fmt.Errorf("no file %s", path)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (s sample) item() oci.Item {
	d := s.tree.Digest()
	return oci.TreeItem("skill "+d.Short(), d, func(context.Context) (*skill.Tree, oci.OpenFunc, error) {
		return s.tree, s.open, nil
	})
}

func (s sample) want() oci.Want {
	return oci.Want{Ref: oci.Ref{Kind: oci.KindTree, Digest: s.tree.Digest()}, Label: "skill " + s.tree.Digest().Short()}
}

func bundleItem(b []byte) oci.Item {
	return oci.BundleItem("signature", skill.DigestOf(b), func(context.Context) ([]byte, error) { return b, nil })
}

func items(list []sample) []oci.Item {
	out := make([]oci.Item, len(list))
	for i, s := range list {
		out[i] = s.item()
	}
	return out
}

func wants(list []sample) []oci.Want {
	out := make([]oci.Want, len(list))
	for i, s := range list {
		out[i] = s.want()
	}
	return out
}

// read returns what Tree handed to its sink.
func read(ctx context.Context, m *oci.Mirror, d skill.Digest) (*skill.Tree, map[string][]byte, error) {
	got := map[string][]byte{}
	tree, err := m.Tree(ctx, d, func(f skill.File, data []byte) error {
		got[f.Path] = bytes.Clone(data)
		return nil
	})
	return tree, got, err
}

func (s sample) mustRead(t testing.TB, m *oci.Mirror) {
	t.Helper()
	tree, got, err := read(t.Context(), m, s.tree.Digest())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.files, got); diff != "" {
		t.Fatalf("content (-want +got):\n%s", diff)
	}
	if !bytes.Equal(tree.Manifest(), s.tree.Manifest()) {
		t.Fatal("the tree differs")
	}
}

func open(t testing.TB, spec string, opt oci.Options) *oci.Mirror {
	t.Helper()
	m, err := oci.Open(t.Context(), spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func push(t testing.TB, m *oci.Mirror, list []oci.Item, opt oci.RunOptions) *oci.Report {
	t.Helper()
	report, err := m.Push(t.Context(), list, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return report
}

// requestLog counts requests by method and last path kind.
type requestLog struct {
	handler http.Handler
	lines   chan string
}

func newRequestLog(h http.Handler) *requestLog {
	return &requestLog{handler: h, lines: make(chan string, 1<<20)}
}

func (l *requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.lines <- r.Method + " " + r.URL.Path
	l.handler.ServeHTTP(w, r)
}

// take returns the requests since the last call.
func (l *requestLog) take() []string {
	var out []string
	for {
		select {
		case line := <-l.lines:
			out = append(out, line)
		default:
			return out
		}
	}
}

func count(lines []string, prefix, part string) int {
	n := 0
	for _, l := range lines {
		if strings.HasPrefix(l, prefix) && strings.Contains(l, part) {
			n++
		}
	}
	return n
}

// serve starts a registry in process and returns its spec and request log.
func serve(t testing.TB, h http.Handler) (string, *requestLog) {
	t.Helper()
	log := newRequestLog(h)
	srv := httptest.NewServer(log)
	t.Cleanup(srv.Close)
	return "oci://" + strings.TrimPrefix(srv.URL, "http://") + "/team/skills", log
}

func discardLogger() *log.Logger { return log.New(io.Discard, "", 0) }

// inProcess is a registry that takes a request's body whole or not at all. ggcr's
// keeps the half of a manifest that a killed client had sent, which no real
// registry does.
func inProcess() http.Handler {
	registry := ggcr.New(ggcr.Logger(discardLogger()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		registry.ServeHTTP(w, r)
	})
}

// forms are the kinds of mirror that every test of the suite runs on.
func forms(t *testing.T) map[string]struct{ write, read string } {
	dir := filepath.Join(t.TempDir(), "mirror")
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(web.Close)
	webDir := dir
	reg, _ := serve(t, inProcess())
	folder := filepath.Join(t.TempDir(), "folder")
	tar := filepath.Join(t.TempDir(), "mirror.tar")
	return map[string]struct{ write, read string }{
		"folder":   {"dir:" + folder, "dir:" + folder},
		"static":   {"dir:" + webDir, web.URL + "/"},
		"archive":  {"tar:" + tar, "tar:" + tar},
		"registry": {reg, reg},
	}
}

func TestEveryForm(t *testing.T) {
	for name, form := range forms(t) {
		t.Run(name, func(t *testing.T) { testForm(t, form.write, form.read) })
	}
}

// testForm writes skills and a signature to a mirror, and reads, lists and
// verifies them.
func testForm(t *testing.T, write, read string) {
	t.Helper()
	list := samples(t, 12)
	bundle := []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","dsseEnvelope":{}}`)
	w := open(t, write, oci.Options{Write: true})
	all := append(items(list), bundleItem(bundle))
	report := push(t, w, all, oci.RunOptions{})
	if got := report.Count(oci.Done); got != len(all) {
		t.Fatalf("done %d of %d", got, len(all))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	m := open(t, read, oci.Options{})
	for _, s := range list {
		s.mustRead(t, m)
	}
	got, err := m.Bundle(t.Context(), skill.DigestOf(bundle))
	if err != nil || !bytes.Equal(got, bundle) {
		t.Fatalf("bundle %q, %v", got, err)
	}
	checkListing(t, m, list, bundle)
	checkMisses(t, m)
	report, err = m.Verify(t.Context(), wants(list), oci.RunOptions{})
	if err != nil || report.Err() != nil || report.Count(oci.Present) != len(list) {
		t.Fatalf("verify: %v, %v", err, report.Err())
	}
}

func checkListing(t *testing.T, m *oci.Mirror, list []sample, bundle []byte) {
	t.Helper()
	var got []oci.Ref
	if err := m.List(t.Context(), func(e oci.Entry) error { got = append(got, e.Ref); return nil }); err != nil {
		t.Fatal(err)
	}
	want := map[oci.Ref]bool{{Kind: oci.KindBundle, Digest: skill.DigestOf(bundle)}: true}
	for _, s := range list {
		want[s.want().Ref] = true
	}
	if len(got) != len(want) {
		t.Fatalf("listed %d, want %d", len(got), len(want))
	}
	for _, r := range got {
		if !want[r] {
			t.Fatalf("listed %v", r)
		}
	}
}

func checkMisses(t *testing.T, m *oci.Mirror) {
	t.Helper()
	absent := skill.DigestOf([]byte("nothing"))
	for _, kind := range []oci.Kind{oci.KindTree, oci.KindBundle, oci.KindVersions} {
		ok, err := m.Has(t.Context(), oci.Ref{Kind: kind, Digest: absent})
		if ok || err != nil {
			t.Fatalf("Has(%s) = %t, %v", kind, ok, err)
		}
	}
	_, _, err := read(t.Context(), m, absent)
	checkMiss(t, err)
	_, err = m.Bundle(t.Context(), absent)
	checkMiss(t, err)
	_, err = m.Versions(t.Context(), "github.com/acme/none//")
	checkMiss(t, err)
}

func checkMiss(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, oci.ErrMiss) || diag.CodeOf(err) != diag.MirrorIncomplete {
		t.Fatalf("expected a miss, got %v", err)
	}
}
