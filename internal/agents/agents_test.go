package agents

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ids(list []Agent) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.ID)
	}
	return out
}

func TestTable(t *testing.T) {
	all := All()
	if len(all) != 79 {
		t.Errorf("%d agents", len(all))
	}
	if !slices.IsSorted(ids(all)) {
		t.Error("not sorted by id, which Get relies on")
	}
	for _, a := range all {
		for _, dir := range append([]string{a.ProjectDir}, a.AlsoProject...) {
			if !filepath.IsLocal(dir) || filepath.ToSlash(filepath.Clean(dir)) != dir || strings.ContainsAny(dir, "`\\ ") {
				t.Errorf("%s: project directory %q", a.ID, dir)
			}
		}
		for _, dir := range append([]string{a.UserDir}, a.AlsoUser...) {
			if dir != "" && (!strings.HasPrefix(dir, "~/") || strings.ContainsAny(dir, "`\\ ") || strings.HasSuffix(dir, "/")) {
				t.Errorf("%s: user directory %q", a.ID, dir)
			}
		}
		if a.Name == "" || (a.env == "") != (a.envBase == "") {
			t.Errorf("%s: incomplete: %+v", a.ID, a)
		}
	}
}

func TestUserPath(t *testing.T) {
	home := filepath.Join(string(filepath.Separator), "home", "me")
	env := map[string]string{"CLAUDE_CONFIG_DIR": "/etc/claude", "XDG_CONFIG_HOME": "/cfg", "VIBE_HOME": "relative", "CODEX_HOME": "/codex"}
	tests := []struct{ id, want string }{
		{"claude-code", "/etc/claude/skills"},
		{"goose", "/cfg/goose/skills"},
		{"mistral-vibe", "/home/me/.vibe/skills"}, // a relative override is none
		{"codex", "/home/me/.agents/skills"},      // CODEX_HOME moves only what it stands for
		{"cursor", "/home/me/.cursor/skills"},
		{"eve", ""},
	}
	for _, tt := range tests {
		a, ok := Get(tt.id)
		if !ok {
			t.Fatal(tt.id)
		}
		got, has := a.UserPath(home, func(k string) string { return env[k] })
		if filepath.ToSlash(got) != tt.want || has != (tt.want != "") {
			t.Errorf("%s: %q, want %q", tt.id, got, tt.want)
		}
	}
	if _, ok := Get("nosuch"); ok {
		t.Error("found an agent that is not there")
	}
}

func TestDetect(t *testing.T) {
	none := func(string) string { return "" }
	exists := func(paths ...string) func(string) bool {
		return func(p string) bool { return slices.Contains(paths, filepath.ToSlash(p)) }
	}
	if got := ids(Detect("/p", "/h", none, exists("/p/CLAUDE.md", "/h/.codex", "/p/.cursor"))); !cmp.Equal(got, []string{"claude-code", "cursor"}) {
		t.Errorf("the project's signs win: %v", got)
	}
	if got := ids(Detect("/p", "/h", none, exists("/h/.codex"))); !cmp.Equal(got, []string{"codex"}) {
		t.Errorf("the user's signs: %v", got)
	}
	env := func(k string) string { return map[string]string{"CODEX_HOME": "/x"}[k] }
	if got := ids(Detect("/p", "/h", env, exists("/x"))); !cmp.Equal(got, []string{"codex"}) {
		t.Errorf("a moved home: %v", got)
	}
	if got := Detect("/p", "/h", none, exists()); got != nil {
		t.Errorf("found %v in nothing", ids(got))
	}
}

func TestSimilar(t *testing.T) {
	if got := Similar("claude"); !cmp.Equal(got, []string{"claude-code"}) {
		t.Error(got)
	}
	if got := Similar("Zed"); !slices.Contains(got, "zed") {
		t.Error(got)
	}
}

// Every known loader but chock is an agent of the table, and where the table
// says an agent installs is among the directories it reads.
func TestLoaders(t *testing.T) {
	for _, l := range Loaders() {
		a, ok := Get(l.ID)
		if !ok && l.ID != "chock" {
			t.Errorf("%s is no agent", l.ID)
		}
		var dirs []string
		for _, r := range l.Roots {
			dirs = append(dirs, r.Dir)
		}
		if ok && (!slices.Contains(dirs, a.ProjectDir) || !slices.Contains(dirs, a.UserDir)) {
			t.Errorf("%s reads %v; the table has %s and %s", l.ID, dirs, a.ProjectDir, a.UserDir)
		}
	}
	if l, ok := LoaderOf("cursor"); !ok || l.Rule != Undetermined || len(l.Roots) != 2 {
		t.Errorf("an agent whose precedence nobody read: %+v", l)
	}
	if _, ok := LoaderOf("nosuch"); ok {
		t.Error("found a runtime that is not there")
	}
	claude, _ := LoaderOf("claude-code")
	env := func(k string) string { return map[string]string{"CLAUDE_CONFIG_DIR": "/c"}[k] }
	if got := filepath.ToSlash(claude.UserDir("~/.claude/skills", "/h", env)); got != "/c/skills" {
		t.Errorf("a moved configuration: %s", got)
	}
}
