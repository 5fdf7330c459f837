package lockfile

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/skill"
)

// graph reads "root: a b", "a: b" and "c> a b" (a chain); entries appear in the
// order of their lines.
func graph(text string) *Lock {
	l := &Lock{Root: Root{Requires: map[string]string{}}, Targets: []string{".agents/skills"}}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		name, kind := fields[0][:len(fields[0])-1], fields[0][len(fields[0])-1]
		if name == "root" {
			for _, key := range fields[1:] {
				l.Root.Requires[key] = "*"
			}
			continue
		}
		e := &Entry{Key: name, Version: "1.0.0", Digest: digestOf(name), Dependencies: fields[1:]}
		if kind == '>' {
			e.Chain = &Chain{Mode: ModeSequential, Steps: fields[1:], Depth: 1, Policy: DefaultPolicy()}
		}
		l.Skills = append(l.Skills, e)
	}
	return l
}

func TestGraph(t *testing.T) {
	tests := []struct{ name, text, open, unreachable, cycle string }{
		{"diamond", "root: a\na: b c\nb: d\nc: d\nd:", "", "", ""},
		{"gap", "root: a x\na: b", " > x, a > b", "", ""},
		{"left over", "root: a\na:\nb: c\nc:", "", "b c", ""},
		{"circle", "root: a\na: b\nb: c\nc: b", "", "", "b c b"},
		{"circle through a chain", "root: a\na> b\nb: a", "", "", "a b a"},
		{"on itself", "root: a\na: a", "", "", "a a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := graph(tt.text)
			var gaps []string
			for _, e := range l.Open() {
				gaps = append(gaps, e.From+" > "+e.To)
			}
			got := []string{strings.Join(gaps, ", "), strings.Join(l.Unreachable(), " "), strings.Join(l.Cycle(), " ")}
			if diff := cmp.Diff([]string{tt.open, tt.unreachable, tt.cycle}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEdges(t *testing.T) {
	l := fullLock()
	var got []string
	for _, e := range l.Edges() {
		got = append(got, fmt.Sprintf("%s>%s %s %v", e.From, e.To, e.Requirement, e.Chain))
	}
	want := []string{
		">house * path:skills/house false",
		">release ^1.0 github.com/acme/skills//skills/release false",
		">zeta github.com/acme/zeta// ref:main false",
		"deploy>site * false", "deploy>vault 1.0.0 sha256:" + hex64 + " false",
		"house>site ^3 index:https://skills.example false",
		"release>deploy * true", "release>zeta * true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	parents := []Parent{{"site", digestOf("site")}, {"vault", digestOf("vault")}}
	if diff := cmp.Diff(parents, l.Parents("deploy")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"deploy", "house"}, l.Dependents("site")); diff != "" {
		t.Error(diff)
	}
}

func TestPlan(t *testing.T) {
	l := graph("root: all\nall> test ship test\nship> build push\ntest:\nbuild:\npush:")
	p, err := l.Plan("all")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"test", "ship", "build", "push", "test"}, p.Flat); diff != "" {
		t.Error(diff)
	}
	if p.Depth != 2 || p.Mode != ModeSequential || len(p.Steps) != 3 || p.Steps[1].Steps[0].Path != ".agents/skills/build" {
		t.Errorf("%+v", p)
	}
	for _, tt := range []struct{ name, text, code string }{
		{"no chain", "root: a\na:", "skill_not_found"},
		{"no entry", "root: b\nb:", "skill_not_found"},
		{"step missing", "root: a\na> b", "subskill_unresolved"},
		{"circle", "root: a\na> b\nb> a", "subskill_cycle_detected"},
		{"too deep", "root: a\na> b\n" + deepChain(12), "chain_depth_exceeded"},
		{"too many", "root: a\na> b b b b\nb> c c c c\nc> d d d d\nd> e e e e\ne> f f f f\nf> g g g g\ng> h h h h\nh:", "chain_depth_exceeded"},
	} {
		if _, err := graph(tt.text).Plan("a"); skill.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
		}
	}
}

func deepChain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%c> %c\n", 'b'+i, 'c'+i)
	}
	return b.String()
}

func TestSort(t *testing.T) {
	l := graph("b:\na:\nd:\nc:")
	order := []string{"d", "nosuch", "b"}
	data := l.Bytes()
	l.Sort(order)
	if got := strings.Join(l.Order(), " "); got != "d b a c" {
		t.Errorf("order %s", got)
	}
	if !bytes.Equal(l.Bytes(), data) {
		t.Error("the order for people shows in the file")
	}
	l.Sort(nil)
	if got := strings.Join(l.Order(), " "); got != "a b c d" {
		t.Errorf("order without manifest %s", got)
	}
}

func TestList(t *testing.T) {
	list := fullLock().List()
	var got []string
	for _, item := range list {
		got = append(got, fmt.Sprintf("%s %s %s %q %v", item.Key, item.Name, item.Path, item.Signer, item.Prompt))
	}
	want := []string{
		`deploy deploy .agents/skills/deploy "https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/v2.1.0 (https://token.actions.githubusercontent.com)" true`,
		`house house .agents/skills/house "" true`,
		`release release .agents/skills/release "" true`,
		`site site .agents/skills/site "key sha256:8254c329a928" true`,
		`vault secret-vault .agents/skills/vault "" true`,
		`zeta zeta .agents/skills/zeta "CN=Acme Skills (CN=Acme CA)" true`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Runtimes import this package, so it must stay light.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		switch {
		case strings.HasPrefix(path, "golang.org/x/text/"):
		case path == "github.com/skillpm/skillpm/skill", path == "github.com/skillpm/skillpm/lockfile":
		default:
			t.Errorf("lockfile depends on %s; only the standard library, x/text and package skill are allowed", path)
		}
	}
}
