package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// world names what of the standard library reaches beyond the process, by kind:
// import path, and the names that do; "*" is every name. What writes files has a
// rule of its own, TestOnlyFsxWrites.
var world = map[string]map[string][]string{
	"network": {
		"net/http": {"Get", "Head", "Post", "PostForm", "Client", "DefaultClient", "Transport", "DefaultTransport",
			"ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS", "Server"},
		"net": {"Dial", "DialTimeout", "DialIP", "DialTCP", "DialUDP", "DialUnix", "Dialer", "Listen", "ListenIP", "ListenTCP",
			"ListenUDP", "ListenUnix", "ListenUnixgram", "ListenPacket", "ListenConfig", "ListenMulticastUDP", "FileConn",
			"FileListener", "Resolver", "DefaultResolver", "LookupAddr", "LookupCNAME", "LookupHost", "LookupIP", "LookupMX",
			"LookupNS", "LookupPort", "LookupSRV", "LookupTXT", "ResolveIPAddr", "ResolveTCPAddr", "ResolveUDPAddr",
			"Interfaces", "InterfaceAddrs"},
		"crypto/tls": {"Dial", "DialWithDialer", "Dialer", "Listen"},
		"net/rpc":    {"*"}, "net/smtp": {"*"}, "net/http/httputil": {"*"}, "net/http/httptest": {"*"}, "log/syslog": {"*"},
	},
	"disk": {
		"os": {"ReadFile", "Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadDir", "Stat", "Lstat", "Readlink", "DirFS",
			"Getwd", "Chdir", "TempDir", "NewFile", "Pipe"},
		"path/filepath": {"Walk", "WalkDir", "Glob", "EvalSymlinks", "Abs"},
		"io/ioutil":     {"*"},
	},
	"environment": {
		"os": {"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv", "UserHomeDir", "UserConfigDir",
			"UserCacheDir", "Hostname", "Args", "Executable"},
		"os/user":  {"*"},
		"net/http": {"ProxyFromEnvironment"},
	},
	"clock": {
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	},
	"random": {
		"crypto/rand": {"*"}, "math/rand": {"*"}, "math/rand/v2": {"*"}, "hash/maphash": {"*"},
	},
	"programs": {
		"os/exec": {"*"}, "os": {"StartProcess", "FindProcess"}, "syscall": {"Exec", "ForkExec", "StartProcess", "Kill"}, "plugin": {"*"},
	},
}

// grant lets one package use one kind of the world.
type grant struct{ dir, kind, why string }

// reached calls report for every name in f that reaches the world. An import
// under a dot counts as a use of everything.
func (f *goFile) reached(report func(kind, at, name string)) {
	for kind, packages := range world {
		for importPath, names := range packages {
			local := f.localName(importPath)
			switch {
			case local == "" || local == "_":
				continue
			case local == ".":
				report(kind, f.path, importPath)
				continue
			case strings.HasPrefix(path.Base(importPath), "v") && local == "v2":
				local = "rand"
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && (names[0] == "*" || slices.Contains(names, sel.Sel.Name)) {
					report(kind, f.at(sel), path.Base(importPath)+"."+sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// A package reaches no more of the world than it is granted, and no grant
// outlives its use.
func TestReachOfPackages(t *testing.T) {
	used := map[grant]bool{}
	for _, f := range sourceFiles(t) {
		if f.test || within(f.dir(), testPackages...) || within(f.dir(), "examples/...") {
			continue
		}
		f.reached(func(kind, at, name string) {
			for _, g := range grants {
				if g.kind == kind && within(f.dir(), g.dir) {
					used[g] = true
					return
				}
			}
			t.Errorf("%s: %s; %s may not reach this (%s): take it from the caller, or grant it in internal/deptest with the reason", at, name, f.dir(), kind)
		})
	}
	for _, g := range grants {
		if !used[g] {
			t.Errorf("%s is granted %s and does not use it; remove the grant", g.dir, g.kind)
		}
		if world[g.kind] == nil || g.why == "" {
			t.Errorf("%+v: no such kind, or no reason", g)
		}
	}
}

func TestReached(t *testing.T) {
	f := parsed(t, "resolver/x.go", `package resolver

import (
	"net/http"
	files "os"
	"time"
	"math/rand/v2"
	. "os/exec"
)

func f() {
	http.Get("x")
	files.ReadFile("x")
	files.IsNotExist(nil)
	time.Now()
	_ = time.Second
	rand.Int()
}
`)
	var got []string
	f.reached(func(kind, at, name string) { got = append(got, kind+" "+at+" "+name) })
	slices.Sort(got)
	want := []string{
		"clock resolver/x.go:15 time.Now", "disk resolver/x.go:13 os.ReadFile", "network resolver/x.go:12 http.Get",
		"programs resolver/x.go os/exec", "random resolver/x.go:17 v2.Int",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, dir := range []string{"resolver", "skill", "skill/derive", "lockfile", "internal/manifest", "internal/diag"} {
		for _, g := range grants {
			if g.dir == dir && g.kind != "disk" {
				t.Errorf("%s is granted %s, and was to be pure", dir, g.kind)
			}
		}
	}
}

// parsed returns a file of the given text.
func parsed(t *testing.T, name, text string) *goFile {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return &goFile{path: name, ast: tree, set: set}
}

// What is compared with == is found no more once somebody wraps it: an error is
// asked with errors.Is, and for its type with errors.AsType.
func TestErrorsAreAsked(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if comparers[f.path] != "" {
			continue
		}
		f.comparedErrors(func(at, what string) {
			t.Errorf("%s: %s; use errors.Is, errors.AsType or errors.As", at, what)
		})
	}
	for name := range comparers {
		found := false
		for _, f := range sourceFiles(t) {
			if f.path == name {
				f.comparedErrors(func(string, string) { found = true })
			}
		}
		if !found {
			t.Errorf("%s compares no error any more; take it out", name)
		}
	}
}

// comparedErrors reports comparisons of an error with anything but nil, and
// assertions of its type. Types are not known here: a name tells. The method Is
// of an error has to compare, and is left alone.
func (f *goFile) comparedErrors(report func(at, what string)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return n.Recv == nil || n.Name.Name != "Is"
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && !isNil(n.X) && !isNil(n.Y) && (sentinel(n.X) || sentinel(n.Y)) {
				report(f.at(n), n.Op.String()+" between errors")
			}
		case *ast.TypeAssertExpr:
			if isErr(n.X) {
				report(f.at(n), "the type of an error is asserted")
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && isErr(n.Tag) {
				report(f.at(n), "switch on an error")
			}
		}
		return true
	})
}

// sentinel reports whether x is a well-known error, such as io.EOF, ErrGone,
// errGone and context.Canceled.
func sentinel(x ast.Expr) bool {
	name := ""
	switch x := x.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		if _, ok := x.X.(*ast.Ident); !ok {
			return false
		}
		name = x.Sel.Name
	}
	if slices.Contains([]string{"EOF", "Canceled", "DeadlineExceeded", "SkipDir", "SkipAll"}, name) {
		return true
	}
	rest, ok := strings.CutPrefix(strings.ToLower(name[:min(3, len(name))])+name[min(3, len(name)):], "err")
	return ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z'
}

func isNil(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "nil"
}

// isErr reports whether x is named like a variable that holds an error.
func isErr(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && (id.Name == "err" || strings.HasSuffix(id.Name, "Err") || id.Name == "cause")
}

func TestComparedErrors(t *testing.T) {
	f := parsed(t, "x/x.go", `package x

func f(err error) {
	_ = err == io.EOF
	_ = context.Canceled != err
	_ = err == nil && errGone == nil
	_ = errors.Is(err, io.EOF)
	_ = err == errGone
	_ = err.(*fs.PathError)
	switch err.(type) {
	}
	switch err {
	case io.EOF:
	}
	_ = errors == 2
}

func (e *E) Is(target error) bool { return target == ErrE }
`)
	var got []string
	f.comparedErrors(func(at, _ string) { got = append(got, strings.TrimPrefix(at, "x/x.go:")) })
	if want := []string{"4", "5", "8", "9", "10", "12"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
}

// A package keeps within the default or within a ceiling of its own, which is
// lowered whenever what it bounds has shrunk by a tenth.
type ceiling struct {
	measure  string
	normal   int
	above    map[string]int
	measured func(files []*goFile) int
	why      string
}

func TestCeilings(t *testing.T) {
	packages := map[string][]*goFile{}
	for _, f := range sourceFiles(t) {
		if !f.test {
			packages[f.dir()] = append(packages[f.dir()], f)
		}
	}
	for _, c := range ceilings {
		for dir := range c.above {
			if packages[dir] == nil {
				t.Errorf("a ceiling of %s is about %s, which is no package", c.measure, dir)
			}
		}
		for _, dir := range slices.Sorted(maps.Keys(packages)) {
			n := c.measured(packages[dir])
			limit, own := c.above[dir]
			switch {
			case !own && n > c.normal:
				t.Errorf("%s: %s %d, the ceiling is %d: %s", dir, c.measure, n, c.normal, c.why)
			case own && n > limit:
				t.Errorf("%s: %s %d, its ceiling is %d and may only be lowered: %s", dir, c.measure, n, limit, c.why)
			case own && n <= c.normal:
				t.Errorf("%s: %s %d, no more than others have; remove its own ceiling of %d", dir, c.measure, n, limit)
			case own && n*10 < limit*9:
				t.Errorf("%s: %s %d; lower its ceiling of %d to that", dir, c.measure, n, limit)
			}
		}
	}
}

func lines(files []*goFile) (n int) {
	for _, f := range files {
		n += f.set.File(f.ast.Pos()).LineCount()
	}
	return n
}

// exportedNames counts functions, types, variables and constants; the methods
// of a type belong to it.
func exportedNames(files []*goFile) (n int) {
	for _, f := range files {
		for name := range f.declared() {
			if ast.IsExported(name) {
				n++
			}
		}
	}
	return n
}

// declared returns the names that a file declares for its package, methods left
// out.
func (f *goFile) declared() map[string]bool {
	names := map[string]bool{}
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, id := range s.Names {
						names[id.Name] = true
					}
				}
			}
		}
	}
	return names
}

// largestCycle returns the number of files in the largest group of which each
// needs each other: it uses a name, or a private method, that another declares.
// A name that is declared for several platforms is taken for none of them, and
// one that a function uses for something of its own counts all the same: the
// number is for comparing with itself.
func largestCycle(files []*goFile) int {
	owner := map[string]int{}
	add := func(name string, i int) {
		if before, ok := owner[name]; ok && before != i {
			i = -1
		}
		owner[name] = i
	}
	for i, f := range files {
		for name := range f.declared() {
			add(name, i)
		}
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv != nil && !d.Name.IsExported() {
				add("."+d.Name.Name, i)
			}
		}
	}
	needs := make([]map[int]bool, len(files))
	for i, f := range files {
		needs[i] = map[int]bool{}
		need := func(name string) {
			if j, ok := owner[name]; ok && j >= 0 && j != i {
				needs[i][j] = true
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				need("." + n.Sel.Name)
				ast.Inspect(n.X, func(x ast.Node) bool {
					if id, ok := x.(*ast.Ident); ok {
						need(id.Name)
					}
					return true
				})
				return true
			case *ast.KeyValueExpr:
				if _, ok := n.Key.(*ast.Ident); ok { // a field, most often
					ast.Inspect(n.Value, func(x ast.Node) bool {
						if id, ok := x.(*ast.Ident); ok {
							need(id.Name)
						}
						return true
					})
				}
			case *ast.Ident:
				need(n.Name)
			}
			return true
		})
	}
	return largestGroup(needs)
}

// largestGroup returns the size of the largest set of nodes that all reach each
// other, 0 if there is no cycle.
func largestGroup(edges []map[int]bool) int {
	reach := make([]map[int]bool, len(edges))
	for i := range edges {
		seen, queue := map[int]bool{}, []int{i}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for next := range edges[at] {
				if !seen[next] {
					seen[next] = true
					queue = append(queue, next)
				}
			}
		}
		reach[i] = seen
	}
	most := 0
	for i := range reach {
		n := 0
		for j := range reach[i] {
			if reach[j][i] {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestMeasures(t *testing.T) {
	files := []*goFile{
		parsed(t, "x/a.go", "package x\n\nfunc A() { b() }\n"),
		parsed(t, "x/b.go", "package x\n\ntype T int\n\nfunc b() { var t T; t.c() }\n"),
		parsed(t, "x/c.go", "package x\n\nfunc (t T) c() { A() }\n"),
		parsed(t, "x/d.go", "package x\n\nfunc D() { A() }\n"),
	}
	if n := largestCycle(files); n != 3 {
		t.Errorf("a cycle of %d files, want 3", n)
	}
	if n := largestCycle(files[:2]); n != 0 {
		t.Errorf("a cycle of %d files, want none", n)
	}
	if n := exportedNames(files); n != 3 {
		t.Errorf("%d exported names, want 3", n)
	}
	if n := lines(files[:1]); n != 4 && n != 3 {
		t.Errorf("%s lines", strconv.Itoa(n))
	}
}
