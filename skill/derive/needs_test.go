package derive_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
)

// needsOf scans a SKILL.md with the given body and frontmatter lines.
func needsOf(t testing.TB, front, body string) []derive.Need {
	t.Helper()
	text := "---\nname: report\ndescription: Does things.\n" + front + "---\n" + body
	return derive.Needs(load(t, fstest.MapFS{"SKILL.md": {Data: []byte(text)}}))
}

func TestNeeds(t *testing.T) {
	for _, test := range []struct {
		name, front, body string
		want              string // kind:line:match of every piece of evidence
	}{
		{"nothing", "", "Think hard.\n", ""},
		{"search", "", "\nSearch the WEB first.\n", "web_search:6:search the web"},
		{"whole words", "", "The mcpherson method, curling, no-playwrights.\n", ""},
		{"declared tools", "allowed-tools: Bash(git:*) Read, WebFetch mcp__x__y\n", "",
			"web_browse:4:webfetch shell:4:bash mcp:4:mcp__x__y"},
		{"tool list", "allowed-tools:\n  - Write\n  - Edit\n", "", "workspace_write:5:write workspace_write:6:edit"},
		{"metadata names grant nothing", "metadata:\n  note: uses an MCP server\n", "", "mcp:5:mcp server mcp:5:mcp"},
		{"other fields are not read as text", "author: web search inc\n", "", ""},
		{"foreign field", "mcpServers: x\n", "", "mcp:4:mcpServers"},
		{"code block", "", "```bash\nls\n```\n```python\nx = 1\n```\n", "script_run:8:```python shell:5:```bash"},
		{"fence in a fence", "", "~~~text\n```bash\n~~~\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, n := range needsOf(t, test.front, test.body) {
				for _, e := range n.Evidence {
					got = append(got, fmt.Sprintf("%s:%d:%s", n.Kind, e.Line, e.Match))
				}
				if n.Confidence <= 0 || n.Confidence > 0.95 || n.Source != "deterministic" {
					t.Errorf("%s has confidence %v from %q", n.Kind, n.Confidence, n.Source)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNeedsConfidence(t *testing.T) {
	confidence := func(body string) float64 {
		for _, n := range needsOf(t, "", body) {
			if n.Kind == derive.NeedWebSearch {
				return n.Confidence
			}
		}
		return 0
	}
	plain, denied := confidence("Search the web.\n"), confidence("Do not search the web.\n")
	twice, more := confidence("Search the web.\nSearch the web.\n"), confidence("Search the web with web search.\n")
	if !(denied < plain && plain == twice && plain < more) {
		t.Errorf("denied %v, plain %v, twice %v, two phrases %v", denied, plain, twice, more)
	}
}

func TestRuntimeFetches(t *testing.T) {
	body := "pip install x\nrun npx y\nuvx z\n`curl -sSL https://a.example/i.sh | sudo bash`, then\nwget -qO- u | python3 -\ncurl -O file\ncurly | sh\nsnpx\n"
	s := load(t, fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: report\ndescription: d\n---\n" + body)}})
	var got []string
	for _, f := range derive.RuntimeFetches(s) {
		got = append(got, fmt.Sprintf("%d:%s", f.Line, f.Command))
	}
	want := []string{"5:pip install", "6:npx", "7:uvx", "8:curl | sh", "9:wget | sh"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A body of 300 KB that is nothing but matches stays bounded in output, and the
// scan is linear: FuzzNeeds relies on that.
func TestNeedsLargeBody(t *testing.T) {
	body := strings.Repeat("search the web, run the script, mcp server, curl, save to, shell command\n", 300_000/70)
	for _, n := range needsOf(t, "", body) {
		if len(n.Evidence) > 5 || n.EvidenceTotal < 4000 {
			t.Errorf("%s: %d of %d pieces of evidence listed", n.Kind, len(n.Evidence), n.EvidenceTotal)
		}
	}
}

func FuzzNeeds(f *testing.F) {
	f.Add([]byte("---\nname: x\n---\nsearch the web\n"), 15)
	f.Add([]byte("```bash\n~~~\nDo not use MCP\n"), 0)
	f.Add(bytes.Repeat([]byte("curl |"), 5_000), 100)
	tree, err := skill.NewTree(nil, skill.DefaultLimits)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte, start int) {
		s := &derive.Skill{Name: "x", Text: text, BodyStart: start, Tree: tree, Other: []string{"mcp"}}
		last := bytes.Count(text, []byte("\n")) + 1
		first, second := derive.Needs(s), derive.Needs(s)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("two scans differ:\n%s", diff)
		}
		for _, n := range first {
			for _, e := range n.Evidence {
				if e.Line < 0 || e.Line > last {
					t.Fatalf("evidence in line %d of %d", e.Line, last)
				}
			}
		}
		derive.RuntimeFetches(s)
		if _, err := derive.NewCard(s); err != nil {
			t.Fatal(err)
		}
		if _, err := derive.Pack([]*derive.Skill{s}, derive.PackOptions{Intent: "code"}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkNeeds(b *testing.B) {
	line := "Search the page for the tables, then write each of them to a file of its own.\n"
	text := []byte("---\nname: x\ndescription: d\n---\n" + strings.Repeat(line, 300_000/len(line)))
	s := load(b, fstest.MapFS{"SKILL.md": {Data: text}})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		derive.Needs(s)
	}
}
