// Package fetchtest is the conformance suite of fetch.Source: Run checks what
// every rung must do, against a repository that the rung's test serves in
// whatever way it likes.
package fetchtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/skill"
)

// Archive is the repository that the suite reads, for testkit.Replay. Its name
// is acme/skills; acme/empty has no commit.
const Archive = `
repo acme/empty
repo acme/skills
commit one
tag -a v1.0.0
tag skills/pdf/v1.0.1
exec skills/pdf/run.sh
link skills/pdf/LICENSE ../../LICENSE
link skills/alias pdf
commit two
tag v1.1.0
commit three
branch rewritten v1.0.0
commit two
-- one/LICENSE --
free
-- one/skills/pdf/SKILL.md --
---
name: pdf
description: one
---
-- two/LICENSE --
free
-- two/skills/pdf/SKILL.md --
---
name: pdf
description: two
---
-- two/skills/pdf/run.sh --
#!/bin/sh
-- two/skills/word/SKILL.md --
word
-- three/LICENSE --
free
-- three/skills/pdf/SKILL.md --
three
`

// Rung is one way to reach repositories.
type Rung struct {
	Source fetch.Source
	// Base is what stands before /acme/skills.
	Base string
}

// Make serves the repositories below root and returns how to reach them.
type Make func(t *testing.T, root string) Rung

// Run runs the suite.
func Run(t *testing.T, mk Make) {
	root := t.TempDir()
	repos, err := testkit.Replay(root, []byte(Archive))
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{rung: mk(t, root), repo: repos["acme/skills"]}
	t.Run("refs", s.refs)
	t.Run("refs by prefix", s.prefixes)
	t.Run("empty repository", s.empty)
	t.Run("no repository", s.absent)
	t.Run("load", s.load)
	t.Run("several commits", s.several)
	t.Run("commit below a tip", s.belowTip)
	t.Run("commit gone", s.gone)
	t.Run("tag object is no commit", s.tagObject)
	t.Run("missing objects", s.missing)
	t.Run("cancelled", s.cancelled)
	t.Run("visit stops", s.visitStops)
	t.Run("many at once", s.atOnce)
}

type suite struct {
	rung Rung
	repo *testkit.Repo
}

func (s *suite) source(t *testing.T, rest string) skill.Source {
	t.Helper()
	src, err := skill.ParseSource(s.rung.Base + rest)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func (s *suite) id(ref string) fetch.ID { return fetch.ID(s.repo.Ref(ref)) }

func (s *suite) listing(t *testing.T, prefixes ...string) *fetch.Refs {
	t.Helper()
	refs, err := s.rung.Source.Refs(t.Context(), s.source(t, "/acme/skills"), prefixes...)
	if err != nil {
		t.Fatal(err)
	}
	return refs
}

func (s *suite) open(t *testing.T, wants ...fetch.Want) fetch.Snapshot {
	t.Helper()
	snap, err := s.rung.Source.Open(t.Context(), s.source(t, "/acme/skills"), wants)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = snap.Close() })
	return snap
}

func (s *suite) refs(t *testing.T) {
	refs := s.listing(t)
	one := s.listing(t, "refs/tags/v1.0.0").List[0].Commit()
	want := &fetch.Refs{Head: "refs/heads/main", HeadID: s.id("refs/heads/main"), List: []fetch.Ref{
		{Name: "refs/heads/main", ID: s.id("refs/heads/main")},
		{Name: "refs/heads/rewritten", ID: s.id("refs/heads/rewritten")},
		{Name: "refs/tags/skills/pdf/v1.0.1", ID: one},
		{Name: "refs/tags/v1.0.0", ID: s.id("refs/tags/v1.0.0"), Peeled: one},
		{Name: "refs/tags/v1.1.0", ID: s.id("refs/tags/v1.1.0")},
	}}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Error(diff)
	}
}

func (s *suite) prefixes(t *testing.T) {
	refs := s.listing(t, "HEAD", "refs/tags/v1.1")
	want := &fetch.Refs{Head: "refs/heads/main", HeadID: s.id("refs/heads/main"), List: []fetch.Ref{
		{Name: "refs/tags/v1.1.0", ID: s.id("refs/tags/v1.1.0")},
	}}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Error(diff)
	}
}

func (s *suite) empty(t *testing.T) {
	repo := s.source(t, "/acme/empty")
	refs, err := s.rung.Source.Refs(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	if len(refs.List) != 0 || refs.HeadID != "" {
		t.Errorf("an empty repository lists %v", refs)
	}
	if _, err := fetch.DefaultBranch(refs, repo); diag.CodeOf(err) != diag.RefNotFound {
		t.Errorf("DefaultBranch: %v, want ref_not_found", err)
	}
}

func (s *suite) absent(t *testing.T) {
	_, err := s.rung.Source.Refs(t.Context(), s.source(t, "/acme/absent"))
	if diag.CodeOf(err) != diag.RepositoryNotFoundOrPrivate {
		t.Errorf("%v, want repository_not_found_or_private", err)
	}
	if err != nil && !strings.Contains(err.Error(), "acme/absent") {
		t.Errorf("%v does not name the repository", err)
	}
}

func (s *suite) load(t *testing.T) {
	commit := s.id("refs/tags/v1.1.0")
	snap := s.open(t, fetch.Want{Commit: commit, Ref: "refs/tags/v1.1.0"})
	got := map[string]string{}
	c, err := fetch.Load(t.Context(), snap, commit, "skills/pdf", fetch.LoadOptions{}, func(f skill.File, data []byte) error {
		mode := "- "
		if f.Exec {
			mode = "x "
		}
		got[f.Path] = mode + string(data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"LICENSE": "- free\n", "SKILL.md": "- ---\nname: pdf\ndescription: two\n---\n", "run.sh": "x #!/bin/sh\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if stamp := c.Time.Format("2006-01-02T15:04"); stamp != "2024-01-01T00:02" {
		t.Errorf("committed at %s", stamp)
	}
	d, err := fetch.Discover(t.Context(), snap, commit)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Skills) != 2 || len(d.Aliases) != 1 || d.Aliases[0].Target != "skills/pdf" {
		t.Errorf("discovered %+v", d)
	}
}

func (s *suite) several(t *testing.T) {
	refs := s.listing(t, "refs/tags/")
	var wants []fetch.Want
	var at []fetch.SkillAt
	for _, r := range refs.List {
		wants = append(wants, fetch.Want{Commit: r.Commit(), Ref: r.Name})
		at = append(at, fetch.SkillAt{Commit: r.Commit(), Path: "skills/word"})
	}
	files, err := fetch.SkillFiles(t.Context(), s.open(t, wants...), at)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i, f := range files {
		switch {
		case f.Err == nil:
			found = append(found, refs.List[i].Name+" "+string(f.Data))
		case diag.CodeOf(f.Err) != diag.SkillNotFound:
			t.Errorf("%s: %v", refs.List[i].Name, f.Err)
		}
	}
	if !slices.Equal(found, []string{"refs/tags/v1.1.0 word\n"}) {
		t.Errorf("skills/word at %q", found)
	}
}

// belowTip: a commit that was locked and is no tip any more, but below one.
func (s *suite) belowTip(t *testing.T) {
	commit := s.id("refs/tags/v1.1.0")
	snap := s.open(t, fetch.Want{Commit: commit, Ref: "refs/heads/main"})
	if _, err := fetch.Load(t.Context(), snap, commit, "skills/word", fetch.LoadOptions{}, nil); err != nil {
		t.Error(err)
	}
}

func (s *suite) gone(t *testing.T) {
	for _, ref := range []string{"", "refs/heads/main", "refs/heads/absent"} {
		_, err := s.rung.Source.Open(t.Context(), s.source(t, "/acme/skills"), []fetch.Want{{Commit: "0123456789012345678901234567890123456789", Ref: ref}})
		if diag.CodeOf(err) != diag.CommitGone {
			t.Errorf("with ref %q: %v, want commit_gone", ref, err)
		}
	}
}

func (s *suite) tagObject(t *testing.T) {
	_, err := s.rung.Source.Open(t.Context(), s.source(t, "/acme/skills"), []fetch.Want{{Commit: s.id("refs/tags/v1.0.0")}})
	if diag.CodeOf(err) != diag.RefNotFound {
		t.Errorf("%v, want ref_not_found", err)
	}
}

func (s *suite) missing(t *testing.T) {
	commit := s.id("refs/heads/main")
	snap := s.open(t, fetch.Want{Commit: commit, Ref: "refs/heads/main"})
	if _, err := snap.Commit("0123456789012345678901234567890123456789"); err == nil {
		t.Error("a commit that nobody wanted")
	}
	if _, err := snap.Tree(commit); err == nil {
		t.Error("a commit as a tree")
	}
	err := snap.Blobs(t.Context(), []fetch.ID{"0123456789012345678901234567890123456789"}, func(fetch.ID, []byte) error { return nil })
	if diag.CodeOf(err) != diag.PackInvalid {
		t.Errorf("a file that is not there: %v, want pack_invalid", err)
	}
}

func (s *suite) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.rung.Source.Refs(ctx, s.source(t, "/acme/skills")); !errors.Is(err, context.Canceled) {
		t.Errorf("Refs: %v", err)
	}
	want := []fetch.Want{{Commit: s.id("refs/heads/main"), Ref: "refs/heads/main"}}
	if _, err := s.rung.Source.Open(ctx, s.source(t, "/acme/skills"), want); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
}

func (s *suite) visitStops(t *testing.T) {
	commit := s.id("refs/heads/main")
	snap := s.open(t, fetch.Want{Commit: commit, Ref: "refs/heads/main"})
	full := errors.New("disk full")
	_, err := fetch.Load(t.Context(), snap, commit, "skills/pdf", fetch.LoadOptions{}, func(skill.File, []byte) error { return full })
	if err != full {
		t.Errorf("%v, want the sink's own error", err)
	}
}

func (s *suite) atOnce(t *testing.T) {
	repo, commit := s.source(t, "/acme/skills"), s.id("refs/tags/v1.1.0")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if _, err := s.rung.Source.Refs(t.Context(), repo, "refs/tags/"); err != nil {
				t.Error(err)
			}
			snap, err := s.rung.Source.Open(t.Context(), repo, []fetch.Want{{Commit: commit, Ref: "refs/tags/v1.1.0"}})
			if err != nil {
				t.Error(err)
				return
			}
			defer snap.Close()
			path := []string{"skills/pdf", "skills/word"}[i%2]
			if _, err := fetch.Load(t.Context(), snap, commit, path, fetch.LoadOptions{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// Serve starts a server of the given shape over root, for a Make.
func Serve(t *testing.T, root string, shape testkit.Shape) *testkit.Server {
	t.Helper()
	s, err := testkit.Serve(root, shape)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
