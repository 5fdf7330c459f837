package oci_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	orasoci "oras.land/oras-go/v2/content/oci"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/skill"
)

func keepSet(list []sample) map[oci.Ref]bool {
	keep := map[oci.Ref]bool{}
	for _, s := range list {
		keep[s.want().Ref] = true
	}
	return keep
}

func TestGC(t *testing.T) { testGC(t, "dir:"+filepath.Join(t.TempDir(), "m")) }

func testGC(t *testing.T, spec string) {
	t.Helper()
	bundle := []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}`)
	list := samples(t, 10)
	m := open(t, spec, oci.Options{Write: true})
	push(t, m, append(items(list), bundleItem(bundle)), oci.RunOptions{})
	keep := keepSet(list[:4])

	dry, err := m.GC(t.Context(), keep, true)
	if err != nil || len(dry.Refs) != 7 {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	report, err := m.Verify(t.Context(), wants(list), oci.RunOptions{Quick: true})
	if err != nil || report.Err() != nil {
		t.Fatalf("a dry run removed something: %v, %v", err, report.Err())
	}
	removed, err := m.GC(t.Context(), keep, false)
	if err != nil || len(removed.Refs) != 7 {
		t.Fatalf("%+v, %v", removed, err)
	}
	if strings.HasPrefix(spec, "dir:") && (removed.Blobs != dry.Blobs || removed.Bytes == 0) {
		t.Errorf("dry run %+v, run %+v", dry, removed)
	}
	report, err = m.Verify(t.Context(), wants(list), oci.RunOptions{})
	if err != nil || report.Count(oci.Present) != 4 || report.Count(oci.Missing) != 6 {
		t.Errorf("after: %v, %v", err, report.Err())
	}
	if again, err := m.GC(t.Context(), keep, false); err != nil || len(again.Refs)+again.Blobs != 0 {
		t.Errorf("a second run removed %+v, %v", again, err)
	}
	if path, ok := strings.CutPrefix(spec, "dir:"); ok {
		checkIndex(t, path, 4)
	}
}

// A registry that keeps the tag of a deleted manifest (ggcr's does) is not
// reported as collected.
func TestGCKeptTag(t *testing.T) {
	spec, _ := serve(t, inProcess())
	m := open(t, spec, oci.Options{Write: true})
	push(t, m, items(samples(t, 1)), oci.RunOptions{})
	_, err := m.GC(t.Context(), nil, false)
	if err == nil || !strings.Contains(err.Error(), "kept its tag") {
		t.Errorf("%v", err)
	}
}

// GC does not run beside a push into the same folder.
func TestGCWaitsForPush(t *testing.T) {
	dir := t.TempDir()
	list := samples(t, 2)
	pusher := open(t, "dir:"+dir, oci.Options{Write: true})
	if _, err := pusher.PutTree(t.Context(), list[0].tree, list[0].open); err != nil {
		t.Fatal(err)
	}
	collected := make(chan error)
	collector := open(t, "dir:"+dir, oci.Options{Write: true})
	go func() {
		_, err := collector.GC(t.Context(), keepSet(list), false)
		collected <- err
	}()
	select {
	case err := <-collected:
		t.Fatalf("collected during a push: %v", err)
	default:
	}
	if _, err := pusher.PutTree(t.Context(), list[1].tree, list[1].open); err != nil {
		t.Fatal(err)
	}
	if err := pusher.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-collected; err != nil {
		t.Fatal(err)
	}
	checkIndex(t, dir, 2)
}

// A folder that oras wrote to stays whole: its content is kept by pushes and by
// collections, and its rewriting of index.json does not disturb us.
func TestFolderSharedWithOras(t *testing.T) {
	dir := t.TempDir()
	list := samples(t, 5)
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), items(list[:3]), oci.RunOptions{})
	store, err := orasoci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := oras.PackManifest(t.Context(), store, oras.PackManifestVersion1_1, "application/vnd.other.v1", oras.PackManifestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Tag(t.Context(), foreign, "other"); err != nil {
		t.Fatal(err)
	}
	m := open(t, "dir:"+dir, oci.Options{Write: true})
	push(t, m, items(list), oci.RunOptions{})
	checkIndex(t, dir, len(list)+1)
	if _, err := m.GC(t.Context(), keepSet(list[:1]), false); err != nil {
		t.Fatal(err)
	}
	checkIndex(t, dir, 2)
	fresh, err := orasoci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := oras.Fetch(t.Context(), fresh, "other", oras.FetchOptions{}); err != nil {
		t.Errorf("foreign content: %v", err)
	}
}

// A layout that oras copied out of a registry has no descriptor files; it is
// read all the same, and gets them when it is written to.
func TestLayoutOfAnotherTool(t *testing.T) {
	list := samples(t, 4)
	ours := t.TempDir()
	push(t, open(t, "dir:"+ours, oci.Options{Write: true}), items(list), oci.RunOptions{})
	from, err := orasoci.NewFromFS(t.Context(), os.DirFS(ours))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to, err := orasoci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		tag := s.want().Ref.Tag()
		if _, err := oras.Copy(t.Context(), from, tag, to, tag, oras.DefaultCopyOptions); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range list {
		s.mustRead(t, open(t, "dir:"+dir, oci.Options{}))
	}
	tar := filepath.Join(t.TempDir(), "m.tar")
	if out, err := exec.Command("tar", "-C", dir, "-cf", tar, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list[1].mustRead(t, open(t, "tar:"+tar, oci.Options{}))
	report := push(t, open(t, "dir:"+dir, oci.Options{Write: true}), items(list), oci.RunOptions{})
	if report.Count(oci.Present) != len(list) {
		t.Errorf("%d present, want %d", report.Count(oci.Present), len(list))
	}
	if _, err := os.Stat(filepath.Join(dir, "skillpm", list[0].tree.Digest().Hex()[:2], list[0].tree.Digest().Hex())); err != nil {
		t.Error(err)
	}
}

// The format, byte by byte as design and documentation have it.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	s := newSample(t, map[string]string{"SKILL.md": "text\n", "run.sh": "#!/bin/sh\n"})
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), []oci.Item{s.item()}, oci.RunOptions{})
	hex := s.tree.Digest().Hex()
	var d v1.Descriptor
	mustParse(t, filepath.Join(dir, "skillpm", hex[:2], hex), &d)
	if d.ArtifactType != "application/vnd.skillpm.skill.v1" || d.Annotations[v1.AnnotationRefName] != "tree-"+hex {
		t.Errorf("descriptor %+v", d)
	}
	var m v1.Manifest
	mustParse(t, filepath.Join(dir, "blobs", "sha256", d.Digest.Encoded()), &m)
	if m.ArtifactType != "application/vnd.skillpm.skill.v1" || m.Annotations[v1.AnnotationCreated] != "1970-01-01T00:00:00Z" || len(m.Layers) != 1 ||
		m.Layers[0].MediaType != "application/vnd.skillpm.tree.v1.tar+gzip" || m.Config.MediaType != "application/vnd.skillpm.tree.v1" {
		t.Errorf("manifest %+v", m)
	}
	config, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", hex))
	if err != nil || skill.DigestOf(config) != s.tree.Digest() {
		t.Errorf("the config is not the tree manifest: %v", err)
	}
}

func mustParse(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// An index.json that cannot be read any more is made anew from the descriptor
// files by the next push; the folder's name may hold what globs would expand.
func TestIndexIsRebuilt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m [1] *")
	list := samples(t, 5)
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), items(list[:4]), oci.RunOptions{})
	index := filepath.Join(dir, "index.json")
	b, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, b[:len(b)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), items(list), oci.RunOptions{})
	checkIndex(t, dir, len(list))
}
