package deptest

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rules' own machinery finds what it is there to find.
func TestReach(t *testing.T) {
	g := map[string][]string{
		"install": {"cache", "os"}, "cache": {"skill", "fetch/git"}, "fetch/git": {"fetch"}, "fetch": {"cache"},
	}
	for _, test := range []struct{ from, to, want string }{
		{"install", "fetch/...", "install > cache > fetch/git"},
		{"install", "fetch", "install > cache > fetch/git > fetch"},
		{"skill", "fetch/...", ""},
		{"install", "fetchers", ""},
	} {
		if got := strings.Join(reach(g, test.from, []string{test.to}), " > "); got != test.want {
			t.Errorf("reach(%s, %s) = %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

const writer = `package x

import (
	"fmt"
	files "os"
	"example.com/other"
)

func f(dir string) {
	fmt.Println(dir)
	files.WriteFile(dir, nil, 0)
	root, _ := files.OpenRoot(dir)
	root.MkdirAll(dir, 0)
	root.Open(dir)
	other.Rename(dir)
	root.FS().(interface{ Remove(string) }).Remove(dir)
}
`

func TestFinders(t *testing.T) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "x.go", writer, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := &goFile{path: "x.go", ast: tree, set: set}
	var got []string
	report := func(at, name string) { got = append(got, at+" "+name) }
	f.uses("os", writes, report)
	f.rootWrites(report)
	f.uses("fmt", []string{"Println"}, report)
	want := []string{"x.go:11 os.WriteFile", "x.go:13 os.Root.MkdirAll", "x.go:16 os.Root.Remove", "x.go:10 fmt.Println"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const dialer = `package x

import (
	"net"
	web "net/http"
)

var bare web.Client

func f() {
	net.Dial("tcp", "")
	_ = &web.Client{Timeout: 1}
	_ = &web.Client{Transport: nil}
	_ = new(web.Client)
	_ = web.Client{}
}
`

func TestDialFinder(t *testing.T) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "x.go", dialer, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := &goFile{path: "x.go", ast: tree, set: set}
	var got []string
	report := func(at, name string) { got = append(got, at+" "+name) }
	f.uses("net", dialers["net"], report)
	f.clients(report)
	const client = " http.Client without Transport"
	want := []string{"x.go:11 net.Dial", "x.go:8" + client, "x.go:12" + client, "x.go:14" + client, "x.go:15" + client}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
