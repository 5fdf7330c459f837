package git_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/skill"
)

// The benchmarks race this package against git itself, round by round on the
// same server, and report the median ratio (below 1: faster than git). Run with
//
//	go test ./fetch/git -run '^$' -bench . -benchtime 7x
//
// See docs/performance.md.

// synthetic makes a packed repository of skills with some 20 files, half text,
// half incompressible: with 18 skills it is of the size of anthropics/skills
// (10 MB), with 60 of the size of eight public repositories on average (30 MB).
func synthetic(b *testing.B, root, name string, skills int) fetch.ID {
	b.Helper()
	repo, err := testkit.NewRepo(filepath.Join(root, name+".git"), false)
	if err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(uint64(len(name)), uint64(skills)))
	files := map[string]testkit.File{}
	for i := range skills {
		dir := fmt.Sprintf("skills/skill-%02d/", i)
		files[dir+"SKILL.md"] = testkit.File{Data: fmt.Sprintf("---\nname: skill-%02d\n---\n", i)}
		for n := range 20 {
			data := make([]byte, 4000+rnd.IntN(40_000))
			for k := range data {
				if data[k] = byte(rnd.Uint32()); n%2 == 0 {
					data[k] = 'a' + data[k]%26
				}
			}
			files[fmt.Sprintf("%sfiles/%02d", dir, n)] = testkit.File{Data: string(data)}
		}
	}
	tree, err := repo.Files(files)
	if err != nil {
		b.Fatal(err)
	}
	id, err := repo.Commit(tree, "one")
	if err != nil {
		b.Fatal(err)
	}
	if err := repo.SetRef("refs/heads/main", id); err != nil {
		b.Fatal(err)
	}
	runGit(b, repo.Dir, "repack", "-adq")
	return fetch.ID(id)
}

func runGit(b *testing.B, dir string, args ...string) {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_TERMINAL_PROMPT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// gitFetch is the floor: a shallow fetch of one commit, and the skills' files out of it.
func gitFetch(b *testing.B, url string, commit fetch.ID, paths []string) {
	dir := b.TempDir()
	runGit(b, dir, "init", "-q", "--bare", ".")
	runGit(b, dir, "fetch", "-q", "--depth", "1", url, string(commit))
	if len(paths) > 0 {
		runGit(b, dir, append([]string{"archive", "-o", "out.tar", string(commit), "--"}, paths...)...)
		if out, err := exec.Command("tar", "-C", dir, "-xf", filepath.Join(dir, "out.tar")).CombinedOutput(); err != nil {
			b.Fatalf("tar: %v\n%s", err, out)
		}
	}
}

type job struct {
	repo   string
	commit fetch.ID
	paths  []string
}

// ours fetches the jobs as an install of a lock does: a fresh source, eight
// repositories at a time, files written to disk.
func ours(b *testing.B, s *testkit.Server, jobs []job) {
	src, err := git.New(git.Options{Named: only(s.Host())})
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	dir := b.TempDir()
	err = par.Do(context.Background(), 8, len(jobs), func(ctx context.Context, i int) error {
		j := jobs[i]
		repo, err := skill.ParseSource(s.URL + "/" + j.repo)
		if err != nil {
			return err
		}
		snap, err := src.Open(ctx, repo, []fetch.Want{{Commit: j.commit}})
		if err != nil {
			return err
		}
		defer snap.Close()
		var at []fetch.SkillAt
		for _, p := range j.paths {
			at = append(at, fetch.SkillAt{Commit: j.commit, Path: p})
		}
		list, err := fetch.LoadMany(ctx, snap, at, fetch.LoadOptions{}, func(k int, f skill.File, data []byte) error {
			file := filepath.Join(dir, fmt.Sprint(i), fmt.Sprint(k), filepath.FromSlash(f.Path))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			return os.WriteFile(file, data, 0o644)
		})
		for _, l := range list {
			if l.Err != nil {
				return l.Err
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// race reports the median of ours/git over the rounds, and what ours moved.
func race(b *testing.B, shape testkit.Shape, repos, skills int, paths func(repo int) []string) {
	root := b.TempDir()
	commit := synthetic(b, root, "acme/r", skills)
	var jobs []job
	for i := range repos { // one repository under many names: nobody can tell
		name := fmt.Sprintf("acme/r%d", i)
		if err := os.Symlink("r.git", filepath.Join(root, name+".git")); err != nil {
			b.Fatal(err)
		}
		jobs = append(jobs, job{name, commit, paths(i)})
	}
	s, err := testkit.Serve(root, shape)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	var ratios []float64
	var took, floor []time.Duration
	var requests int
	var moved int64
	for b.Loop() {
		start := time.Now()
		_ = par.Each(context.Background(), 8, len(jobs), func(_ context.Context, i int) error {
			var extract []string
			if len(jobs) == 1 { // of several, the transfer alone is the floor
				extract = jobs[i].paths
			}
			gitFetch(b, s.URL+"/"+jobs[i].repo, jobs[i].commit, extract)
			return nil
		})
		f := time.Since(start)
		s.Requests()
		start = time.Now()
		ours(b, s, jobs)
		t := time.Since(start)
		took, floor, ratios = append(took, t), append(floor, f), append(ratios, float64(t)/float64(f))
		log := s.Requests()
		requests, moved = len(log), 0
		for _, r := range log {
			moved += r.Out
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "x-git")
	b.ReportMetric(float64(median(took))/1e6, "ms")
	b.ReportMetric(float64(median(floor))/1e6, "git-ms")
	b.ReportMetric(float64(requests), "requests")
	b.ReportMetric(float64(moved)/1024, "KiB")
}

func median[T int | int64 | float64 | time.Duration](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

func one(int) []string { return []string{"skills/skill-01"} }

// some returns the first n skills.
func some(n int) func(int) []string {
	return func(int) []string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("skills/skill-%02d", i))
		}
		return list
	}
}

func BenchmarkLockedSkill(b *testing.B) { race(b, testkit.Shape{}, 1, 18, one) }

func BenchmarkLockedSkill50ms(b *testing.B) {
	race(b, testkit.Shape{Delay: 50 * time.Millisecond}, 1, 18, one)
}

func BenchmarkTwentySkillsOfEight(b *testing.B) {
	race(b, testkit.Shape{}, 8, 60, func(i int) []string { return some(2 + i%2)(i) })
}

func BenchmarkFiftyRepositories(b *testing.B) { race(b, testkit.Shape{}, 50, 60, one) }

func BenchmarkWithoutFilter(b *testing.B) { race(b, testkit.Shape{Stock: true}, 1, 18, one) }

func BenchmarkWithoutV2(b *testing.B) { race(b, testkit.Shape{Stock: true, V0: true}, 1, 18, one) }

// BenchmarkMemory reports the heap's peak while eight repositories are read in
// parallel, as the runtime accounts for it.
func BenchmarkMemory(b *testing.B) {
	root := b.TempDir()
	commit := synthetic(b, root, "acme/r", 18)
	var jobs []job
	for i := range 8 {
		name := fmt.Sprintf("acme/r%d", i)
		if err := os.Symlink("r.git", filepath.Join(root, name+".git")); err != nil {
			b.Fatal(err)
		}
		jobs = append(jobs, job{name, commit, some(3)(i)})
	}
	s, err := testkit.Serve(root, testkit.Shape{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		ours(b, s, jobs)
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapSys-after.HeapReleased)/(1<<20), "heap-MiB")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "alloc-MiB/op")
}
