package deptest

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxLines is where a file surely holds a second idea.
const maxLines = 600

// programs are the directories whose packages are commands or belong to one.
var programs = []string{"cmd/...", "examples/..."}

// exception lets one package use one function, with the reason.
type exception struct{ dir, function, why string }

// printers may print or end the process.
var printers = []exception{}

// writers may change files without internal/fsx. What fsx writes can be made to
// fail, to run out of space or to be killed at every call in a test; the project
// and the store are written through it alone.
var writers = []exception{
	{"internal/testkit/...", "*", "servers and repositories for tests live in temporary directories"},
	{"internal/regular", "os.OpenFile", "it opens for reading, without waiting for a pipe"},
	{"internal/regular", "os.Root.OpenFile", "it opens for reading, without waiting for a pipe"},
	{"internal/flock", "os.WriteFile", "it writes into the file that is locked, which must not be replaced by a new one"},
	{"cache", "os.WriteFile", "the name of the holder of an index that bbolt writes by itself and that may be lost at any time"},
	{"cache", "os.Remove", "the same index, begun anew where it is damaged"},
	{"fetch/git", "os.CreateTemp", "a large pack is spilled into a file without a name"},
	{"fetch/git", "os.Remove", "the name of that file"},
	{"fetch/git", "os.MkdirTemp", "the git program needs a repository to fetch into"},
	{"fetch/git", "os.RemoveAll", "the same repository, when its snapshot is closed"},
	{"fetch/oci", "*", "an OCI layout is written by oras as well; what a mirror holds counts only after its digest was verified"},
}

// skippers may skip a test.
var skippers = []exception{
	{"signing", "t.Skip", "SKILLPM_CASES may name a directory that holds other cases only"},
	{"resolver", "t.Skip", "SKILLPM_CASES may name a directory that holds other cases only"},
	{"skill/parse", "t.Skipf", "SKILLPM_CASES may name a directory that holds other cases only"},
}

func excepted(list []exception, used []bool, dir, function string) bool {
	for i, e := range list {
		if within(dir, e.dir) && (e.function == "*" || e.function == function) {
			used[i] = true
			return true
		}
	}
	return false
}

// reportUnused demands that an exception nobody needs goes away.
func reportUnused(t *testing.T, list []exception, used []bool) {
	for i, e := range list {
		if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(e.dir, "/..."))); err == nil && !used[i] {
			t.Errorf("the exception for %s in %s is not needed any more; remove it", e.function, e.dir)
		}
	}
}

func TestOnlyCommandsPrintOrExit(t *testing.T) {
	used := make([]bool, len(printers))
	for _, f := range sourceFiles(t) {
		if f.test || within(f.dir(), programs...) {
			continue
		}
		report := func(at, name string) {
			if !excepted(printers, used, f.dir(), name) {
				t.Errorf("%s: %s; only cmd prints and exits, so that every text and every exit status has one place", at, name)
			}
		}
		f.uses("fmt", []string{"Print", "Printf", "Println"}, report)
		f.uses("os", []string{"Exit", "Stdin", "Stdout", "Stderr"}, report)
		if slices.Contains(f.imports(), "log") {
			report(f.path, "log")
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
					report(f.at(call), id.Name)
				}
			}
			return true
		})
	}
	reportUnused(t, printers, used)
}

// writes are the functions of package os, and methods of *os.Root, that change a
// file system.
var writes = []string{
	"WriteFile", "Create", "CreateTemp", "OpenFile", "Mkdir", "MkdirAll", "MkdirTemp", "Rename", "Remove", "RemoveAll",
	"Symlink", "Link", "Chmod", "Chown", "Lchown", "Chtimes", "Truncate", "CopyFS",
}

func TestOnlyFsxWrites(t *testing.T) {
	used := make([]bool, len(writers))
	for _, f := range sourceFiles(t) {
		if f.test || within(f.dir(), "internal/fsx") || within(f.dir(), "examples/...") {
			continue
		}
		report := func(at, name string) {
			if !excepted(writers, used, f.dir(), name) {
				t.Errorf("%s: %s; files are written through internal/fsx, which syncs, renames and can be made to fail in tests", at, name)
			}
		}
		f.uses("os", writes, report)
		f.rootWrites(report)
	}
	reportUnused(t, writers, used)
}

// rootWrites reports what looks like a write through an *os.Root: types are not
// known here, so in a file that names os.Root or os.OpenRoot every method call
// of such a name on a value counts.
func (f *goFile) rootWrites(report func(at, name string)) {
	roots := false
	f.uses("os", []string{"Root", "OpenRoot"}, func(string, string) { roots = true })
	if !roots {
		return
	}
	packages := map[string]bool{}
	for _, p := range f.imports() {
		packages[f.localName(p)] = true
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains(writes, sel.Sel.Name) {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || !packages[x.Name] {
			report(f.at(call), "os.Root."+sel.Sel.Name)
		}
		return true
	})
}

func TestPackageDocs(t *testing.T) {
	docs := map[string]string{} // directory to the doc comments of its files
	names := map[string]string{}
	for _, f := range sourceFiles(t) {
		if f.test {
			continue
		}
		names[f.dir()] = f.ast.Name.Name
		if f.ast.Doc != nil {
			docs[f.dir()] += f.ast.Doc.Text()
		}
	}
	for dir, name := range names {
		start := "Package " + name + " "
		if name == "main" {
			start = "Command " + filepath.Base(dir) + " "
		}
		switch doc := docs[dir]; {
		case doc == "":
			t.Errorf("%s has no package doc: say what it does, what it does not, and who may call it", dir)
		case !strings.HasPrefix(doc, start):
			t.Errorf("%s: the package doc begins %.40q, not %q", dir, doc, start)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if n := f.set.File(f.ast.Pos()).LineCount(); n > maxLines {
			t.Errorf("%s has %d lines; beyond %d there is a second idea in it", f.path, n, maxLines)
		}
	}
}

// Tests neither sleep nor skip: a sleep is a race or a waste, and a skipped test
// is one that nobody runs. What needs more than Go and git has the build tag
// external, where a missing program is a failure (see package external). A file
// that uses testing/synctest sleeps by its fake clock, which costs nothing.
func TestTestsNeitherSleepNorSkip(t *testing.T) {
	used := make([]bool, len(skippers))
	for _, f := range sourceFiles(t) {
		if !f.test {
			continue
		}
		f.uses("time", []string{"Sleep"}, func(at, name string) {
			if f.localName("testing/synctest") == "" {
				t.Errorf("%s: %s; use testing/synctest or a channel", at, name)
			}
		})
		f.skips(func(at, name string) {
			if !excepted(skippers, used, f.dir(), name) {
				t.Errorf("%s: %s; give the file the build tag external and fail", at, name)
			}
		})
	}
	reportUnused(t, skippers, used)
}

// skips reports t.Skip and its like, but not in fuzz targets, where it passes
// over an input.
func (f *goFile) skips(report func(at, name string)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if fn, ok := n.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Fuzz") {
			return false
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(sel.Sel.Name, "Skip") {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "t" || x.Name == "b" || x.Name == "tb") {
			report(f.at(call), x.Name+"."+sel.Sel.Name)
		}
		return true
	})
}

// Every Go file is text with LF line ends, whatever a checkout does.
func TestLineEnds(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if strings.Contains(readFile(t, f.path), "\r\n") {
			t.Errorf("%s has CRLF line ends", f.path)
		}
	}
}
