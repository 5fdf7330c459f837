package git_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/skill"
)

// treeOf returns git's id of a directory of a commit, as a lock has it.
func treeOf(t *testing.T, root string, commit fetch.ID, path string) fetch.ID {
	t.Helper()
	id, err := exec.Command("git", "--git-dir", root+"/acme/skills.git", "-c", "safe.directory=*", "rev-parse", string(commit)+":"+path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return fetch.ID(strings.TrimSpace(string(id)))
}

// load opens wants and reads the skill at each path of their commit.
func load(t *testing.T, src *git.Source, url string, wants []fetch.Want, paths ...string) []fetch.Loaded {
	t.Helper()
	snap, err := src.Open(t.Context(), parse(t, url), wants)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	var at []fetch.SkillAt
	for _, p := range paths {
		at = append(at, fetch.SkillAt{Commit: wants[0].Commit, Path: p})
	}
	list, err := fetch.LoadMany(t.Context(), snap, at, fetch.LoadOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range list {
		if l.Err != nil {
			t.Fatalf("%s: %v", paths[i], l.Err)
		}
	}
	return list
}

// bodyOf reads a request's body and puts it back.
func bodyOf(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}

// together answers no request before n are there.
func together(n int) testkit.Fault {
	arrived := make(chan struct{}, n)
	all := make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		bodyOf(r) // a client may be waiting to send it
		arrived <- struct{}{}
		if len(arrived) == n {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
		return false
	}
}

// refuseTree answers as a server that hands out commits and files only.
func refuseTree(trees ...fetch.ID) testkit.Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		body := bodyOf(r)
		for _, id := range trees {
			if strings.Contains(body, "want "+string(id)) {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				_, _ = w.Write(pkts("ERR upload-pack: not our ref " + string(id) + "\n"))
				return true
			}
		}
		return false
	}
}

// A locked skill comes in one round trip: its commit and directories, and its
// files by the directory's id, in two requests that are under way together.
func TestLockedSkillTakesOneRoundTrip(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	var wants []fetch.Want
	paths := []string{"skills/pdf", "skills/word", "skills/mail"}
	for _, p := range paths {
		wants = append(wants, fetch.Want{Commit: commit, Tree: treeOf(t, root, commit, p)})
	}
	known := &facts{}
	for range 2 { // a host that was never seen, and one that is known
		s.SetFault(together(2))
		src := newSource(t, git.Options{Named: only(s.Host()), Facts: known, Patience: 10 * time.Second})
		load(t, src, s.URL+"/acme/skills", wants, paths...)
		if got := lines(s.Requests()); got != "POST /git-upload-pack, POST /git-upload-pack" {
			t.Errorf("requests: %s", got)
		}
	}
	if want := map[string]string{"git " + s.URL: "v2 filter", "git trees " + s.URL: "yes"}; !maps.Equal(known.m, want) {
		t.Errorf("remembered %v", known.m)
	}
}

// What is fetched ahead is no more than what is read.
func TestAheadBringsNoMore(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	src := newSource(t, git.Options{Named: only(s.Host())})
	load(t, src, s.URL+"/acme/skills", []fetch.Want{{Commit: commit}}, "skills/pdf")
	plain := sum(s.Requests())
	src = newSource(t, git.Options{Named: only(s.Host())})
	load(t, src, s.URL+"/acme/skills", []fetch.Want{{Commit: commit, Tree: treeOf(t, root, commit, "skills/pdf")}}, "skills/pdf")
	if got := sum(s.Requests()); got > plain+1000 { // the directory comes twice
		t.Errorf("%d bytes, %d without the hint", got, plain)
	}
}

func sum(log []testkit.Request) (n int64) {
	for _, r := range log {
		n += r.Out
	}
	return n
}

// A host that cannot do it costs what it cost before, and one request more once.
func TestAheadFallsBack(t *testing.T) {
	const post, get = "POST /git-upload-pack", "GET /info/refs?service=git-upload-pack"
	for name, tt := range map[string]struct {
		shape         testkit.Shape
		refuse        bool
		first, second []string // in any order: some are under way together
		fact          string
	}{
		"hands out no directories": {testkit.Shape{}, true, []string{post, post, post}, []string{post, post}, "no"},
		"no filter":                {testkit.Shape{Stock: true}, false, []string{get, post, post, post}, []string{post}, "yes"},
		"v0":                       {testkit.Shape{V0: true}, false, []string{get, post, post, post, post}, []string{get, post, post}, ""},
		"v0 without filter":        {testkit.Shape{V0: true, Stock: true}, false, []string{get, post, post, post}, []string{get, post}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			_, commit := monorepo(t, root)
			s := fetchtest.Serve(t, root, tt.shape)
			want := fetch.Want{Commit: commit, Tree: treeOf(t, root, commit, "skills/pdf")}
			if tt.refuse {
				s.SetFault(refuseTree(want.Tree))
			}
			known := &facts{}
			for _, requests := range [][]string{tt.first, tt.second} {
				src := newSource(t, git.Options{Named: only(s.Host()), Facts: known})
				load(t, src, s.URL+"/acme/skills", []fetch.Want{want}, "skills/pdf")
				got := strings.Split(lines(s.Requests()), ", ")
				slices.Sort(got)
				if !slices.Equal(got, requests) {
					t.Errorf("requests: %s, want %s", got, requests)
				}
			}
			if got, _ := known.Get("git trees " + s.URL); got != tt.fact {
				t.Errorf("remembered %q, want %q", got, tt.fact)
			}
		})
	}
}

// A directory's id that lies costs a request. What is read is what the commit
// says, and the host is not blamed for it.
func TestLyingTree(t *testing.T) {
	root := t.TempDir()
	repo, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	honest := load(t, newSource(t, git.Options{Named: only(s.Host())}), s.URL+"/acme/skills", []fetch.Want{{Commit: commit}}, "skills/pdf")
	elsewhere, err := repo.Files(map[string]testkit.File{"SKILL.md": {Data: "---\nname: pdf\n---\nevil\n"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Requests()
	for name, tt := range map[string]struct {
		tree     fetch.ID
		requests int
		fact     string
	}{
		"another skill's":     {treeOf(t, root, commit, "skills/word"), 3, "yes"},
		"of no commit":        {fetch.ID(elsewhere), 3, ""},
		"of nothing":          {fetch.ID(strings.Repeat("5", 40)), 3, ""},
		"a file":              {treeOf(t, root, commit, "skills/pdf/a.bin"), 3, ""},
		"the commit":          {commit, 3, ""},
		"of another length":   {fetch.ID(strings.Repeat("5", 64)), 2, ""},
		"no id":               {"../../etc", 2, ""},
		"of the whole commit": {treeOf(t, root, commit, ""), 2, "yes"},
	} {
		known := &facts{}
		src := newSource(t, git.Options{Named: only(s.Host()), Facts: known})
		got := load(t, src, s.URL+"/acme/skills", []fetch.Want{{Commit: commit, Tree: tt.tree}}, "skills/pdf")
		if got[0].Content.Tree.Digest() != honest[0].Content.Tree.Digest() {
			t.Errorf("%s: other content", name)
		}
		if n := len(s.Requests()); n != tt.requests {
			t.Errorf("%s: %d requests, want %d", name, n, tt.requests)
		}
		if fact, _ := known.Get("git trees " + s.URL); fact != tt.fact {
			t.Errorf("%s: remembered %q, want %q", name, fact, tt.fact)
		}
	}
}

// Files fetched ahead are hashed like all others: a pack whose content is not
// what the directory names is of no use.
func TestForgedAhead(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	tree := treeOf(t, root, commit, "skills/pdf")
	other := treeOf(t, root, commit, "skills/word")
	s.SetFault(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if body := bodyOf(r); strings.Contains(body, "want "+string(tree)) {
			body = strings.Replace(body, string(tree), string(other), 1)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		}
		return false
	})
	src := newSource(t, git.Options{Named: only(s.Host())})
	snap, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit, Tree: tree}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	content, err := fetch.Load(t.Context(), snap, commit, "skills/pdf", fetch.LoadOptions{}, func(f skill.File, data []byte) error {
		if f.Path == "SKILL.md" {
			got = append(got, string(data))
		}
		return nil
	})
	if err != nil || content.GitTree != tree || len(got) != 1 || !strings.Contains(got[0], "name: pdf") {
		t.Errorf("%q, %v", got, err)
	}
}
