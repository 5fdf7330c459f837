package git_test

import (
	"testing"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/skill"
)

const basic = `
repo acme/skills
commit one
tag -a v1.0.0
-- one/LICENSE --
free
-- one/skills/pdf/SKILL.md --
one
`

func TestSmoke(t *testing.T) {
	for name, shape := range map[string]testkit.Shape{"modern": {}, "stock": {Stock: true}, "v0": {V0: true}, "v0stock": {V0: true, Stock: true}, "multiack": {MultiAck: true}} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			repos, err := testkit.Replay(root, []byte(basic))
			if err != nil {
				t.Fatal(err)
			}
			s, err := testkit.Serve(root, shape)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			src, _ := git.New(git.Options{Named: func(h string) bool { return h == s.Host() }})
			repo, err := skill.ParseSource(s.URL + "/acme/skills//skills/pdf")
			if err != nil {
				t.Fatal(err)
			}
			refs, err := src.Refs(t.Context(), repo, "HEAD", "refs/tags/")
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", refs)
			t.Log(s.Requests())
			snap, err := src.Open(t.Context(), repo, []fetch.Want{{Commit: refs.HeadID, Ref: refs.Head}})
			if err != nil {
				t.Fatal(err)
			}
			c, err := snap.Commit(fetch.ID(repos["acme/skills"].Ref("refs/heads/main")))
			if err != nil {
				t.Fatal(err)
			}
			list, err := snap.Tree(c.Tree)
			if err != nil {
				t.Fatal(err)
			}
			if err := snap.Blobs(t.Context(), []fetch.ID{list[0].ID}, func(id fetch.ID, data []byte) error {
				t.Logf("%s %q", id, data)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			t.Log(s.Requests())
		})
	}
}
