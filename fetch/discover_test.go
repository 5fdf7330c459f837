package fetch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
)

func describe(d *fetch.Discovery) string {
	var b strings.Builder
	for _, f := range d.Skills {
		fmt.Fprintf(&b, "skill %q %s", f.Path, f.File)
		if f.Excluded != "" {
			fmt.Fprintf(&b, " excluded by %s", f.Excluded)
		}
		if f.Nested {
			fmt.Fprintf(&b, " nested in %q", f.Outer)
		}
		b.WriteString("\n")
	}
	for _, a := range d.Aliases {
		fmt.Fprintf(&b, "alias %s -> %s\n", a.Path, a.Target)
	}
	for _, p := range d.Problems {
		fmt.Fprintf(&b, "problem %s %s\n", p.File, p.Code)
	}
	return b.String()
}

func discover(t *testing.T, content files) *fetch.Discovery {
	t.Helper()
	s, commit := commitOf(t, content)
	d, err := fetch.Discover(t.Context(), s, commit)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiscover(t *testing.T) {
	d := discover(t, files{
		"README.md":                     text("r"),
		"skills/pdf/SKILL.md":           text("p"),
		"skills/pdf/skill.md/x":         text("a directory does not count"),
		"skills/pdf/sub/SKILL.md":       text("n"),
		"skills/low/skill.md":           text("l"),
		"skills/docs/SKILL.md":          text("a skill about docs"),
		"template/SKILL.md":             text("t"),
		"x/tests/fixtures/a/SKILL.md":   text("f"),
		"x/SKILL.ja.md":                 text("no skill"),
		".gemini/skills/one/SKILL.md":   link("../../../skills/pdf/SKILL.md"),
		".gemini/skills/two/SKILL.md":   link("gone"),
		".gemini/skills/three/SKILL.md": link("../../../skills"),
		".codex/skills/pdf":             link("../../skills/pdf"),
		".codex/skills/gone":            link("../../nowhere"),
		".claude/skills":                link("../skills"),
		"plugins/self":                  link(".."),
		"odd/SKILL.md/x":                text("x"),
		"aux/SKILL.md":                  text("x"),
		"m":                             {Mode: "160000", Data: someCommit},
	})
	want := `skill ".gemini/skills/one" SKILL.md
skill "skills/docs" SKILL.md
skill "skills/low" skill.md
skill "skills/pdf" SKILL.md
skill "skills/pdf/sub" SKILL.md nested in "skills/pdf"
skill "template" SKILL.md excluded by template
skill "x/tests/fixtures/a" SKILL.md excluded by tests
alias .codex/skills/pdf -> skills/pdf
problem .gemini/skills/three/SKILL.md skill_file_not_regular
problem .gemini/skills/two/SKILL.md symlink_dangling
problem aux path_unsafe
problem odd/SKILL.md skill_file_not_regular
`
	if diff := cmp.Diff(want, describe(d)); diff != "" {
		t.Error(diff)
	}
	if f, ok := d.At(".codex/skills/pdf"); !ok || f.Path != "skills/pdf" {
		t.Errorf("At an alias: %v", f)
	}
	if n := len(d.Listed()); n != 4 {
		t.Errorf("%d listed", n)
	}
}

func TestDiscoverRootSkillOwnsAll(t *testing.T) {
	d := discover(t, files{"SKILL.md": text("r"), "sub/SKILL.md": text("s")})
	if diff := cmp.Diff("skill \"\" SKILL.md\nskill \"sub\" SKILL.md nested in \"\"\n", describe(d)); diff != "" {
		t.Error(diff)
	}
}

func TestListedShowsWhatThereIs(t *testing.T) {
	d := discover(t, files{"examples/a/SKILL.md": text("a"), "other/a/SKILL.md": text("a"), "third/a/SKILL.md": text("a")})
	if list := d.Listed(); len(list) != 1 || list[0].Path != "other/a" {
		t.Errorf("equal directories: %v", list)
	}
	d = discover(t, files{"examples/a/SKILL.md": text("a")})
	if list := d.Listed(); len(list) != 1 {
		t.Errorf("nothing but examples: %v", list)
	}
}

func TestSibling(t *testing.T) {
	d := discover(t, files{
		"skills/a/SKILL.md":        text("a"),
		"skills/b/SKILL.md":        text("b"),
		"skills/deep/c/SKILL.md":   text("c"),
		"skills/x/d/SKILL.md":      text("d1"),
		"skills/y/d/SKILL.md":      text("d2"),
		"skills/x/e/SKILL.md":      text("e"),
		"skills/y/e/SKILL.md":      text("e"),
		"skills/tests/f/SKILL.md":  text("f"),
		"other/b/SKILL.md":         text("other b"),
		"other/g/SKILL.md":         text("g"),
		"skills/linked":            link("../other/g"),
		"skills/tests/c/SKILL.md":  text("an old c"),
		"skills/deep/z/c/x/readme": text("no skill"),
	})
	for _, tt := range []struct{ parent, name, want string }{
		{"skills/a", "b", "skills/b"},
		{"skills/a", "c", "skills/deep/c"},
		{"skills/a", "d", "ambiguous_skill"},
		{"skills/a", "e", "skills/x/e"},
		{"skills/a", "f", "skills/tests/f"},
		{"skills/a", "g", "skill_not_found"},
		{"skills/a", "linked", "other/g"},
		{"", "b", "ambiguous_skill"},
		{"", "g", "other/g"},
		{"top", "g", "other/g"},
	} {
		f, err := d.Sibling(tt.parent, tt.name)
		got := f.Path
		if err != nil {
			got = string(diag.CodeOf(err))
		}
		if got != tt.want {
			t.Errorf("Sibling(%q, %q) = %s, want %s", tt.parent, tt.name, got, tt.want)
		}
	}
	for parent, want := range map[string]string{"skills/a": "no skill `nobody` under skills", "top": "no skill `nobody` under the repository"} {
		if _, err := d.Sibling(parent, "nobody"); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestDiscoverStopsAtTreesThatUnfold(t *testing.T) {
	repo, err := testkit.NewRepo(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repo.Files(files{"SKILL.md": text("a")})
	for range 40 {
		if err != nil {
			t.Fatal(err)
		}
		tree, err = repo.Tree(testkit.Entry{Mode: "40000", Name: "a", ID: tree}, testkit.Entry{Mode: "40000", Name: "b", ID: tree})
	}
	s, commit := commitTree(t, repo, tree)
	if _, err := fetch.Discover(t.Context(), s, commit); diag.CodeOf(err) != diag.FetchTooLarge {
		t.Errorf("%v, want fetch_too_large", err)
	}
}
