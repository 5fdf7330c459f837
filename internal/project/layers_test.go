package project_test

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/workspace"

	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
)

// seen lists what Layers found as "layer state name code", in its order.
func seen(t *testing.T, opt workspace.Options, lo views.LayersOptions) []string {
	t.Helper()
	r, err := views.Layers(t.Context(), open(t, opt).Project, lo)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range r.Layers {
		for _, s := range d.Skills {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", d.Layer, s.State, s.Name, s.Code)))
		}
	}
	return out
}

func skillText(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\nBody.\n"
}

// Each runtime's own rule, over the same directories.
func TestLayersByRuntime(t *testing.T) {
	opt := installed(t, 1)
	name := "skill-0000"
	write(t, filepath.Join(opt.Home, ".claude", "skills", name, "SKILL.md"), skillText(name, "The person's."))
	write(t, filepath.Join(opt.Home, ".agents", "skills", name, "SKILL.md"), skillText(name, "The person's."))
	if err := os.MkdirAll(filepath.Join(opt.Dir, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../.agents/skills", filepath.Join(opt.Dir, ".claude", "skills")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		runtime string
		want    []string
	}{
		{"claude-code", []string{"operator found skill-0000", "project shadowed skill-0000"}},
		{"gemini-cli", []string{"project found skill-0000", "operator shadowed skill-0000"}},
		{"codex", []string{"project found skill-0000", "operator found skill-0000"}},
		{"goose", []string{"project found skill-0000", "project same skill-0000", "operator shadowed skill-0000"}},
		{"opencode", []string{"project unclear skill-0000", "project same skill-0000", "operator unclear skill-0000", "operator unclear skill-0000"}},
		{"cline", []string{"project unclear skill-0000", "operator unclear skill-0000"}}, // nobody read its rule
		{"", []string{"operator found skill-0000", "operator found skill-0000", "project found skill-0000", "project same skill-0000"}},
	} {
		t.Run(tt.runtime, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, seen(t, opt, views.LayersOptions{Runtime: tt.runtime})); diff != "" {
				t.Error(diff)
			}
		})
	}
	r, err := views.Layers(t.Context(), open(t, opt).Project, views.LayersOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Conflicts) != 1 || !r.Conflicts[0].Disputed() || len(r.Conflicts[0].Places) != 3 || len(r.Conflicts[0].Runtimes) != 5 {
		t.Errorf("conflicts %+v", r.Conflicts)
	}
}

// What is no skill is refused by name, and nothing waits or loops.
func TestLayersRefuse(t *testing.T) {
	opt := installed(t, 1)
	target := filepath.Join(opt.Dir, ".agents", "skills")
	write(t, filepath.Join(target, "broken", "SKILL.md"), "no frontmatter")
	write(t, filepath.Join(target, "huge", "SKILL.md"), "---\n"+strings.Repeat("x: y\n", 1<<20))
	write(t, filepath.Join(target, "lower", "skill.md"), skillText("lower", "Spelt small."))
	write(t, filepath.Join(target, "no-skill", "README.md"), "nothing")
	write(t, filepath.Join(target, ".hidden", "SKILL.md"), skillText("hidden", "Not seen."))
	for link, to := range map[string]string{"loop": "loop", "gone": "../nowhere", "out": opt.Home} {
		if err := os.Symlink(to, filepath.Join(target, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(opt.Home, "SKILL.md"), skillText("out", "Outside."))
	want := []string{
		"project found skill-0000", "project refused broken frontmatter_missing", "project refused gone symlink_dangling",
		"project refused huge frontmatter_not_closed", "project refused loop symlink_dangling", "project found lower", "project found out",
	}
	if diff := cmp.Diff(want, seen(t, opt, views.LayersOptions{})); diff != "" {
		t.Error(diff)
	}
	contained := seen(t, opt, views.LayersOptions{Runtime: "chock"})
	if !slices.Contains(contained, "project refused out symlink_escapes") {
		t.Errorf("chock sees %v", contained)
	}
}

// Past the 32nd the names are told, in the order of the lock; none is dropped.
func TestCatalogOverTheMark(t *testing.T) {
	opt := installed(t, 35)
	var notes diag.List
	opt.Report = func(e *diag.Error) { notes = append(notes, e) }
	p := open(t, opt)
	r, err := views.Layers(t.Context(), p.Project, views.LayersOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"skill-0032", "skill-0033", "skill-0034"}, r.PastCap); diff != "" {
		t.Error(diff)
	}
	list, err := views.List(t.Context(), p.Local)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Skills) != 35 || len(notes) != 1 || notes[0].Code != diag.CatalogOver32 {
		t.Errorf("%d skills, notes %v", len(list.Skills), notes)
	}
	if list.CatalogTokens == 0 || r.CatalogTokens != list.CatalogTokens {
		t.Errorf("list counts %d tokens, layers %d", list.CatalogTokens, r.CatalogTokens)
	}
}

func TestPrompt(t *testing.T) {
	opt := installed(t, 3)
	p := open(t, opt)
	all, err := views.Prompt(p.Project, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Skills) != 3 || all.Skills[0].Name != "skill-0000" || !all.Skills[0].Installed {
		t.Errorf("%+v", all.Skills)
	}
	some, err := views.Prompt(p.Project, []string{"skill-0002", "skill-0000"})
	if err != nil {
		t.Fatal(err)
	}
	if some.Skills[0].Name != "skill-0002" || some.Skills[1].Name != "skill-0000" {
		t.Errorf("named skills keep the caller's order: %+v", some.Skills)
	}
	if _, err := views.Prompt(p.Project, []string{"nobody", "skill-0001", "nothing"}); len(diag.All(err)) != 2 {
		t.Errorf("both unknown names are told: %v", err)
	}
}
