package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path that every package of this repository begins with.
const module = "github.com/skillpm/skillpm"

// root is the repository's directory, seen from this package.
var root = filepath.Join("..", "..")

// goFile is one parsed Go file.
type goFile struct {
	path string // '/'-separated, below the root
	test bool
	ast  *ast.File
	set  *token.FileSet
}

// dir returns the package's directory, "." for the root.
func (f *goFile) dir() string { return path.Dir(f.path) }

// at returns "file:line" of a node.
func (f *goFile) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
}

// source parses every Go file of the repository once, for all platforms and
// build tags, in the order of their paths.
var source = sync.OnceValues(func() ([]*goFile, error) {
	var files []*goFile
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (base[0] == '.' || base[0] == '_' || base == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		tree, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		files = append(files, &goFile{filepath.ToSlash(rel), strings.HasSuffix(base, "_test.go"), tree, set})
		return nil
	})
	return files, err
})

func sourceFiles(t *testing.T) []*goFile {
	t.Helper()
	files, err := source()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found %d Go files under the root; is the root right?", len(files))
	}
	return files
}

// imports returns the import paths of a file.
func (f *goFile) imports() []string {
	var list []string
	for _, spec := range f.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		list = append(list, p)
	}
	return list
}

// localName returns the name under which f uses an imported package, "" if it
// does not import it.
func (f *goFile) localName(importPath string) string {
	for _, spec := range f.ast.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == importPath {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(p)
		}
	}
	return ""
}

// uses calls report for every pkg.Name in f where pkg is importPath and names
// holds Name.
func (f *goFile) uses(importPath string, names []string, report func(at, name string)) {
	local := f.localName(importPath)
	if local == "" {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, sel.Sel.Name) {
			report(f.at(sel), path.Base(importPath)+"."+sel.Sel.Name)
		}
		return true
	})
}

// within reports whether dir is one of the patterns; "x/..." is x and all below.
func within(dir string, patterns ...string) bool {
	for _, p := range patterns {
		base, deep := strings.CutSuffix(p, "/...")
		if dir == base || deep && strings.HasPrefix(dir, base+"/") {
			return true
		}
	}
	return false
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
