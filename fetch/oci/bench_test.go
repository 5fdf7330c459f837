package oci_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/skill"
)

// onDisk writes the samples as directories and returns items that read them.
func onDisk(t testing.TB, list []sample) (dir string, out []oci.Item) {
	t.Helper()
	dir = t.TempDir()
	for i, s := range list {
		root := filepath.Join(dir, fmt.Sprint(i))
		for path, b := range s.files {
			name := filepath.Join(root, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, oci.TreeItem(fmt.Sprint(i), s.tree.Digest(), func(context.Context) (*skill.Tree, oci.OpenFunc, error) {
			return s.tree, func(path string) (io.ReadCloser, error) {
				return os.Open(filepath.Join(root, filepath.FromSlash(path)))
			}, nil
		}))
	}
	return dir, out
}

// BenchmarkPrewarm pushes 1,000 skills into a folder, and reports the ratio to
// `cp -a` of the same trees plus compressing their files.
func BenchmarkPrewarm(b *testing.B) {
	list := samples(b, 1000)
	dir, all := onDisk(b, list)
	var ours, floor time.Duration
	for b.Loop() {
		start := time.Now()
		if out, err := exec.Command("cp", "-a", dir, filepath.Join(b.TempDir(), "copy")).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		w := gzip.NewWriter(io.Discard)
		for _, s := range list {
			w.Reset(io.Discard)
			for _, f := range s.tree.Files() {
				w.Write(s.files[f.Path])
			}
			w.Close()
		}
		floor += time.Since(start)

		start = time.Now()
		push(b, open(b, "dir:"+filepath.Join(b.TempDir(), "m"), oci.Options{Write: true}), all, oci.RunOptions{})
		ours += time.Since(start)
	}
	b.ReportMetric(float64(ours)/float64(floor), "×(cp+gzip)")
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/1000-skills")
}

// BenchmarkSecondPush is the push that finds everything present.
func BenchmarkSecondPush(b *testing.B) {
	_, all := onDisk(b, samples(b, 1000))
	spec := "dir:" + filepath.Join(b.TempDir(), "m")
	push(b, open(b, spec, oci.Options{Write: true}), all, oci.RunOptions{})
	for b.Loop() {
		push(b, open(b, spec, oci.Options{Write: true}), all, oci.RunOptions{})
	}
}

// BenchmarkRead reads 200 skills from a folder and from a loopback registry.
func BenchmarkRead(b *testing.B) {
	list := samples(b, 200)
	reg, _ := serve(b, inProcess())
	for name, spec := range map[string]string{"folder": "dir:" + filepath.Join(b.TempDir(), "m"), "registry": reg} {
		push(b, open(b, spec, oci.Options{Write: true}), items(list), oci.RunOptions{})
		m := open(b, spec, oci.Options{})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, s := range list {
					if _, err := m.Tree(b.Context(), s.tree.Digest(), func(skill.File, []byte) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// hugeIndex is an index.json of n items as this package writes it.
func hugeIndex(n int) []byte {
	var out bytes.Buffer
	out.WriteString(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[` + "\n")
	for i := range n {
		hex := fmt.Sprintf("%064x", i)
		fmt.Fprintf(&out, `{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":711,`+
			`"annotations":{"org.opencontainers.image.ref.name":"tree-%s"},"artifactType":"application/vnd.skillpm.skill.v1"}`, hex, hex)
		if i < n-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	out.WriteString("]}\n")
	return out.Bytes()
}

// folderOf is a folder whose index has n items. Their descriptor files and blobs
// are left out: a push looks at no item but its own.
func folderOf(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m")
	open(t, "dir:"+dir, oci.Options{Write: true}).Close()
	if err := os.WriteFile(filepath.Join(dir, "index.json"), hugeIndex(n), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// BenchmarkPushOneMore adds one skill to a folder of 100,000, index included.
func BenchmarkPushOneMore(b *testing.B) {
	dir := folderOf(b, 100_000)
	list := samples(b, 500)
	i := 0
	for b.Loop() {
		push(b, open(b, "dir:"+dir, oci.Options{Write: true}), []oci.Item{list[i%len(list)].item()}, oci.RunOptions{})
		i++
	}
}

// One more tree of 100,000 keeps the index whole and costs well under a second
// of work that does not depend on the machine: two passes over the file.
func TestPushOneMore(t *testing.T) {
	const n = 100_000
	dir := folderOf(t, n)
	s := samples(t, 1)[0]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), []oci.Item{s.item()}, oci.RunOptions{})
	t.Logf("one more of %d: %s", n, time.Since(start))
	runtime.ReadMemStats(&after)
	// 35 MB of index went through; no part of it was held or decoded.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 {
		t.Errorf("%d MiB allocated for one tree", grown>>20)
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte("\n{")); got != n+1 || !strings.Contains(string(text), s.want().Ref.Tag()) {
		t.Errorf("the index has %d rows", got)
	}
}

// Memory does not grow with the number of skills.
func TestMemoryIsFlat(t *testing.T) {
	all := items(samples(t, 1000))
	var peak uint64
	sample := func(oci.Outcome, int, int) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse+m.StackInuse)
	}
	runtime.GC()
	var start runtime.MemStats
	runtime.ReadMemStats(&start)
	push(t, open(t, "dir:"+filepath.Join(t.TempDir(), "m"), oci.Options{Write: true}), all, oci.RunOptions{Progress: sample})
	// The test holds the samples themselves; what the push adds is what counts.
	if grown := int64(peak) - int64(start.HeapInuse); grown > 64<<20 {
		t.Errorf("the push took %d MiB", grown>>20)
	} else {
		t.Logf("the push took %d MiB at most", grown>>20)
	}
}
