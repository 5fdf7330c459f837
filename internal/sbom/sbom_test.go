package sbom

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/lockfile"
)

func example(t *testing.T) *lockfile.Lock {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "lock", "project", "skills.lock"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lockfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func licensed(key string) string {
	if key == "deploy" {
		return "Apache-2.0"
	}
	return ""
}

// The document of the test project's lock, byte for byte.
func TestGolden(t *testing.T) {
	got, err := CycloneDX(example(t), Options{Name: "example", License: licensed})
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/example.cdx.json"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	again, err := CycloneDX(example(t), Options{Name: "example", License: licensed})
	if err != nil || !bytes.Equal(got, again) {
		t.Errorf("a second run gives other bytes, error %v", err)
	}
}

// Every reference of the graph is a component, and every skill is one.
func TestGraphIsClosed(t *testing.T) {
	l := example(t)
	data, err := CycloneDX(l, Options{Name: "example", License: licensed})
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(data), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	refs := map[string]bool{bom.Metadata.Component.BOMRef: true}
	for _, c := range *bom.Components {
		if refs[c.BOMRef] {
			t.Errorf("%s stands twice", c.BOMRef)
		}
		refs[c.BOMRef] = true
	}
	if len(refs) != len(l.Skills)+1 {
		t.Errorf("%d components for %d skills", len(refs)-1, len(l.Skills))
	}
	for _, d := range *bom.Dependencies {
		if !refs[d.Ref] {
			t.Errorf("%s is no component", d.Ref)
		}
		if d.Dependencies == nil {
			continue
		}
		for _, on := range *d.Dependencies {
			if !refs[on] {
				t.Errorf("%s depends on %s, which is no component", d.Ref, on)
			}
		}
	}
}

func TestPurl(t *testing.T) {
	for _, c := range []struct {
		name, key, url, path, want string
	}{
		{"github", "pdf", "https://github.com/Acme/Skills", "skills/a b", "pkg:github/acme/skills@c0#skills/a%20b"},
		{"root", "pdf", "git@github.com:acme/pdf.git", "", "pkg:github/acme/pdf@c0"},
		{"elsewhere", "pdf", "git@git.example.com:x/y.git", "s", "pkg:generic/pdf@1.0.0+b?vcs_url=git%2Bssh%3A%2F%2Fgit%40git.example.com%2Fx%2Fy.git%40c0#s"},
	} {
		e := &lockfile.Entry{Key: c.key, Version: "1.0.0+b", Source: lockfile.Source{Type: lockfile.TypeGit, URL: c.url, Path: c.path, Commit: "c0"}}
		if got := purl(e); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := purl(&lockfile.Entry{Source: lockfile.Source{Type: lockfile.TypePath, Path: "x"}}); got != "" {
		t.Errorf("a path skill got %s", got)
	}
}
