package fetch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/skill"
)

// refsOf reads "name commit" or "name tag>commit" words.
func refsOf(words ...string) *fetch.Refs {
	refs := &fetch.Refs{Head: "refs/heads/main", HeadID: "h"}
	for _, w := range words {
		name, id, _ := strings.Cut(w, " ")
		r := fetch.Ref{Name: name}
		if tag, commit, ok := strings.Cut(id, ">"); ok {
			r.ID, r.Peeled = fetch.ID(tag), fetch.ID(commit)
		} else {
			r.ID = fetch.ID(id)
		}
		if !strings.HasPrefix(name, "refs/") {
			r.Name = "refs/tags/" + name
		}
		refs.List = append(refs.List, r)
	}
	slices.SortFunc(refs.List, func(a, b fetch.Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs
}

func versionLines(l fetch.VersionList) []string {
	var out []string
	for _, c := range l.Candidates {
		s := fmt.Sprintf("%s %s %s", c.Version, c.Tag, c.Commit)
		for _, r := range c.Conflicts {
			s += " or " + r.Name + " " + string(r.Commit())
		}
		out = append(out, s)
	}
	return out
}

func TestVersions(t *testing.T) {
	pdf := fetch.Place{Path: "skills/pdf", Name: "pdf"}
	root := fetch.Place{Name: "kit"}
	for _, tt := range []struct {
		name  string
		at    fetch.Place
		tags  string
		class fetch.TagClass
		want  []string
	}{
		{"T1", pdf, "skills/pdf/v1.2.3 a", fetch.ClassSkill, []string{"1.2.3 skills/pdf/v1.2.3 a"}},
		{"T2, all spellings", pdf, "pdf/v1.0.0 a, pdf@1.1.0 b, pdf-v1.2.0 c, pdf--v1.3.0 d", fetch.ClassSkill,
			[]string{"1.3.0 pdf--v1.3.0 d", "1.2.0 pdf-v1.2.0 c", "1.1.0 pdf@1.1.0 b", "1.0.0 pdf/v1.0.0 a"}},
		{"T2, exact name only", pdf, "pdf-tools-v1.0.0 a, xpdf/v1.0.0 b, skills/pdf/sub/v1.0.0 c, PDF/v1.0.0 d", fetch.ClassNone, nil},
		{"v is optional", pdf, "skills/pdf/1.0.0 a, pdf/1.1.0 b, pdf@v1.2.0 c, pdf-1.3.0 d, pdf--1.4.0 e", fetch.ClassSkill,
			[]string{"1.4.0 pdf--1.4.0 e", "1.3.0 pdf-1.3.0 d", "1.2.0 pdf@v1.2.0 c", "1.1.0 pdf/1.1.0 b", "1.0.0 skills/pdf/1.0.0 a"}},
		{"T3", pdf, "v1.2.3 a, 1.3.0 b", fetch.ClassRepository, []string{"1.3.0 1.3.0 b", "1.2.3 v1.2.3 a"}},
		{"classes never mix", pdf, "v9.0.0 z, pdf/v1.0.0 a, skills/pdf/v1.1.0 b", fetch.ClassSkill, []string{"1.1.0 skills/pdf/v1.1.0 b", "1.0.0 pdf/v1.0.0 a"}},
		{"another skill's tags", pdf, "word/v1.0.0 a, v1.0.0 b", fetch.ClassRepository, []string{"1.0.0 v1.0.0 b"}},
		{"a root skill's bare tag is T3", root, "v1.0.0 a", fetch.ClassRepository, []string{"1.0.0 v1.0.0 a"}},
		{"a root skill's name prefix", root, "kit/v2.0.0 a, v1.0.0 b", fetch.ClassSkill, []string{"2.0.0 kit/v2.0.0 a"}},
		{"T4", pdf, "pdf@1.0.0 a, skills/pdf/v1.0.0 t>a, pdf/v1.0.0 a", fetch.ClassSkill, []string{"1.0.0 skills/pdf/v1.0.0 a"}},
		{"T4, by bytes", pdf, "pdf/v1.0.0 a, pdf/1.0.0 a", fetch.ClassSkill, []string{"1.0.0 pdf/1.0.0 a"}},
		{"T4, table order", pdf, "1.0.0 a, v1.0.0 a", fetch.ClassRepository, []string{"1.0.0 v1.0.0 a"}},
		{"T5", pdf, "v1.0.0 a, 1.0.0 b", fetch.ClassRepository, []string{"1.0.0 v1.0.0 a or refs/tags/1.0.0 b"}},
		{"build metadata does not count", pdf, "v1.0.0+b1 a, v1.0.0+b2 b, v1.1.0+x c, v1.1.0 c", fetch.ClassRepository,
			[]string{"1.1.0 v1.1.0 c", "1.0.0+b1 v1.0.0+b1 a or refs/tags/v1.0.0+b2 b"}},
		{"T7", pdf, "v1 a, v1.2 b, v01.2.3 c, vv1.0.0 d, V1.0.0 e, v1.0.0-01 f, release-1.0.0 g, v1.0.0- h", fetch.ClassNone, nil},
		{"pre-releases order", pdf, "v1.0.0-rc.2 a, v1.0.0-rc.10 b, v1.0.0 c", fetch.ClassRepository,
			[]string{"1.0.0 v1.0.0 c", "1.0.0-rc.10 v1.0.0-rc.10 b", "1.0.0-rc.2 v1.0.0-rc.2 a"}},
		{"branches are no versions", pdf, "refs/heads/v1.0.0 a", fetch.ClassNone, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := fetch.Versions(refsOf(strings.Split(tt.tags, ", ")...), tt.at)
			if got.Class != tt.class {
				t.Errorf("class %d, want %d", got.Class, tt.class)
			}
			if diff := cmp.Diff(tt.want, versionLines(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTagsMixed(t *testing.T) {
	repo, err := testkit.NewRepo(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repo.Tree()
	if err != nil {
		t.Fatal(err)
	}
	older, err := repo.Commit(tree, "older")
	if err != nil {
		t.Fatal(err)
	}
	newer, err := repo.Commit(tree, "newer")
	if err != nil {
		t.Fatal(err)
	}
	s := &fetchtest.Snapshot{Repo: repo}
	for own, want := range map[string]bool{older: true, newer: false} {
		whole := newer
		if own == newer {
			whole = older
		}
		l := fetch.Versions(refsOf("pdf/v1.0.0 "+own, "v2.0.0 "+whole), fetch.Place{Path: "skills/pdf", Name: "pdf"})
		if len(l.Mixed()) != 2 {
			t.Fatalf("%v", l.Mixed())
		}
		if got, err := l.TagsMixed(s, s); err != nil || got != want {
			t.Errorf("TagsMixed = %v, %v; want %v", got, err, want)
		}
	}
}

func TestResolveRef(t *testing.T) {
	repo, err := skill.ParseSource("acme/skills")
	if err != nil {
		t.Fatal(err)
	}
	full := strings.Repeat("ab", 20)
	refs := refsOf("v1 tag>one", "both t", "refs/heads/both b", "refs/heads/main h", "refs/heads/feature/x f", full+" trick")
	for name, want := range map[string]string{
		"v1": "refs/tags/v1 one", "both": "refs/tags/both t", "main": "refs/heads/main h", "feature/x": "refs/heads/feature/x f",
		"refs/heads/both": "refs/heads/both b", "HEAD": "refs/heads/main h",
		full: " " + full, strings.ToUpper(full): " " + full,
		"feature": "", "refs/heads/gone": "", full[:12]: "", "heads/main": "",
	} {
		r, err := fetch.ResolveRef(refs, repo, name)
		switch {
		case want == "" && diag.CodeOf(err) != diag.RefNotFound:
			t.Errorf("%s: %v, %v; want ref_not_found", name, r, err)
		case want != "" && (err != nil || r.Ref+" "+string(r.Commit) != want):
			t.Errorf("%s: %v, %v; want %s", name, r, err, want)
		}
		if want != "" && fetch.RefPrefixes(name) != nil {
			narrow, err := fetch.ResolveRef(refs.Select(fetch.RefPrefixes(name)...), repo, name)
			if err != nil || narrow.Commit != r.Commit {
				t.Errorf("%s from what RefPrefixes asks for: %v, %v", name, narrow, err)
			}
		}
	}
}
