package install_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/internal/install"
)

// The benchmarks race the tools that do the same work without knowing what they
// copy: each iteration is one round of both, and the metric is the median of
// the rounds' ratios (ours / theirs). Run with -benchtime=7x.

// benchSkill is about the median real skill: 6 files, 20 KB.
func benchSkill(i int) files {
	return files{
		"SKILL.md":             fmt.Sprintf("---\nname: skill-%d\n---\n", i) + strings.Repeat("What to do and when.\n", 200),
		"references/a.md":      strings.Repeat(fmt.Sprint("reference ", i, "\n"), 400),
		"references/b.md":      strings.Repeat("more\n", 600),
		"x:scripts/run.py":     strings.Repeat("print('x')\n", 200),
		"scripts/lib.py":       strings.Repeat("y = 1\n", 300),
		"assets/template.json": "{}\n",
	}
}

func benchProject(b *testing.B, n int) *project {
	p := newProjectIn(b, tempDir(b))
	p.opt.FS = nil
	p.want.Targets = []string{main}
	for i := range n {
		p.want.Items = append(p.want.Items, p.put(fmt.Sprintf("skill-%d", i), benchSkill(i)))
	}
	return p
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func run(b *testing.B, name string, args ...string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func reportRatios(b *testing.B, ours, theirs []time.Duration) {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = float64(ours[i]) / float64(theirs[i])
	}
	slices.Sort(ratios)
	slices.Sort(ours)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(ours[len(ours)/2].Microseconds())/1000, "ms")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkWarmInstall(b *testing.B) {
	for _, link := range []install.Link{install.LinkDefault, install.LinkHardlink} {
		for _, n := range []int{200, 2000} {
			b.Run(fmt.Sprintf("link=%s/skills=%d", link, n), func(b *testing.B) {
				p := benchProject(b, n)
				p.want.Link = link
				flags := map[install.Link]string{install.LinkDefault: "-a", install.LinkHardlink: "-al"}
				var ours, theirs []time.Duration
				for range b.N {
					for _, dir := range []string{".agents", ".skillpm", "copy"} {
						must(b, os.RemoveAll(p.path(dir)))
					}
					copies := func() { run(b, "cp", flags[link], filepath.Join(p.store.Dir(), "trees"), p.path("copy")) }
					installs := func() { p.mustApply(p.lock("new")) }
					theirs = append(theirs, timed(copies))
					ours = append(ours, timed(installs))
				}
				reportRatios(b, ours, theirs)
			})
		}
	}
}

func BenchmarkNoOp(b *testing.B) {
	for _, n := range []int{20, 200, 2000} {
		b.Run(fmt.Sprintf("skills=%d", n), func(b *testing.B) {
			p := benchProject(b, n)
			p.mustApply()
			later := func() time.Time { return time.Now().Add(time.Minute) }
			p.opt.Now = later
			install.Refresh(b.Context(), p.layout, p.opt, p.preview())
			var ours, theirs []time.Duration
			for range b.N {
				theirs = append(theirs, timed(func() { run(b, "find", p.path(main), "-ls") }))
				var plan *install.Plan
				ours = append(ours, timed(func() { plan = p.preview() }))
				if !plan.NoOp() || plan.Counters().Hashed != 0 {
					b.Fatalf("no-op %v, %+v", plan.NoOp(), plan.Counters())
				}
			}
			reportRatios(b, ours, theirs)
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	p := benchProject(b, 2000)
	p.mustApply()
	var ours, theirs []time.Duration
	for range b.N {
		theirs = append(theirs, timed(func() {
			run(b, "sh", "-c", "find "+p.path(main)+" -type f -print0 | xargs -0 sha256sum >/dev/null")
		}))
		ours = append(ours, timed(p.wantClean))
	}
	reportRatios(b, ours, theirs)
}
