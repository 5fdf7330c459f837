package oci_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// A skill costs two requests, its signature one more.
func TestRequestsToRead(t *testing.T) {
	spec, log := serve(t, inProcess())
	list := samples(t, 20)
	bundle := []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}`)
	push(t, open(t, spec, oci.Options{Write: true}), append(items(list), bundleItem(bundle)), oci.RunOptions{})
	log.take()

	m := open(t, spec, oci.Options{})
	for _, s := range list {
		s.mustRead(t, m)
	}
	if got := log.take(); len(got) != 2*len(list) {
		t.Errorf("%d requests for %d skills: %q", len(got), len(list), got[:4])
	}
	if _, err := m.Bundle(t.Context(), skill.DigestOf(bundle)); err != nil {
		t.Fatal(err)
	}
	if got := log.take(); len(got) != 1 {
		t.Errorf("requests for a signature: %q", got)
	}
}

// A second push of the same items asks once for each and moves nothing.
func TestSecondPushMovesNothing(t *testing.T) { testSecondPush(t, inProcess()) }

func testSecondPush(t *testing.T, registry http.Handler) {
	t.Helper()
	spec, log := serve(t, registry)
	list := samples(t, 15)
	push(t, open(t, spec, oci.Options{Write: true}), items(list), oci.RunOptions{})
	if n := count(log.take(), "PUT", "/blobs/uploads/"); n != 2*len(list) {
		t.Errorf("the first push uploaded %d blobs, want %d", n, 2*len(list))
	}
	report := push(t, open(t, spec, oci.Options{Write: true}), items(list), oci.RunOptions{})
	blobs, bytes := report.Blobs()
	if report.Count(oci.Present) != len(list) || blobs != 0 || bytes != 0 {
		t.Errorf("second push: %d present, %d blobs, %d bytes", report.Count(oci.Present), blobs, bytes)
	}
	lines := log.take()
	if count(lines, "HEAD", "/manifests/tree-") != len(list) || len(lines) != len(list) {
		t.Errorf("second push made %d requests, want %d HEADs: %q", len(lines), len(list), lines)
	}
}

// A static reader loads a few kilobytes before its first tree, however many
// trees there are, and never index.json.
func TestStaticReaderNeedsNoIndex(t *testing.T) {
	dir := t.TempDir()
	list := samples(t, 40)
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), items(list), oci.RunOptions{})

	var sent atomic.Int64
	files := http.FileServer(http.Dir(dir))
	log := newRequestLog(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files.ServeHTTP(countingWriter{w, &sent}, r)
	}))
	srv := httptest.NewServer(log)
	t.Cleanup(srv.Close)
	m := open(t, srv.URL+"/", oci.Options{})

	var first int64
	d := list[7].tree.Digest()
	_, err := m.Tree(t.Context(), d, func(skill.File, []byte) error {
		if first == 0 {
			first = sent.Load()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	layer, err := m.Size(t.Context(), oci.Ref{Kind: oci.KindTree, Digest: d})
	if err != nil {
		t.Fatal(err)
	}
	if before := first - layer; before > 10<<10 {
		t.Errorf("%d bytes before the tree; the limit is 10 KiB", before)
	}
	lines := log.take()
	if n := count(lines, "GET", "index.json"); n != 0 || len(lines) != 3 {
		t.Errorf("requests: %q", lines)
	}
}

type countingWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c countingWriter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n.Add(int64(n))
	return n, err
}

// An archive depends on what it holds, not on the order of pushing.
func TestArchiveIsDeterministic(t *testing.T) {
	list := samples(t, 10)
	reversed := make([]sample, len(list))
	for i, s := range list {
		reversed[len(list)-1-i] = s
	}
	one, two := filepath.Join(t.TempDir(), "a.tar"), filepath.Join(t.TempDir(), "b.tar")
	first := push(t, open(t, "tar:"+one, oci.Options{Write: true}), items(list), oci.RunOptions{})
	second := push(t, open(t, "tar:"+two, oci.Options{Write: true}), items(reversed), oci.RunOptions{Parallel: 1})
	if first.Archive != second.Archive {
		t.Errorf("archives %s and %s", first.Archive, second.Archive)
	}
	b, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	if skill.DigestOf(b) != first.Archive || int64(len(b)) != first.Size {
		t.Errorf("reported %s, %d bytes; the file has %s, %d", first.Archive, first.Size, skill.DigestOf(b), len(b))
	}
}

// An archive goes through a pipe, out and in.
func TestArchiveThroughPipe(t *testing.T) {
	list := samples(t, 5)
	var pipe strings.Builder
	push(t, open(t, "tar:-", oci.Options{Write: true, Stdout: &pipe}), items(list), oci.RunOptions{})
	m := open(t, "tar:-", oci.Options{Stdin: strings.NewReader(pipe.String())})
	for _, s := range list {
		s.mustRead(t, m)
	}
	dst := open(t, "dir:"+filepath.Join(t.TempDir(), "new"), oci.Options{Write: true})
	report, err := oci.Copy(t.Context(), m, dst, nil, oci.RunOptions{})
	if err != nil || report.Count(oci.Done) != len(list) {
		t.Fatalf("copy: %v, %v", report, err)
	}
}

// A registry that fails halfway costs the items it failed, and the next push
// moves those alone.
func TestRegistryFailsHalfway(t *testing.T) {
	var puts atomic.Int64
	broken := atomic.Bool{}
	broken.Store(true)
	target := inProcess()
	spec, log := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() && r.Method == http.MethodPut && puts.Add(1) > 20 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		target.ServeHTTP(w, r)
	}))
	list := samples(t, 15)
	// The plain transport does not retry; retries are the transport's own test.
	m := open(t, spec, oci.Options{Write: true, Transport: http.DefaultTransport})
	var seen []oci.State
	report, err := m.Push(t.Context(), items(list), oci.RunOptions{Progress: func(o oci.Outcome, done, total int) {
		if seen = append(seen, o.State); done != len(seen) || total != len(list) {
			t.Errorf("progress %d of %d at call %d", done, total, len(seen))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	done, failed := report.Count(oci.Done), report.Count(oci.Failed)
	if done == 0 || failed == 0 || done+failed != len(list) {
		t.Fatalf("done %d, failed %d", done, failed)
	}
	if got := diag.Exit(report.Err()); got != 2 {
		t.Errorf("exit status %d, want 2", got)
	}
	if text := report.Err().Error(); !strings.Contains(text, "destination `"+spec+"`: `skill sha256:") {
		t.Errorf("the error names neither side nor item: %s", text)
	}
	broken.Store(false)
	log.take()
	report = push(t, m, items(list), oci.RunOptions{})
	if report.Count(oci.Done) != failed || report.Count(oci.Present) != done {
		t.Errorf("resumed: done %d, present %d; want %d, %d", report.Count(oci.Done), report.Count(oci.Present), failed, done)
	}
	if n := count(log.take(), "PUT", "/manifests/"); n != failed {
		t.Errorf("resumed with %d manifests, want %d", n, failed)
	}
}

// A failing source is told from a failing destination.
func TestSourceFails(t *testing.T) {
	good, bad := samples(t, 2)[0], samples(t, 2)[1]
	bad.files["SKILL.md"] = append(bad.files["SKILL.md"], '!')
	gone := oci.TreeItem("gone 1.0.0", skill.DigestOf(nil), func(context.Context) (*skill.Tree, oci.OpenFunc, error) {
		return nil, nil, diag.New(diag.FetchOffline, "not at hand")
	})
	m := open(t, "dir:"+t.TempDir(), oci.Options{Write: true})
	report, err := m.Push(t.Context(), []oci.Item{good.item(), bad.item(), gone, good.item()}, oci.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var states []oci.State
	for _, o := range report.Outcomes {
		states = append(states, o.State)
	}
	if got := report.Outcomes; got[0].State != oci.Done || got[1].State != oci.Failed || got[2].State != oci.Failed || got[3].State != oci.Present {
		t.Fatalf("states %q", states)
	}
	if code := diag.CodeOf(report.Outcomes[1].Err); code != diag.DigestMismatch {
		t.Errorf("changed file: %s, %v", code, report.Outcomes[1].Err)
	}
	if text := report.Outcomes[2].Err.Error(); text != "source: `gone 1.0.0` (tree sha256:e3b0c44298fc): not at hand" {
		t.Errorf("gone: %s", text)
	}
}
