package lockfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/skill"
)

// writeSkill makes a skill directory; a name that ends in * is executable.
func writeSkill(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pdf")
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, "*") {
			name, mode = strings.TrimSuffix(name, "*"), 0o755
		}
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func pdfFiles() map[string]string {
	return map[string]string{"SKILL.md": "---\nname: pdf\ndescription: d\n---\n\n# Body\n", "scripts/run.sh*": "#!/bin/sh\n", "references/a.md": "a\n", skill.SignatureFile: "{}"}
}

func lockedPdf(t *testing.T) (*Entry, *skill.Tree) {
	t.Helper()
	tree, signature, err := open(t, writeSkill(t, pdfFiles())).Tree(skill.DefaultLimits, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Entry{Key: "pdf", Source: Source{Type: TypeGit}, Digest: tree.Digest(), Signature: &Signature{Kind: SignatureKey, Bundle: signature}}, tree
}

func TestVerify(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		code   string
		says   string
	}{
		{"untouched", func(*testing.T, string) {}, "", ""},
		{"byte", func(t *testing.T, dir string) { write(t, dir, "references/a.md", "b\n", 0o644) }, "verify_changed", `changed "references/a.md"`},
		{"mode", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "SKILL.md"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "verify_changed", `mode "SKILL.md"`},
		{"missing", func(t *testing.T, dir string) { remove(t, dir, "scripts/run.sh") }, "verify_missing", `missing "scripts/run.sh"`},
		{"extra", func(t *testing.T, dir string) { write(t, dir, ".hidden", "x", 0o644) }, "verify_extra", `extra ".hidden"`},
		{"two", func(t *testing.T, dir string) {
			remove(t, dir, "SKILL.md")
			write(t, dir, "skill.md", "x", 0o644)
		}, "verify_missing", "and 1 more"},
		{"signature gone", func(t *testing.T, dir string) { remove(t, dir, skill.SignatureFile) }, "verify_missing", "is gone"},
		{"signature other", func(t *testing.T, dir string) { write(t, dir, skill.SignatureFile, "{ }", 0o644) }, "verify_changed", "another"},
		{"link", func(t *testing.T, dir string) {
			remove(t, dir, "references/a.md")
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "references/a.md")); err != nil {
				t.Fatal(err)
			}
		}, "path_unsafe", "no regular file"},
		{"directory for the signature", func(t *testing.T, dir string) {
			remove(t, dir, skill.SignatureFile)
			if err := os.Mkdir(filepath.Join(dir, skill.SignatureFile), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir, skill.SignatureFile+"/x", "x", 0o644)
		}, "path_unsafe", ""},
	}
	e, tree := lockedPdf(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeSkill(t, pdfFiles())
			tt.change(t, dir)
			err := VerifyDir(dir, e, tree)
			if skill.CodeOf(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v (%s), want %s", err, skill.CodeOf(err), tt.code)
			}
			without := VerifyDir(dir, e, nil)
			if (without == nil) != (err == nil) {
				t.Errorf("without the tree: %v", without)
			}
		})
	}
	if err := VerifyDir(filepath.Join(t.TempDir(), "pdf"), e, nil); skill.CodeOf(err) != "verify_missing" {
		t.Errorf("no directory: %v", err)
	}
	if err := VerifyDir(writeSkill(t, pdfFiles()), nil, nil); skill.CodeOf(err) != "verify_extra" {
		t.Errorf("no entry: %v", err)
	}
}

func write(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

func TestReading(t *testing.T) {
	d := open(t, writeSkill(t, pdfFiles()))
	body, more, err := d.Body(0)
	if err != nil || more || string(body) != "\n# Body\n" {
		t.Errorf("body %q, more %v, %v", body, more, err)
	}
	if body, more, err = d.Body(3); err != nil || !more || string(body) != "\n# " {
		t.Errorf("bounded body %q, more %v, %v", body, more, err)
	}
	list, err := d.Resources()
	if err != nil {
		t.Fatal(err)
	}
	want := []Resource{{Path: "references/a.md", Size: 2}, {Path: "scripts/run.sh", Size: 10, Exec: true}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if data, more, err := d.Resource("scripts/run.sh", 4); err != nil || !more || string(data) != "#!/b" {
		t.Errorf("%q, more %v, %v", data, more, err)
	}
	for _, p := range []string{"../outside", "/etc/passwd", "a/../../b", "references", `..\x`, ""} {
		if _, _, err := d.Resource(p, 0); skill.CodeOf(err) != "path_unsafe" {
			t.Errorf("%q: %v", p, err)
		}
	}
	if _, _, err := d.Resource("references/none.md", 0); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestLinkedResource(t *testing.T) {
	dir := writeSkill(t, pdfFiles())
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(dir, "dir")); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	for _, p := range []string{"link", "dir/secret"} {
		if data, _, err := d.Resource(p, 0); err == nil {
			t.Errorf("%s reads %q outside the skill", p, data)
		}
	}
}

func TestSplitBody(t *testing.T) {
	for text, want := range map[string]string{
		"---\nname: a\n---\nbody":              "body",
		"\ufeff---\r\nname: a\r\n--- \r\nbody": "body",
		"---\nname: a\n---":                    "",
		"---\nname: a\n":                       "---\nname: a\n",
		"no fence\n---\n":                      "no fence\n---\n",
		"---\n---\n---\n":                      "---\n",
		"\n \n---\nname: a\n---\nbody":         "body",
		"":                                     "",
	} {
		if got := string(SplitBody([]byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSkillFileOfAnotherCase(t *testing.T) {
	d := open(t, writeSkill(t, map[string]string{"skill.md": "text"}))
	if body, _, err := d.Body(0); err != nil || string(body) != "text" {
		t.Errorf("%q, %v", body, err)
	}
	d = open(t, writeSkill(t, map[string]string{"README.md": "text"}))
	if _, _, err := d.Body(0); skill.CodeOf(err) != "skill_not_found" {
		t.Errorf("no SKILL.md: %v", err)
	}
}
