package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/skill"
)

var fuzzLimits = skill.Limits{Files: 20, Bytes: 1 << 20, FileBytes: 256 << 10}

func layerSeed(names ...string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(name)), ModTime: time.Unix(0, 0)})
		io.WriteString(w, name)
	}
	w.Close()
	return b.Bytes()
}

// FuzzReadLayer feeds archives (inflated: gzip would only hide them from the
// fuzzer): what is accepted is a legal tree, packs again, and reads
// back as the same tree; sink never gets an unsafe path or more than the limits.
func FuzzReadLayer(f *testing.F) {
	f.Add(layerSeed("SKILL.md", "a/b.txt"))
	f.Add(layerSeed("../x"))
	f.Add(layerSeed(strings.Repeat("a/", 60) + "ä"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, archive []byte) {
		files := map[string][]byte{}
		var total int64
		tree, err := readArchive(context.Background(), bytes.NewReader(archive), fuzzLimits, func(file skill.File, data []byte) error {
			if err := skill.CheckPath(file.Path); err != nil {
				t.Fatalf("sink got %q", file.Path)
			}
			files[file.Path] = bytes.Clone(data)
			total += int64(len(data))
			return nil
		})
		if total > fuzzLimits.Bytes || len(files) > fuzzLimits.Files {
			t.Fatalf("sink got %d bytes in %d files", total, len(files))
		}
		if err != nil {
			return
		}
		var packed bytes.Buffer
		open := func(path string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files[path])), nil }
		if err := packLayer(context.Background(), &packed, tree, open); err != nil {
			t.Fatal(err)
		}
		again, err := readLayer(context.Background(), &packed, fuzzLimits, func(skill.File, []byte) error { return nil })
		if err != nil || again.Digest() != tree.Digest() {
			t.Fatalf("packed again: %v", err)
		}
	})
}

// FuzzIndex merges into any index.json: what comes out, if anything, holds the
// added row, is in our shape, and merges again without change.
func FuzzIndex(f *testing.F) {
	row := `{"mediaType":"m","digest":"sha256:aa","size":1,"annotations":{"org.opencontainers.image.ref.name":"x"}}`
	f.Add([]byte(indexHead + indexOpen + "\n" + indexTail))
	f.Add([]byte(indexHead + indexOpen + "\n" + row + "\n" + indexTail))
	f.Add([]byte(`{"schemaVersion":2,"annotations":{"a":"b"},"manifests":[` + row + `,{"mediaType":"n","digest":"sha256:bb","size":2}]}`))
	f.Add([]byte(`{"manifests":null}`))
	f.Fuzz(func(t *testing.T, old []byte) {
		const tag = "tree-added"
		chg := change{add: map[string]string{tag: `{"annotations":{"org.opencontainers.image.ref.name":"` + tag + `"}}`}}
		var out bytes.Buffer
		err := mergeLines(&out, bytes.NewReader(old), chg)
		if errors.Is(err, errForeignIndex) {
			out.Reset()
			err = mergeAny(&out, bytes.NewReader(old), chg)
		}
		if err != nil || !json.Valid(out.Bytes()) {
			return // a broken index stays broken, nothing is served from it
		}
		found := false
		if err := readIndex(bytes.NewReader(out.Bytes()), func(raw json.RawMessage) error {
			found = found || strings.Contains(string(raw), tag)
			return nil
		}); err != nil || !found {
			t.Fatalf("the added row is gone (%v):\n%s", err, out.Bytes())
		}
	})
}

// FuzzDescriptor reads descriptor files, manifests and versions of any shape.
func FuzzDescriptor(f *testing.F) {
	ref := Ref{KindTree, skill.DigestOf(nil)}
	desc, manifest := newManifest(KindTree, describe(mediaTree, nil), describe(mediaLayer, []byte("x")))
	text, _ := json.Marshal(desc)
	f.Add(text)
	f.Add(manifest)
	f.Add([]byte(`{"format":"skillpm-versions","formatVersion":1,"source":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := parseManifest(b, ref); err == nil && (len(m.Layers) != 1 || string(m.Config.Digest) != string(ref.Digest)) {
			t.Fatalf("accepted %s", b)
		}
		if d, err := parseDescriptor(b, ref.Tag()); err == nil {
			if _, err := blobName(d.Digest); err != nil {
				t.Fatalf("accepted the digest %q", d.Digest)
			}
		}
		_, _ = parseVersions(b, VersionsRef(""))
	})
}
