//go:build ignore

// Command roots prints a main package that refers to every exported function and
// method of the packages in its arguments, directories of this repository. What
// such a package offers is reached, whoever calls it; see .ci/run, dead.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path"
	"strings"
)

const module = "github.com/skillpm/skillpm/"

func main() {
	fmt.Println("package main")
	for i, dir := range os.Args[1:] {
		fmt.Printf("\nimport p%d %q\n", i, module+dir)
	}
	fmt.Println("\nvar roots = []any{")
	for i, dir := range os.Args[1:] {
		for _, name := range exported(dir, fmt.Sprintf("p%d.", i)) {
			fmt.Printf("\t%s,\n", name)
		}
	}
	fmt.Println("}\n\nfunc main() { _ = roots }")
}

// exported returns an expression for each function and method, such as p.New and
// (*p.Dir).Close.
func exported(dir, qualifier string) []string {
	set := token.NewFileSet()
	plain := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(set, dir, plain, 0)
	if err != nil {
		log.Fatal(err)
	}
	var names []string
	for _, f := range packages[path.Base(dir)].Files {
		for _, decl := range f.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || !d.Name.IsExported() || d.Type.TypeParams != nil {
				continue
			}
			if d.Recv == nil {
				names = append(names, qualifier+d.Name.Name)
			} else if id, ok := receiver(d).(*ast.Ident); ok && id.IsExported() {
				names = append(names, "(*"+qualifier+id.Name+")."+d.Name.Name)
			}
		}
	}
	if len(names) == 0 {
		log.Fatalf("%s exports nothing", dir)
	}
	return names
}

func receiver(d *ast.FuncDecl) ast.Expr {
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	return x
}
