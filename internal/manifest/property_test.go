package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skillpm/skillpm/skill"
)

// genManifest draws a manifest in every form a person may choose, and returns
// its text, the lines that no edit of key may touch, and those that its removal
// may not: comments directly above it are its own.
func genManifest(t *rapid.T, key string) (text string, kept, others []string) {
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	var lines []string
	keep := func(line string) {
		lines, kept = append(lines, line), append(kept, line)
	}
	noise := func(label string) {
		for range rapid.IntRange(0, 2).Draw(t, label) {
			keep(rapid.SampledFrom([]string{"", "# a comment", "\t# [skills] is not a header here"}).Draw(t, "noise"))
		}
	}
	noise("top")
	form := rapid.SampledFrom([]string{"none", "header", "dotted", "subtables"}).Draw(t, "form")
	entry := rapid.SampledFrom([]string{"absent", "string", "inline"}).Draw(t, "entry")
	values := map[string]string{"string": `"^1 acme/x" # mine`, "inline": `{ source = "acme/x", version = "^1" }`}
	count := rapid.IntRange(0, 3).Draw(t, "others")
	own := func() {
		others = slices.Clone(kept)
		for len(others) > 0 && strings.HasPrefix(strings.TrimSpace(others[len(others)-1]), "#") {
			others = others[:len(others)-1]
		}
	}
	switch form {
	case "header":
		keep("[skills]")
		for i := range count {
			keep(fmt.Sprintf("other%d   = '*'  # %d", i, i))
			noise("between")
		}
		if entry != "absent" {
			own()
			lines = append(lines, key+" = "+values[entry])
		}
	case "dotted":
		for i := range count {
			keep(fmt.Sprintf("skills.other%d = '*'", i))
		}
		if entry != "absent" {
			own()
			lines = append(lines, "skills."+key+" = "+values[entry])
		}
	case "subtables":
		for i := range count {
			keep(fmt.Sprintf("[skills.other%d]", i))
			keep("source = 'acme/other' # which")
			noise("between")
		}
	}
	if len(lines) == len(kept) {
		others = slices.Clone(kept)
	}
	from := len(kept)
	keep("[install]")
	keep("agents = [ 'codex' ,'claude-code']")
	noise("bottom")
	keep("[trust]")
	keep("[[trust.rules]]")
	keep("match = 'x'")
	text = strings.Join(lines, eol)
	if rapid.Bool().Draw(t, "final line end") {
		text += eol
	}
	if rapid.Bool().Draw(t, "mark") {
		text = "\ufeff" + text
	}
	return text, kept, append(others, kept[from:]...)
}

func genRequirement(t *rapid.T) skill.Requirement {
	text := rapid.SampledFrom([]string{
		"*", "^1.2", ">=1 <2 acme/skills//x", "acme/skills//x ref:main", "./tools/x", "git@git.example:acme/x//y",
		"http://git.example:8080/acme/x", "=1.0.0 sha256:" + strings.Repeat("ab", 32), "file:///srv/git/x//sub",
	}).Draw(t, "requirement")
	return mustRequirement(t, text)
}

// Whatever form a manifest has, an edit says what was asked and every other line
// stays as it was.
func TestEditsKeepTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const key = "target-x"
		text, kept, others := genManifest(t, key)
		r := genRequirement(t)
		changed, err := set(text, key, r)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		mustKeep(t, text, changed, kept)
		m, err := Parse(FileName, changed, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, changed)
		}
		if s := m.Get(key); s == nil || s.Requirement.String() != r.String() {
			t.Fatalf("want %s, got %+v\n%s", r, s, changed)
		}
		removed, found, err := remove(string(changed), key)
		if err != nil || !found {
			t.Fatalf("remove: %v, %v\n%s", found, err, changed)
		}
		mustKeep(t, text, removed, others)
		m, err = Parse(FileName, removed, nil)
		if err != nil || m.Get(key) != nil {
			t.Fatalf("after remove: %v\n%s", err, removed)
		}
	})
}

func mustKeep(t *rapid.T, before string, after []byte, kept []string) {
	t.Helper()
	if strings.HasPrefix(before, "\ufeff") != strings.HasPrefix(string(after), "\ufeff") {
		t.Fatalf("byte order mark lost or made\n%s", after)
	}
	if strings.Contains(before, "\r\n") && strings.Count(string(after), "\n") != strings.Count(string(after), "\r\n") {
		t.Fatalf("line ends mixed: %q", after)
	}
	rest := string(after)
	for _, line := range kept {
		_, tail, ok := strings.Cut(rest, line)
		if !ok {
			t.Fatalf("lost %q of\n%s\nin\n%s", line, before, after)
		}
		rest = tail
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("\ufeffskills = { a = '*' }\r\n[[skills.b]]\n"))
	f.Add([]byte("[skills]\na = \"\\u00e4 ref:~\"\nb.c.d = [[1], {}]\n[a.b]\n[[a.c]]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(FileName, data, nil)
		TrustSection(data)
		if err != nil {
			return
		}
		out, err := set(string(data), "fuzzed-key", skill.Requirement{Range: "^1"})
		if err != nil {
			return // a table that cannot take a key, such as one closed by dotted keys
		}
		again, err := Parse(FileName, out, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, s := range m.Skills {
			if got := again.Get(string(s.Key)); s.Key != "fuzzed-key" && (got == nil || got.Requirement.String() != s.Requirement.String()) {
				t.Fatalf("`%s` changed\n%s", s.Key, out)
			}
		}
	})
}
