package deptest

import (
	"go/ast"
	"testing"
)

// dialers are what connects to another host, or makes what does.
var dialers = map[string][]string{
	"net":                     {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "DialIP", "Dialer"},
	"net/http":                {"Transport", "DefaultTransport", "DefaultClient", "Get", "Head", "Post", "PostForm"},
	"net/rpc":                 {"Dial", "DialHTTP", "DialHTTPPath"},
	"net/smtp":                {"Dial", "SendMail"},
	"crypto/tls":              {"Dial", "DialWithDialer", "Dialer"},
	"golang.org/x/crypto/ssh": {"Dial"},
}

// One package decides which addresses may be connected to. A second would decide
// otherwise somewhere, and be the way into the user's own network.
func TestOnlyWebDials(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if f.test || within(f.dir(), "fetch/internal/web") || within(f.dir(), testPackages...) || within(f.dir(), "examples/...") {
			continue
		}
		report := func(at, name string) {
			t.Errorf("%s: %s; only fetch/internal/web dials, which refuses addresses that the user did not name", at, name)
		}
		for pkg, names := range dialers {
			f.uses(pkg, names, report)
		}
		f.clients(report)
	}
}

// clients reports every http.Client that is made without a transport, which is
// one with the standard library's own.
func (f *goFile) clients(report func(at, name string)) {
	local := f.localName("net/http")
	isClient := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Client" {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && local != "" && x.Name == local
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isClient(n.Type) && !hasKey(n, "Transport") {
				report(f.at(n), "http.Client without Transport")
			}
		case *ast.ValueSpec:
			if isClient(n.Type) && len(n.Values) == 0 {
				report(f.at(n), "http.Client without Transport")
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "new" && len(n.Args) == 1 && isClient(n.Args[0]) {
				report(f.at(n), "http.Client without Transport")
			}
		}
		return true
	})
}

func hasKey(lit *ast.CompositeLit, name string) bool {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return true
			}
		}
	}
	return false
}
