package skill

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the vectors' results")

// vector is one case of testdata/tree/vectors.json. Content may be given as
// text, as hex, or by size and hash alone.
type vector struct {
	Name  string       `json:"name"`
	Files []vectorFile `json:"files"`
	// Manifest and Digest are the result; or Code is the refusal.
	Manifest string `json:"manifest,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Code     string `json:"code,omitempty"`
}

type vectorFile struct {
	Path    string `json:"path,omitempty"`
	PathHex string `json:"pathHex,omitempty"` // a path that is not UTF-8
	Exec    bool   `json:"exec,omitempty"`
	Text    string `json:"text,omitempty"`
	Hex     string `json:"hex,omitempty"`
	Size    int64  `json:"size,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
}

func (f vectorFile) file(t *testing.T) File {
	t.Helper()
	out := File{Path: f.Path, Exec: f.Exec, Size: f.Size}
	if f.PathHex != "" {
		b, err := hex.DecodeString(f.PathHex)
		if err != nil {
			t.Fatal(err)
		}
		out.Path = string(b)
	}
	if f.SHA256 != "" {
		if _, err := hex.Decode(out.SHA256[:], []byte(f.SHA256)); err != nil {
			t.Fatal(err)
		}
		return out
	}
	content := []byte(f.Text)
	if f.Hex != "" {
		b, err := hex.DecodeString(f.Hex)
		if err != nil {
			t.Fatal(err)
		}
		content = b
	}
	out.Size = int64(len(content))
	sum, err := hex.DecodeString(DigestOf(content).Hex())
	if err != nil {
		t.Fatal(err)
	}
	copy(out.SHA256[:], sum)
	return out
}

const vectorFileName = "../testdata/tree/vectors.json"

// The vectors are for other implementations too, so they are JSON.
func TestTreeVectors(t *testing.T) {
	data, err := os.ReadFile(vectorFileName)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for i := range vectors {
		v := &vectors[i]
		t.Run(v.Name, func(t *testing.T) { runVector(t, v) })
	}
	if *update {
		writeVectors(t, vectors)
	}
}

func runVector(t *testing.T, v *vector) {
	var files []File
	for _, f := range v.Files {
		files = append(files, f.file(t))
	}
	tree, err := NewTree(files, DefaultLimits)
	if err != nil {
		if CodeOf(err) != v.Code {
			t.Errorf("%v (%s), want %q", err, CodeOf(err), v.Code)
		}
		return
	}
	if *update && v.Code == "" {
		v.Manifest, v.Digest = string(tree.Manifest()), string(tree.Digest())
	}
	if v.Code != "" {
		t.Fatalf("accepted; want %s", v.Code)
	}
	if got := string(tree.Manifest()); got != v.Manifest || string(tree.Digest()) != v.Digest {
		t.Errorf("digest %s of\n%s\nwant %s of\n%s", tree.Digest(), got, v.Digest, v.Manifest)
	}
	slices.Reverse(files)
	if other, err := NewTree(files, DefaultLimits); err != nil || other.Digest() != tree.Digest() {
		t.Errorf("order matters: %v", err)
	}
	again, err := ParseTreeManifest([]byte(v.Manifest), DefaultLimits)
	if err != nil || again.Digest() != tree.Digest() {
		t.Errorf("the manifest does not read back: %v", err)
	}
}

func writeVectors(t *testing.T, vectors []vector) {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(vectors); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorFileName, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func manyFiles(n int, size int64) []File {
	files := make([]File, n)
	for i := range files {
		files[i] = File{Path: fmt.Sprintf("f%05d", i), Size: size}
	}
	return files
}

func TestTreeLimits(t *testing.T) {
	if _, err := NewTree(manyFiles(10_000, 1), DefaultLimits); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	for name, files := range map[string][]File{
		"files":  manyFiles(10_001, 1),
		"bytes":  manyFiles(9, 64<<20),
		"a file": manyFiles(1, 64<<20+1),
		"minus":  manyFiles(1, -1),
	} {
		if _, err := NewTree(files, DefaultLimits); CodeOf(err) != "tree_too_large" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewTree(manyFiles(10_001, 1), Limits{Files: 20_000, Bytes: 1 << 30, FileBytes: 1}); err != nil {
		t.Errorf("raised limits: %v", err)
	}
}

// A manifest has one spelling; any other is refused, so that one tree cannot
// have two digests.
func TestParseTreeManifestRefuses(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	line := "- " + sum + " 1 a\n"
	for name, text := range map[string]string{
		"empty":          "",
		"other header":   "skillpm-tree-v2\n" + line,
		"CRLF":           "skillpm-tree-v1\r\n" + line,
		"no line end":    "skillpm-tree-v1\n- " + sum + " 1 a",
		"blank line":     "skillpm-tree-v1\n\n" + line,
		"mode":           "skillpm-tree-v1\nr " + sum + " 1 a\n",
		"upper case":     "skillpm-tree-v1\n- " + strings.ToUpper(sum) + " 1 a\n",
		"short hash":     "skillpm-tree-v1\n- " + sum[2:] + " 1 a\n",
		"leading zero":   "skillpm-tree-v1\n- " + sum + " 01 a\n",
		"plus":           "skillpm-tree-v1\n- " + sum + " +1 a\n",
		"minus":          "skillpm-tree-v1\n- " + sum + " -1 a\n",
		"two blanks":     "skillpm-tree-v1\n- " + sum + " 1  a\n",
		"order":          "skillpm-tree-v1\n- " + sum + " 1 b\n" + line,
		"twice":          "skillpm-tree-v1\n" + line + line,
		"case twins":     "skillpm-tree-v1\n- " + sum + " 1 A\n" + line,
		"climbing":       "skillpm-tree-v1\n- " + sum + " 1 ../a\n",
		"signature":      "skillpm-tree-v1\n- " + sum + " 1 skill.oms.sig\n",
		"huge":           "skillpm-tree-v1\n- " + sum + " 99999999999999999999 a\n",
		"trailing space": "skillpm-tree-v1\n- " + sum + " 1 a\n ",
	} {
		if _, err := ParseTreeManifest([]byte(text), DefaultLimits); err == nil && name != "two blanks" {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTreeFile(t *testing.T) {
	tree, err := NewTree([]File{{Path: "b/c", Size: 2}, {Path: "SKILL.md", Size: 3}}, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := tree.File("b/c"); !ok || f.Size != 2 || tree.Size() != 5 || tree.Files()[0].Path != "SKILL.md" {
		t.Errorf("%+v", tree)
	}
	if _, ok := tree.File("b"); ok {
		t.Error("a directory counts as a file")
	}
}

// Any change of a path, a mode, a size or a hash changes the digest.
func TestDigestCoversAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := manyFiles(rapid.IntRange(1, 5).Draw(t, "files"), 1)
		before, err := NewTree(files, DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		f := &files[rapid.IntRange(0, len(files)-1).Draw(t, "which")]
		switch rapid.SampledFrom([]string{"path", "mode", "size", "hash"}).Draw(t, "what") {
		case "path":
			f.Path += "x"
		case "mode":
			f.Exec = !f.Exec
		case "size":
			f.Size++
		case "hash":
			f.SHA256[rapid.IntRange(0, 31).Draw(t, "byte")] ^= 1
		}
		after, err := NewTree(files, DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		if before.Digest() == after.Digest() {
			t.Fatal("one digest for two trees")
		}
	})
}

func FuzzParseTreeManifest(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	f.Add([]byte("skillpm-tree-v1\n- " + sum + " 12 SKILL.md\nx " + sum + " 1 scripts/a b.sh\n"))
	f.Add([]byte("skillpm-tree-v1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := ParseTreeManifest(data, DefaultLimits)
		if err == nil && string(tree.Manifest()) != string(data) {
			t.Fatalf("%q is written as %q", data, tree.Manifest())
		}
	})
}
