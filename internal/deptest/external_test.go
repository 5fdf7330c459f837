package deptest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// external reports whether a file is compiled with -tags external alone.
func (f *goFile) external() bool {
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if c.Pos() < f.ast.Package && c.Text == "//go:build external" {
				return true
			}
		}
	}
	return false
}

// needsPrograms reports what in a test file starts a program that a machine with
// Go and git may lack.
func (f *goFile) needsPrograms(report func(at, name string)) {
	f.uses(module+"/internal/testkit", []string{"ServeSSH"}, report)
	f.uses(module+"/internal/testkit/registrykit", []string{"Start"}, report)
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || !strings.HasPrefix(sel.Sel.Name, "Command") {
			return true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && foreign.MatchString(strings.Trim(lit.Value, "`\"")) {
				report(f.at(lit), lit.Value)
			}
		}
		return true
	})
}

var (
	foreign     = regexp.MustCompile(`^(python3?|node|ssh|sshd|docker-registry|jq|perl)$`)
	foreignLine = regexp.MustCompile(`(?m)^(\[[^\]]*\] )*(sshserve|registry|(!|\?|status \d+)? ?(exec )?(python3?|node|ssh|jq|perl) ).*$`)
)

// README's test command needs Go and git, nothing else: what needs another
// program has the build tag external, or is a script in testdata/external.
func TestPlainTestsNeedGoAndGit(t *testing.T) {
	tagged := 0
	for _, f := range sourceFiles(t) {
		if f.external() {
			tagged++
		} else if f.test {
			f.needsPrograms(func(at, name string) {
				t.Errorf("%s: %s; move it into a file with //go:build external", at, name)
			})
		}
	}
	if tagged < 3 {
		t.Errorf("%d files have the build tag external; has it another name?", tagged)
	}
	scripts, err := filepath.Glob(filepath.Join(root, "cmd", "skillpm", "testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, name := range scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if line := foreignLine.FindString(string(data)); line != "" {
			t.Errorf("%s: %s; move it to testdata/external", filepath.Base(name), line)
		}
	}
}

func TestForeignLine(t *testing.T) {
	for line, want := range map[string]bool{
		"sshserve": true, "registry -delete": true, "exec python3 x.py": true, "! exec node x": true, "status 1 ssh host": true,
		"gitserve": false, "exec skillpm add x": false, "# registry": false, "exec sh node": false,
	} {
		if got := foreignLine.MatchString(line); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}
