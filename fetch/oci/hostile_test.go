package oci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// crafted is a mirror of one item that a test bends out of shape: what is in
// the layer, and what the layers above say of it.
type crafted struct {
	wanted   sample
	layer    []byte
	manifest ocispec.Manifest
	// raw replaces the manifest's bytes; descriptor changes what names them.
	raw        []byte
	descriptor func(*ocispec.Descriptor)
}

func good(t testing.TB) *crafted {
	s := newSample(t, map[string]string{
		"SKILL.md": "---\nname: good\ndescription: The one that was asked for.\n---\nBody\n",
		"a/run.sh": "#!/bin/sh\n",
	})
	c := &crafted{wanted: s, layer: zipped(tarOf(entries(s)...))}
	config := s.tree.Manifest()
	c.manifest = ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: oci.ArtifactTree,
		Config:       describe("application/vnd.skillpm.tree.v1", config),
	}
	return c
}

func describe(mediaType string, b []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(b), Size: int64(len(b))}
}

type entry struct {
	tar.Header
	text string
}

func entries(s sample) []entry {
	var out []entry
	for _, f := range s.tree.Files() {
		mode := int64(0o644)
		if f.Exec {
			mode = 0o755
		}
		out = append(out, entry{tar.Header{Name: f.Path, Mode: mode, Typeflag: tar.TypeReg}, string(s.files[f.Path])})
	}
	return out
}

func tarOf(list ...entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range list {
		e.ModTime = time.Unix(0, 0)
		if e.Typeflag == tar.TypeReg {
			e.Size = int64(len(e.text))
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			panic(err)
		}
		io.WriteString(w, e.text)
	}
	w.Close()
	return b.Bytes()
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// write lays the mirror out as a folder.
func (c *crafted) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if c.manifest.Layers == nil {
		c.manifest.Layers = []ocispec.Descriptor{describe("application/vnd.skillpm.tree.v1.tar+gzip", c.layer)}
	}
	raw := c.raw
	if raw == nil {
		raw = mustJSON(c.manifest)
	}
	d := describe(ocispec.MediaTypeImageManifest, raw)
	hex := c.wanted.tree.Digest().Hex()
	d.Annotations = map[string]string{ocispec.AnnotationRefName: "tree-" + hex}
	if c.descriptor != nil {
		c.descriptor(&d)
	}
	put := func(name string, b []byte) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	put("index.json", mustJSON(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, Manifests: []ocispec.Descriptor{d}}))
	put("skillpm/format", []byte("skillpm-mirror 1\n"))
	put("skillpm/"+hex[:2]+"/"+hex, mustJSON(d))
	put("blobs/sha256/"+digest.FromBytes(raw).Encoded(), raw)
	put("blobs/sha256/"+c.manifest.Config.Digest.Encoded(), c.wanted.tree.Manifest())
	put("blobs/sha256/"+c.manifest.Layers[0].Digest.Encoded(), c.layer)
	return dir
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// hostile are the ways in which a mirror can lie about one tree. None may give
// content, all must be a refusal or a miss.
var hostile = map[string]func(c *crafted){
	"content of another tree": func(c *crafted) {
		c.layer = zipped(tarOf(entry{tar.Header{Name: "SKILL.md", Mode: 0o644, Typeflag: tar.TypeReg}, "evil"}))
	},
	"one byte differs": func(c *crafted) {
		list := entries(c.wanted)
		list[0].text = strings.Replace(list[0].text, "Body", "body", 1)
		c.layer = zipped(tarOf(list...))
	},
	"a file too many": func(c *crafted) {
		list := append(entries(c.wanted), entry{tar.Header{Name: "z.txt", Mode: 0o644, Typeflag: tar.TypeReg}, "extra"})
		c.layer = zipped(tarOf(list...))
	},
	"a file too few": func(c *crafted) { c.layer = zipped(tarOf(entries(c.wanted)[:1]...)) },
	"another mode": func(c *crafted) {
		list := entries(c.wanted)
		list[0].Mode = 0o755
		c.layer = zipped(tarOf(list...))
	},
	"setuid":            header(func(h *tar.Header) { h.Mode = 0o4755 }),
	"path traversal":    header(func(h *tar.Header) { h.Name = "../evil" }),
	"absolute path":     header(func(h *tar.Header) { h.Name = "/etc/evil" }),
	"inner dots":        header(func(h *tar.Header) { h.Name = "a/../b" }),
	"git directory":     header(func(h *tar.Header) { h.Name = ".git/hooks/post-checkout" }),
	"device name":       header(func(h *tar.Header) { h.Name = "NUL.txt" }),
	"backslash":         header(func(h *tar.Header) { h.Name = `a\b` }),
	"control character": header(func(h *tar.Header) { h.Name = "a\x1b[2Jb" }),
	"signature inside":  header(func(h *tar.Header) { h.Name = "skill.oms.sig" }),
	"symbolic link":     header(func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeSymlink, "/etc/passwd" }),
	"hard link":         header(func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeLink, "SKILL.md" }),
	"device":            header(func(h *tar.Header) { h.Typeflag = tar.TypeChar }),
	"directory entry":   header(func(h *tar.Header) { h.Typeflag, h.Name = tar.TypeDir, "a/" }),
	"out of order": func(c *crafted) {
		list := entries(c.wanted)
		list[0], list[1] = list[1], list[0]
		c.layer = zipped(tarOf(list...))
	},
	"a file twice": func(c *crafted) {
		list := entries(c.wanted)
		c.layer = zipped(tarOf(list[0], list[0], list[1]))
	},
	"case twins": func(c *crafted) {
		list := entries(c.wanted)
		twin := list[0]
		twin.Name = "Skill.md"
		c.layer = zipped(tarOf(list[0], twin, list[1]))
	},
	"truncated":            func(c *crafted) { c.layer = c.layer[:len(c.layer)/2] },
	"truncated checksum":   func(c *crafted) { c.layer = c.layer[:len(c.layer)-4] },
	"empty layer":          func(c *crafted) { c.layer = nil },
	"not gzip":             func(c *crafted) { c.layer = []byte("<html>Not found</html>") },
	"gzip of nothing":      func(c *crafted) { c.layer = zipped(nil) },
	"data after archive":   func(c *crafted) { c.layer = zipped(append(tarOf(entries(c.wanted)...), "evil"...)) },
	"data after gzip":      func(c *crafted) { c.layer = append(c.layer, zipped([]byte("evil"))...) },
	"zeros without end":    func(c *crafted) { c.layer = zipped(append(tarOf(entries(c.wanted)...), make([]byte, 1<<20)...)) },
	"bomb of one file":     func(c *crafted) { c.layer = zipped(tarOf(zeros("SKILL.md", 3<<20))) },
	"bomb of many files":   func(c *crafted) { c.layer = zipped(tarOf(many(60, 1)...)) },
	"bomb of middle files": func(c *crafted) { c.layer = zipped(tarOf(many(40, 100<<10)...)) },
	"bomb of headers": func(c *crafted) {
		e := entries(c.wanted)[0]
		e.PAXRecords = map[string]string{"SKILLPM.x": strings.Repeat("x", 900<<10)}
		e.Format = tar.FormatPAX
		var raw []byte
		for range 12 {
			one := tarOf(e)
			raw = append(raw, one[:len(one)-2048]...) // the extended header alone
		}
		c.layer = zipped(raw)
	},
	"other artifact type": func(c *crafted) { c.manifest.ArtifactType = oci.ArtifactBundle },
	"other layer type":    func(c *crafted) { c.layers("application/vnd.oci.image.layer.v1.tar+gzip") },
	"two layers":          func(c *crafted) { c.layers(layerType, layerType) },
	"no layer": func(c *crafted) {
		c.raw = []byte(strings.Replace(string(mustJSON(c.manifest)), `"layers":null`, `"layers":[]`, 1))
	},
	"config of another":    func(c *crafted) { c.manifest.Config = describe("application/vnd.skillpm.tree.v1", []byte("x")) },
	"config of other type": func(c *crafted) { c.manifest.Config.MediaType = "application/octet-stream" },
	"negative size": func(c *crafted) {
		c.layers(layerType)
		c.manifest.Layers[0].Size = -1
	},
	"digest as path": func(c *crafted) {
		c.raw = bytes.Replace(mustJSON(c.manifest), []byte(`"layers":null`),
			[]byte(`"layers":[{"mediaType":"`+layerType+`","digest":"sha256:../../../../../../../../etc/passwd","size":1}]`), 1)
	},
	"manifest is HTML":        func(c *crafted) { c.raw = []byte("<html>") },
	"manifest is an index":    func(c *crafted) { c.manifest.MediaType = ocispec.MediaTypeImageIndex },
	"descriptor of other tag": func(c *crafted) { c.descriptor = func(d *ocispec.Descriptor) { d.Annotations = nil } },
	"descriptor lies": func(c *crafted) {
		c.descriptor = func(d *ocispec.Descriptor) { d.Data = []byte(`{"schemaVersion":2}`) }
	},
	"descriptor of a file": func(c *crafted) { c.descriptor = func(d *ocispec.Descriptor) { d.Digest = "sha256:../../oci-layout" } },
}

const layerType = "application/vnd.skillpm.tree.v1.tar+gzip"

func (c *crafted) layers(types ...string) {
	for _, t := range types {
		c.manifest.Layers = append(c.manifest.Layers, describe(t, c.layer))
	}
}

// header changes the last entry of the layer.
func header(change func(*tar.Header)) func(*crafted) {
	return func(c *crafted) {
		list := entries(c.wanted)
		last := &list[len(list)-1]
		change(&last.Header)
		if last.Typeflag != tar.TypeReg {
			last.text = ""
		}
		c.layer = zipped(tarOf(list...))
	}
}

func zeros(name string, size int) entry {
	return entry{tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg}, strings.Repeat("\x00", size)}
}

func many(n, size int) []entry {
	var out []entry
	for i := range n {
		out = append(out, zeros("f"+string(rune('A'+i/26))+string(rune('a'+i%26)), size))
	}
	return out
}

// small are limits that make bombs cheap to build.
var small = skill.Limits{Files: 50, Bytes: 2 << 20, FileBytes: 1 << 20}

func TestHostileMirrors(t *testing.T) {
	for name, bend := range hostile {
		t.Run(name, func(t *testing.T) {
			c := good(t)
			bend(c)
			dir := c.write(t)
			web := httptest.NewServer(http.FileServer(http.Dir(dir)))
			t.Cleanup(web.Close)
			for _, spec := range []string{"dir:" + dir, web.URL} {
				m := open(t, spec, oci.Options{Limits: small})
				refuse(t, m, c)
			}
		})
	}
}

func refuse(t *testing.T, m *oci.Mirror, c *crafted) {
	t.Helper()
	d := c.wanted.tree.Digest()
	var total int64
	tree, err := m.Tree(t.Context(), d, func(f skill.File, data []byte) error {
		if err := skill.CheckPath(f.Path); err != nil {
			t.Errorf("sink got the path %q", f.Path)
		}
		total += int64(len(data))
		return nil
	})
	if err == nil || tree != nil {
		t.Fatalf("accepted by %s", m)
	}
	if total > small.Bytes {
		t.Errorf("sink got %d bytes", total)
	}
	switch code := diag.CodeOf(err); code {
	case diag.MirrorInvalid, diag.MirrorIncomplete, diag.TreeTooLarge:
	default:
		t.Errorf("code %s: %v", code, err)
	}
	if !strings.Contains(err.Error(), m.String()) {
		t.Errorf("the error does not name the mirror: %v", err)
	}
	report, err := m.Verify(t.Context(), []oci.Want{c.wanted.want()}, oci.RunOptions{})
	if err != nil || report.Err() == nil {
		t.Errorf("verify: %v, %+v", err, report)
	}
	dst := open(t, "dir:"+t.TempDir(), oci.Options{Write: true, Limits: small})
	copied, err := oci.Copy(t.Context(), m, dst, []oci.Want{c.wanted.want()}, oci.RunOptions{})
	if err != nil || copied.Count(oci.Failed) != 1 {
		t.Fatalf("copy: %v, %+v", err, copied)
	}
	if text := copied.Outcomes[0].Err.Error(); !strings.HasPrefix(text, "source: ") {
		t.Errorf("copy blames the wrong side: %s", text)
	}
	if ok, _ := dst.Has(t.Context(), c.wanted.want().Ref); ok {
		t.Error("copy stored it")
	}
}

// The mirror that the cases are bent from is a good one.
func TestCraftedMirrorIsGood(t *testing.T) {
	c := good(t)
	c.wanted.mustRead(t, open(t, "dir:"+c.write(t), oci.Options{Limits: small}))
}

func TestHostileBundle(t *testing.T) {
	dir := t.TempDir()
	b := []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}`)
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), []oci.Item{bundleItem(b)}, oci.RunOptions{})
	d := skill.DigestOf(b)
	blob := filepath.Join(dir, "blobs", "sha256", d.Hex())
	for name, text := range map[string]string{
		"changed": `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.4+json"}`,
		"huge":    strings.Repeat(" ", oci.MaxBundleBytes+1),
		"empty":   "",
	} {
		os.Chmod(blob, 0o644)
		if err := os.WriteFile(blob, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := open(t, "dir:"+dir, oci.Options{}).Bundle(t.Context(), d)
		if diag.CodeOf(err) != diag.MirrorInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Links out of a folder, FIFOs and directories in a blob's place are refused,
// not followed.
func TestFolderWithLinks(t *testing.T) {
	c := good(t)
	dir := c.write(t)
	blob := filepath.Join(dir, "blobs", "sha256", c.manifest.Layers[0].Digest.Encoded())
	outside := filepath.Join(t.TempDir(), "layer")
	if err := os.Rename(blob, outside); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]func() error{
		"link":      func() error { return os.Symlink(outside, blob) },
		"directory": func() error { return os.Mkdir(blob, 0o755) },
	} {
		if err := place(); err != nil {
			t.Fatal(err)
		}
		_, _, err := read(t.Context(), open(t, "dir:"+dir, oci.Options{}), c.wanted.tree.Digest())
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		os.RemoveAll(blob)
	}
}

// A sink's own error comes back as it is.
func TestSinkError(t *testing.T) {
	c := good(t)
	m := open(t, "dir:"+c.write(t), oci.Options{})
	full := errors.New("no space here")
	_, err := m.Tree(t.Context(), c.wanted.tree.Digest(), func(skill.File, []byte) error { return full })
	if err != full {
		t.Errorf("got %v", err)
	}
}

// A cancelled context ends a read and is not blamed on the mirror.
func TestCancelledRead(t *testing.T) {
	c := good(t)
	m := open(t, "dir:"+c.write(t), oci.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Tree(ctx, c.wanted.tree.Digest(), func(skill.File, []byte) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A body that breaks off is a network fault, worth another try, not a damaged
// mirror.
func TestConnectionBreaks(t *testing.T) {
	list := samples(t, 1)
	dir := t.TempDir()
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), items(list), oci.RunOptions{})
	layer := filepath.Base(largestBlob(t, dir))
	files := http.FileServer(http.Dir(dir))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, layer) {
			w.Header().Set("Content-Length", "100000")
			w.Write(make([]byte, 100))
			panic(http.ErrAbortHandler)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	_, _, err := read(t.Context(), open(t, web.URL, oci.Options{}), list[0].tree.Digest())
	if code := diag.CodeOf(err); code != diag.MirrorInvalid && code != diag.FetchFailed {
		t.Errorf("code %s: %v", code, err)
	}
}

// An oversized or broken index.json does not matter to readers, and stops a
// listing within bounds.
func TestHostileIndex(t *testing.T) {
	for name, text := range map[string]string{
		"huge element": `{"manifests":[{"mediaType":"` + strings.Repeat("x", 6<<20) + `"}]}`,
		"not JSON":     "<html>",
		"truncated":    `{"manifests":[{"mediaType":"a"`,
		"array":        `[]`,
		"wrong type":   `{"manifests":{"a":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := good(t)
			dir := c.write(t)
			if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			m := open(t, "dir:"+dir, oci.Options{})
			c.wanted.mustRead(t, m)
			err := m.List(t.Context(), func(oci.Entry) error { return nil })
			if diag.CodeOf(err) != diag.MirrorInvalid {
				t.Errorf("list: %v", err)
			}
		})
	}
}
