package git_test

import (
	"bytes"
	"compress/zlib"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/skill"
)

// facts is a git.Facts in memory.
type facts struct {
	mu sync.Mutex
	m  map[string]string
}

func (f *facts) Get(key string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.m[key]
	return v, ok
}

func (f *facts) Put(key, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m == nil {
		f.m = map[string]string{}
	}
	f.m[key] = value
}

func parse(t *testing.T, s string) skill.Source {
	t.Helper()
	src, err := skill.ParseSource(s)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// monorepo is a repository of many skills with files that do not compress, so
// that sizes mean something.
func monorepo(t testing.TB, root string) (repo *testkit.Repo, commit fetch.ID) {
	t.Helper()
	repo, err := testkit.NewRepo(root+"/acme/skills.git", false)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	files := map[string]testkit.File{}
	for _, name := range []string{"pdf", "word", "sheet", "slides", "mail", "chart"} {
		files["skills/"+name+"/SKILL.md"] = testkit.File{Data: "---\nname: " + name + "\n---\n"}
		for _, f := range []string{"a", "b", "c"} {
			data := make([]byte, 20_000)
			for i := range data {
				data[i] = byte(rnd.Uint32())
			}
			files["skills/"+name+"/"+f+".bin"] = testkit.File{Data: string(data)}
		}
	}
	tree, err := repo.Files(files)
	if err != nil {
		t.Fatal(err)
	}
	id, err := repo.Commit(tree, "one")
	if err == nil {
		err = repo.SetRef("refs/heads/main", id)
	}
	if err == nil {
		err = repo.SetRef("refs/tags/v1.0.0", id)
	}
	if err != nil {
		t.Fatal(err)
	}
	return repo, fetch.ID(id)
}

func deflated(data []byte) int64 {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return int64(b.Len())
}

func lines(log []testkit.Request) string {
	var out []string
	for _, r := range log {
		out = append(out, r.Method+" "+strings.TrimPrefix(r.Path, "/acme/skills"))
	}
	return strings.Join(out, ", ")
}

// One skill at a locked commit of a host that was never seen before: two
// requests, and little more bytes than the files and directories need.
func TestLockedSkillTakesTwoRequests(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	src := newSource(t, git.Options{Named: only(s.Host())})
	snap, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit, Ref: "refs/tags/v1.0.0"}})
	if err != nil {
		t.Fatal(err)
	}
	var wanted int64
	_, err = fetch.Load(t.Context(), snap, commit, "skills/pdf", fetch.LoadOptions{}, func(_ skill.File, data []byte) error {
		wanted += deflated(data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	log := s.Requests()
	if got, want := lines(log), "POST /git-upload-pack, POST /git-upload-pack"; got != want {
		t.Errorf("requests: %s\nwant: %s", got, want)
	}
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	const trees = 8 * 250 // 8 directories with at most 6 entries of random ids
	if got := log[0].Out + log[1].Out; float64(got) > 1.2*float64(wanted+trees) {
		t.Errorf("%d bytes came, the files have %d", got, wanted)
	}
}

// Not locked: refs, trees, SKILL.md to resolve with, the rest.
func TestUnlockedSkillTakesFourRequests(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	src := newSource(t, git.Options{Named: only(s.Host())})
	repo := parse(t, s.URL+"/acme/skills//skills/pdf")
	refs, err := src.Refs(t.Context(), repo, "HEAD", "refs/tags/")
	if err != nil {
		t.Fatal(err)
	}
	best := fetch.Versions(refs, fetch.PlaceOf(repo)).Candidates[0]
	snap, err := src.Open(t.Context(), repo, []fetch.Want{best.Want()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fetch.SkillFiles(t.Context(), snap, []fetch.SkillAt{{Commit: best.Commit, Path: "skills/pdf"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch.Load(t.Context(), snap, best.Commit, "skills/pdf", fetch.LoadOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

// What a host cannot do is found out once, and remembered for later runs.
func TestCapabilitiesAreRemembered(t *testing.T) {
	for name, tt := range map[string]struct {
		shape         testkit.Shape
		first, second string
		fact          string
	}{
		"modern":   {testkit.Shape{}, "POST /git-upload-pack", "POST /git-upload-pack", "v2 filter"},
		"stock":    {testkit.Shape{Stock: true}, "POST /git-upload-pack, GET /info/refs?service=git-upload-pack, POST /git-upload-pack", "POST /git-upload-pack", "v2"},
		"v0":       {testkit.Shape{V0: true}, "POST /git-upload-pack, GET /info/refs?service=git-upload-pack, POST /git-upload-pack", "GET /info/refs?service=git-upload-pack, POST /git-upload-pack", "v0"},
		"v0 stock": {testkit.Shape{V0: true, Stock: true}, "POST /git-upload-pack, GET /info/refs?service=git-upload-pack, POST /git-upload-pack", "GET /info/refs?service=git-upload-pack, POST /git-upload-pack", "v0"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			_, commit := monorepo(t, root)
			s := fetchtest.Serve(t, root, tt.shape)
			known := &facts{}
			for _, want := range []string{tt.first, tt.second} {
				src := newSource(t, git.Options{Named: only(s.Host()), Facts: known})
				if _, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit}}); err != nil {
					t.Fatal(err)
				}
				if got := lines(s.Requests()); got != want {
					t.Errorf("requests: %s\nwant: %s", got, want)
				}
			}
			if got := map[string]string{"git " + s.URL: tt.fact}; !maps.Equal(got, known.m) {
				t.Errorf("remembered %v, want %v", known.m, got)
			}
		})
	}
}

// A host that can do less than it could before.
func TestStaleFacts(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{V0: true})
	known := &facts{m: map[string]string{"git " + s.URL: "v2 filter"}}
	src := newSource(t, git.Options{Named: only(s.Host()), Facts: known})
	if _, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit}}); err != nil {
		t.Fatal(err)
	}
	if got, _ := known.Get("git " + s.URL); got != "v0" {
		t.Errorf("remembered %q", got)
	}
}

func TestManySkillsTakeTwoRequests(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	src := newSource(t, git.Options{Named: only(s.Host())})
	snap, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit}})
	if err != nil {
		t.Fatal(err)
	}
	var at []fetch.SkillAt
	for _, name := range []string{"pdf", "word", "sheet", "slides"} {
		at = append(at, fetch.SkillAt{Commit: commit, Path: "skills/" + name})
	}
	list, err := fetch.LoadMany(t.Context(), snap, at, fetch.LoadOptions{}, nil)
	if err != nil || list[3].Content.Tree.Size() < 60_000 {
		t.Fatalf("%v, %v", list, err)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestSHA256Repository(t *testing.T) {
	root := t.TempDir()
	repos, err := testkit.Replay(root, []byte("repo acme/skills sha256\ncommit one\ntag v1.0.0\n-- one/s/SKILL.md --\na\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := fetchtest.Serve(t, root, testkit.Shape{})
	src := newSource(t, git.Options{Named: only(s.Host())})
	repo := parse(t, s.URL+"/acme/skills")
	refs, err := src.Refs(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	commit := fetch.ID(repos["acme/skills"].Ref("refs/tags/v1.0.0"))
	if refs.HeadID != commit || len(commit) != 64 {
		t.Fatalf("%v", refs)
	}
	snap, err := src.Open(t.Context(), repo, []fetch.Want{{Commit: commit}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fetch.Load(t.Context(), snap, commit, "s", fetch.LoadOptions{}, nil); err != nil {
		t.Error(err)
	}
	_, err = src.Open(t.Context(), repo, []fetch.Want{{Commit: commit[:40]}})
	if err == nil {
		t.Error("half an id opened a commit")
	}
}
