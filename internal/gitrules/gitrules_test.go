package gitrules

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var paths = []string{"SKILL.md", "a b.txt", "bin/tool", "docs/a.md", "docs/deep/b.md", "docs/deep/c.txt", "build/out.o", "x/build/y.o", "log.txt", "data.bin"}

var ruleCases = []struct {
	name  string
	files map[string]string
}{
	{"nothing", nil},
	{"everything", map[string]string{".gitignore": "*\n"}},
	{"everything but", map[string]string{".gitignore": "*\n!*/\n!*.md\n"}},
	{"names, anywhere", map[string]string{".gitignore": "# a comment\n\n*.o\nbuild\n"}},
	{"a directory", map[string]string{".gitignore": "build/\nlog.txt/\n"}},
	{"a directory cannot be opened again", map[string]string{".gitignore": "docs/\n!docs/a.md\n"}},
	{"anchored", map[string]string{".gitignore": "/build\ndocs/*.md\n"}},
	{"stars", map[string]string{".gitignore": "**/b.md\ndocs/**/c.txt\nx/**\n"}},
	{"only stars", map[string]string{".gitignore": "**\n!docs/\n"}},
	{"trailing stars", map[string]string{".gitignore": "docs/**\n!docs/a.md\n"}},
	{"classes and escapes", map[string]string{".gitignore": "[!S]KILL.md\na\\ b.txt\n[a-l]*.txt\n"}},
	{"trailing spaces", map[string]string{".gitignore": "log.txt   \n"}},
	{"deeper overrules", map[string]string{".gitignore": "*.md\n", "docs/.gitignore": "!a.md\n"}},
	{"line ends", map[string]string{".gitattributes": "*.md text eol=crlf\n"}},
	{"unix ends", map[string]string{".gitattributes": "* text=auto eol=lf\n"}},
	{"auto", map[string]string{".gitattributes": "* text=auto\n*.bin binary\n"}},
	{"last line wins", map[string]string{".gitattributes": "*.md text\ndocs/*.md -text\nSKILL.md !text\n"}},
	{"eol alone", map[string]string{".gitattributes": "*.txt eol=crlf\nlog.txt -text eol=crlf\n*.md eol=lf\n"}},
	{"the older name", map[string]string{".gitattributes": "*.md crlf\n*.txt crlf=input\n*.o -crlf\n"}},
	{"filters", map[string]string{".gitattributes": "*.bin filter=lfs -text\nSKILL.md ident\n*.o -filter\n*.txt working-tree-encoding=UTF-8\n"}},
	{"harmless", map[string]string{".gitattributes": "*.md linguist-documentation diff=markdown -whitespace\n"}},
	{"not of git", map[string]string{".gitattributes": "!*.md text\nbuild/ text\n[attr]mine text\n*.o\n"}},
	{"deeper attributes", map[string]string{".gitattributes": "*.md text\n", "docs/deep/.gitattributes": "*.md -text\n"}},
	{"quoted", map[string]string{".gitattributes": "\"log.txt\" text\n"}},
}

// Git itself is asked the same.
func TestAsGitDoes(t *testing.T) {
	for _, c := range ruleCases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string][]byte{}
			for name, text := range c.files {
				files[name] = []byte(text)
				write(t, dir, name, text)
			}
			for _, p := range paths {
				write(t, dir, p, "x\n")
			}
			git(t, dir, "", "init", "-q", ".")
			r := Read(files)
			listed := strings.Split(git(t, dir, "", "ls-files", "-z", "--others", "--exclude-standard"), "\x00")
			converted := attributes(t, dir)
			for _, p := range paths {
				if got, want := r.Ignores(p), !slices.Contains(listed, p); got != want {
					t.Errorf("%s ignored: %v, git says %v", p, got, want)
				}
				if got := r.Converts(p); got != converted[p] {
					t.Errorf("%s converted: %v, git says %v", p, got, converted[p])
				}
			}
		})
	}
}

// attributes judges what `git ls-files --eol` and check-attr say of each path.
func attributes(t *testing.T, dir string) map[string]bool {
	t.Helper()
	asked := []string{"check-attr", "-z", "--stdin", "ident", "filter", "working-tree-encoding"}
	words := strings.Split(git(t, dir, strings.Join(paths, "\x00"), asked...), "\x00")
	out := map[string]bool{}
	for i := 0; i+2 < len(words); i += 3 {
		if v := words[i+2]; v != "unspecified" && v != "unset" {
			out[words[i]] = true
		}
	}
	git(t, dir, "", append([]string{"-c", "core.safecrlf=false", "add", "--force", "--"}, paths...)...)
	for line := range strings.Lines(git(t, dir, "", "ls-files", "--eol")) {
		facts, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		_, attr, _ := strings.Cut(facts, "attr/")
		switch strings.TrimSpace(attr) {
		case "text", "text=auto", "text eol=crlf", "text=auto eol=crlf":
			out[name] = true
		}
	}
	return out
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// A pattern of many stars over a deep path ends at once.
func TestManyStars(t *testing.T) {
	r := Read(map[string][]byte{IgnoreFile: []byte(strings.Repeat("**/a/", 200) + "b\n")})
	if r.Ignores(strings.Repeat("a/", 300) + "c") {
		t.Error("c is ignored")
	}
}
