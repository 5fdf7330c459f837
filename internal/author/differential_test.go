package author

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/parse"
)

const deploySkill = "---\nname: deploy\ndescription: Deploys to staging. Use when asked to deploy.\n---\nRun it.\n"

// What an author's commands say of a committed work tree is what an installer
// finds in the repository: the verdict and the digest.
func TestWorkTreeIsWhatInstallersGet(t *testing.T) {
	cases := []struct {
		name    string
		config  []string // name, value
		files   map[string]string
		links   map[string]string
		prepare func(t *testing.T, dir string) // before the commit
		after   func(t *testing.T, dir string) // after it
		want    diag.Code                      // "" for a digest
	}{
		{name: "plain"},
		{name: "crlf in the blob", files: map[string]string{"skills/deploy/a.txt": "a\r\nb\r\n"}},
		{name: "crlf by configuration", config: []string{"core.autocrlf", "true"},
			files: map[string]string{"skills/deploy/a.txt": "a\r\nb\r\n"}, after: checkoutAgain},
		{name: "crlf by attribute", files: map[string]string{".gitattributes": "* text=auto eol=crlf\n", "skills/deploy/a.txt": "a\nb\n"}, after: checkoutAgain},
		{name: "an attribute that came later", files: map[string]string{"skills/deploy/a.txt": "a\r\nb\r\n"},
			after: func(t *testing.T, dir string) { write(t, dir, ".git/info/attributes", "* text=auto\n") }},
		{name: "ident and a filter", config: []string{"filter.up.clean", "tr a-z A-Z", "filter.up.smudge", "tr A-Z a-z"},
			files: map[string]string{".gitattributes": "*.id ident\n*.up filter=up\n", "skills/deploy/x.id": "$Id$\n", "skills/deploy/x.up": "loud\n"}, after: checkoutAgain},
		{name: "utf-16 by attribute", files: map[string]string{".gitattributes": "*.u working-tree-encoding=UTF-16LE-BOM\n", "skills/deploy/x.u": "\xff\xfea\x00\n\x00"}},
		{name: "a mode on disk alone", config: []string{"core.fileMode", "false"},
			after: func(t *testing.T, dir string) { chmod(t, dir, "skills/deploy/SKILL.md") }},
		{name: "a mode in git alone", config: []string{"core.fileMode", "false"},
			prepare: func(t *testing.T, dir string) { runGit(t, dir, "update-index", "--chmod=+x", "skills/deploy/SKILL.md") }},
		{name: "ignored files", files: map[string]string{".gitignore": "*.log\nbuild/\n"},
			after: func(t *testing.T, dir string) {
				write(t, dir, "skills/deploy/x.log", "x")
				write(t, dir, "skills/deploy/build/out", "x")
			}},
		{name: "a tracked file that is ignored", files: map[string]string{"skills/deploy/x.log": "x"},
			after: func(t *testing.T, dir string) { write(t, dir, ".git/info/exclude", "*.log\n") }},
		{name: "links", files: map[string]string{"skills/deploy/lib/x": "x", "skills/deploy/empty": ""},
			links: map[string]string{"skills/deploy/copy": "lib", "skills/deploy/one": "lib/x", "skills/deploy/lib/two": "x"}},
		{name: "odd names", files: map[string]string{"skills/deploy/a b": "1", "skills/deploy/ä[1]*?": "2", "skills/deploy/-x": "3", "skills/deploy/:(top)y": "4", "skills/deploy/'q'": "5"}},
		{name: "a skill at the root", files: map[string]string{"SKILL.md": deploySkill}},
		{name: "a submodule", prepare: func(t *testing.T, dir string) { addSubmodule(t, dir, "skills/deploy/vendor") }, want: diag.SubmoduleInSkill},
		{name: "a repository inside", prepare: func(t *testing.T, dir string) {
			write(t, dir, "skills/deploy/inner/x", "x")
			inner := filepath.Join(dir, "skills/deploy/inner")
			runGit(t, inner, "init", "-q")
			runGit(t, inner, "add", ".")
			runGit(t, inner, "commit", "-qm", "inner")
		}, want: diag.SubmoduleInSkill},
		{name: "a pointer of LFS", files: map[string]string{"skills/deploy/big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"}, want: diag.LfsPointer},
		{name: "a link that dangles", links: map[string]string{"skills/deploy/x": "nothing"}, want: diag.SymlinkDangling},
		{name: "a link out of the repository", links: map[string]string{"skills/deploy/x": "../../../x"}, want: diag.SymlinkEscapes},
		{name: "a link to itself", links: map[string]string{"skills/deploy/x": "x"}, want: diag.SymlinkLoop},
		{name: "a directory in itself", links: map[string]string{"skills/deploy/x": "."}, want: diag.SymlinkLoop},
		{name: "a signature's name in another case", files: map[string]string{"skills/deploy/Skill.oms.sig": "x"}, want: diag.PathUnsafe},
		{name: "a device's name", files: map[string]string{"skills/deploy/nul": "x"}, want: diag.PathUnsafe},
		{name: "a backslash", files: map[string]string{`skills/deploy/a\b`: "x"}, want: diag.PathUnsafe},
		{name: "two spellings", files: map[string]string{"skills/deploy/A": "x", "skills/deploy/a": "y"}, want: diag.PathUnsafe},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			dir := newRepository(t)
			for i := 0; i < len(tt.config); i += 2 {
				runGit(t, dir, "config", tt.config[i], tt.config[i+1])
			}
			at := "skills/deploy"
			for name, text := range tt.files {
				write(t, dir, name, text)
				if name == "SKILL.md" {
					at = "."
				}
			}
			for name, target := range tt.links {
				if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			runGit(t, dir, "add", "--all")
			if tt.prepare != nil {
				tt.prepare(t, dir)
				runGit(t, dir, "add", "--all")
			}
			runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "case")
			if tt.after != nil {
				tt.after(t, dir)
			}
			compare(t, dir, at, tt.want)
		})
	}
}

// compare holds what Load says of directory at of a work tree against what an
// installer reads of its HEAD.
func compare(t *testing.T, dir, at string, want diag.Code) {
	t.Helper()
	src, err := git.New(git.Options{Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	repo, err := git.FileSource(dir)
	if err != nil {
		t.Fatal(err)
	}
	head := fetch.ID(runGit(t, dir, "rev-parse", "HEAD"))
	snap, err := src.Open(t.Context(), repo, []fetch.Want{{Commit: head}})
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	theirs, theirErr := fetch.Load(t.Context(), snap, head, inRepository(at), fetch.LoadOptions{}, nil)
	ours, err := Load(t.Context(), []parse.Place{{Dir: filepath.Join(dir, at), Name: "deploy"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := diag.CodeOf(theirErr); got != want {
		t.Errorf("installed: %v, want %q", theirErr, want)
	}
	if got := diag.CodeOf(ours[0].Err); got != want {
		t.Errorf("read: %v, want %q", ours[0].Err, want)
	}
	report, err := parse.Validate(t.Context(), []string{at}, parse.ValidateOptions{Base: dir, Load: Load})
	if err != nil {
		t.Fatal(err)
	}
	if refused := report.Err() != nil; refused != (want != "") && at != "." { // the root's name is the test's
		t.Errorf("validate says %s", report.Text())
	}
	if want != "" || theirErr != nil || ours[0].Tree == nil {
		return
	}
	if a, b := string(ours[0].Tree.Manifest()), string(theirs.Tree.Manifest()); a != b {
		t.Errorf("read\n%sinstalled\n%s", a, b)
	}
	if ours[0].State != string(Committed) && runGit(t, dir, "status", "--porcelain") == "" {
		t.Errorf("a clean work tree is called %q", ours[0].State)
	}
}

func checkoutAgain(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "skills")); err != nil {
		t.Fatal(err)
	}
	runGit(t, dir, "checkout", "-q", "--", "skills")
}

func chmod(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func addSubmodule(t *testing.T, dir, at string) {
	t.Helper()
	other := newRepository(t)
	runGit(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, at)
}

// Looking changes nothing in the repository, works before the first commit, in
// a linked work tree and in a shallow clone.
func TestLookingAtWorkTrees(t *testing.T) {
	dir := newRepository(t)
	write(t, dir, "skills/deploy/new.txt", "x\n")
	before := listing(t, dir)
	load := func(dir string) parse.Loaded {
		t.Helper()
		l, err := Load(t.Context(), []parse.Place{{Dir: dir, Name: "deploy"}})
		if err != nil || l[0].Err != nil {
			t.Fatal(err, l[0].Err)
		}
		return l[0]
	}
	if l := load(filepath.Join(dir, "skills/deploy")); l.State != string(Changed) || len(l.Tree.Files()) != 3 {
		t.Errorf("%s, %s", l.State, l.Tree.Manifest())
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the repository was changed:\n%s\n%s", before, after)
	}
	runGit(t, dir, "add", ".")
	runGit(t, dir, "commit", "-qm", "second")
	linked, shallow, fresh := filepath.Join(t.TempDir(), "a b:c"), filepath.Join(t.TempDir(), "s"), t.TempDir()
	runGit(t, dir, "worktree", "add", "-q", "--detach", linked)
	runGit(t, dir, "clone", "-q", "--depth=1", "file://"+dir, shallow)
	for _, root := range []string{linked, shallow} {
		if l := load(filepath.Join(root, "skills/deploy")); l.State != string(Committed) || len(l.Tree.Files()) != 3 {
			t.Errorf("%s: %s, %s", root, l.State, l.Tree.Manifest())
		}
	}
	runGit(t, fresh, "init", "-q")
	write(t, fresh, "deploy/SKILL.md", deploySkill)
	if l := load(filepath.Join(fresh, "deploy")); l.State != string(Changed) {
		t.Errorf("before the first commit: %s", l.State)
	}
	write(t, fresh, ".gitignore", "/deploy/\n")
	if l := load(filepath.Join(fresh, "deploy")); l.State != string(Directory) {
		t.Errorf("all of it ignored: %s", l.State)
	}
}

// listing is every file of a repository's own directory. git renews the time of
// an object that it would have written again, which is no change of it.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var files []string
	err := filepath.Walk(filepath.Join(dir, ".git"), func(name string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			line := fmt.Sprint(name, " ", info.Size())
			if !strings.Contains(name, "/objects/") {
				line += info.ModTime().String()
			}
			files = append(files, line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, "\n")
}
