package local_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/local"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(data, "-> "); ok {
			if err := os.Symlink(target, file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(data, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(file, []byte(data), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, root string) fetch.Snapshot {
	t.Helper()
	s, err := local.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A directory and the git tree that was made of it have one digest.
func TestSameDigestAsGit(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"s/SKILL.md": "a", "s/run.sh": "#!/bin/sh\n", "s/LICENSE": "-> ../LICENSE", "s/lib": "-> ../lib", "LICENSE": "free", "lib/x": "y",
		"s/.git/config": "skipped", "s/sub/.GIT": "gitdir: elsewhere", "s/sub/f": "f",
	})
	c, err := fetch.Load(t.Context(), open(t, root), local.Commit, "s", fetch.LoadOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := testkit.NewRepo(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repo.Files(map[string]testkit.File{
		"s/SKILL.md": {Data: "a"}, "s/run.sh": {Mode: "100755", Data: "#!/bin/sh\n"}, "s/LICENSE": {Mode: "120000", Data: "../LICENSE"},
		"s/lib": {Mode: "120000", Data: "../lib"}, "LICENSE": {Data: "free"}, "lib/x": {Data: "y"}, "s/sub/f": {Data: "f"},
	})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.Commit(tree, "one")
	if err != nil {
		t.Fatal(err)
	}
	fromGit, err := fetch.Load(t.Context(), &fetchtest.Snapshot{Repo: repo}, fetch.ID(commit), "s", fetch.LoadOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := string(c.Tree.Manifest()), string(fromGit.Tree.Manifest()); a != b {
		t.Errorf("from disk\n%sfrom git\n%s", a, b)
	}
}

func TestRefuses(t *testing.T) {
	for code, content := range map[diag.Code]map[string]string{
		diag.SymlinkEscapes:  {"s/SKILL.md": "a", "s/l": "-> ../../x"},
		diag.SymlinkDangling: {"s/SKILL.md": "a", "s/l": "-> gone"},
		diag.SymlinkLoop:     {"s/SKILL.md": "a", "s/l": "-> .."},
		diag.SkillNotFound:   {"s/README": "a"},
		diag.LfsPointer:      {"s/SKILL.md": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"},
	} {
		root := t.TempDir()
		write(t, root, content)
		_, err := fetch.Load(t.Context(), open(t, root), local.Commit, "s", fetch.LoadOptions{}, nil)
		if got := diag.CodeOf(err); got != code {
			t.Errorf("code %q (%v), want %q", got, err, code)
		}
	}
}

func TestRefusesWhatIsNoFile(t *testing.T) {
	root, err := os.MkdirTemp("", "sock") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	write(t, root, map[string]string{"s/SKILL.md": "a"})
	l, err := net.Listen("unix", filepath.Join(root, "s", "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, err = fetch.Load(t.Context(), open(t, root), local.Commit, "s", fetch.LoadOptions{}, nil)
	if diag.CodeOf(err) != diag.PathUnsafe {
		t.Errorf("%v, want path_unsafe", err)
	}
}

func TestDiscover(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"a/SKILL.md": "a", "b": "-> a", ".git/x/SKILL.md": "no"})
	d, err := fetch.Discover(t.Context(), open(t, root), local.Commit)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Skills) != 1 || len(d.Aliases) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestOpenNothing(t *testing.T) {
	if _, err := local.Open(filepath.Join(t.TempDir(), "gone")); diag.CodeOf(err) != diag.PathMissing {
		t.Errorf("%v", err)
	}
}
