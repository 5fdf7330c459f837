package deptest

import (
	"go/ast"
	"testing"
)

// A doc comment is the contract of what it stands on: every exported name has
// one, except in programs, whose packages nobody imports.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !wellKnown[d.Name.Name] {
					t.Errorf("%s: %s has no doc comment", f.at(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, name := range undocumented(d) {
					t.Errorf("%s: %s has no doc comment", f.at(name), name.Name)
				}
			}
		}
	}
}

// wellKnown are methods whose contract is that of the interface they satisfy.
var wellKnown = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "String": true, "Len": true, "Less": true, "Swap": true,
	"Read": true, "Write": true, "Close": true, "MarshalJSON": true, "UnmarshalJSON": true,
	"MarshalText": true, "UnmarshalText": true, "RoundTrip": true, "ServeHTTP": true, "ReadAt": true,
}

// exportedReceiver reports whether d is a function or a method of an exported
// type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.IsExported()
		default:
			return true
		}
	}
}

// undocumented returns the exported names of a declaration that neither stand
// under a comment of their own nor in a commented group.
func undocumented(d *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && d.Doc == nil && s.Comment == nil {
				names = append(names, s.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc == nil && d.Doc == nil && s.Comment == nil {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
