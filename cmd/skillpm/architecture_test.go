package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inCode     = regexp.MustCompile("`([^`\n]+)`")
	pathLike   = regexp.MustCompile(`^(cmd|cache|docs|examples|fetch|internal|lockfile|resolver|runtimes|signing|skill|testdata)(/[\w.*-]+)+$`)
	identifier = regexp.MustCompile(`^(?:[a-z]\w*\.)?([A-Z]\w*)(?:\.(\w+))?$|^([a-z]\w*)\.(\w+)$|^([a-z]+[A-Z]\w*)$`)
	declared   = regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |\t)([A-Za-z]\w*)`)
)

// What ARCHITECTURE.md names is there: files, packages, functions, types and
// tests.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repoRoot, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := declaredNames(t)
	for _, m := range inCode.FindAllStringSubmatch(string(page), -1) {
		span := m[1]
		if pathLike.MatchString(span) {
			if found, err := filepath.Glob(filepath.Join(repoRoot, filepath.FromSlash(span))); err != nil || len(found) == 0 {
				t.Errorf("ARCHITECTURE.md names the file %s, which is not there", span)
			}
			continue
		}
		parts := identifier.FindStringSubmatch(span)
		if parts == nil || slices.Contains([]string{".toml", ".lock", ".md"}, filepath.Ext(span)) {
			continue
		}
		for _, name := range parts[1:] {
			if name != "" && !names[name] {
				t.Errorf("ARCHITECTURE.md names %s in `%s`, which no file declares", name, span)
			}
		}
	}
}

// startsPrograms are the places that may start a program, and which.
var startsPrograms = map[string]string{
	"fetch/git":                 "git, ssh and their credential helpers",
	"internal/author":           "git, for tags",
	"internal/project/merge.go": "git config, for the merge driver",
	"internal/testkit":          "servers for tests",
	"examples":                  "skillpm itself",
}

// Nothing fetched is ever executed, so programs are started in few places.
func TestWhoStartsPrograms(t *testing.T) {
	t.Parallel()
	goFiles(t, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") || !strings.Contains(text, "exec.Command") {
			return
		}
		for place := range startsPrograms {
			if name == place || strings.HasPrefix(name, place+"/") {
				return
			}
		}
		t.Errorf("%s starts a program; %v may", name, slices.Sorted(maps.Keys(startsPrograms)))
	})
}

// declaredNames returns every name that stands at the start of a declaration of
// this repository, and every package's.
func declaredNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	goFiles(t, func(name, text string) {
		names[path.Base(path.Dir(name))] = true
		for _, m := range declared.FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
	})
	return names
}

// goFiles calls visit for each Go file of the repository, with its slash path.
func goFiles(t *testing.T, visit func(name, text string)) {
	t.Helper()
	seen := 0
	err := fs.WalkDir(os.DirFS(repoRoot), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(repoRoot, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		seen++
		visit(name, string(text))
		return nil
	})
	if err != nil || seen < 100 {
		t.Fatalf("%d Go files found, %v", seen, err)
	}
}
