package laws

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	growthFlag = flag.Int("growth", 1250, "the smaller of the two projects of BenchmarkGrowth, in skills; the other has four times as many")
	onlyFlag   = flag.String("growth-only", "", "measure only the commands whose label matches this expression")
)

// peakFile names the file that a measured run leaves its peak memory in.
const peakFile = "SKILLPM_LAWS_PEAK"

// cost is what one run of the program took.
type cost struct {
	cpu  time.Duration // user and system
	peak int64         // resident bytes at most; 0 where the system does not say
	out  int64         // bytes on both outputs
}

// measured is a command at the two sizes. A command that changes the project
// leaves it as the next one wants it.
type measured struct {
	label string
	args  func(w *world, u *upstream) []string
	// before readies the machine, without being measured.
	before func(w *world, m *machine, u *upstream)
}

func line(args ...string) func(*world, *upstream) []string {
	return func(*world, *upstream) []string { return args }
}

// growth is the commands that read or write a project, in an order in which each
// finds what it needs. The cold install comes before what looks at the disk.
func growth() []measured {
	list := []measured{
		{label: "add --all --no-install", args: func(w *world, u *upstream) []string {
			return []string{"add", w.url(u), "--all", "--no-install", "--yes"}
		}},
		{label: "install, warm", args: line("install"), before: func(_ *world, m *machine, _ *upstream) { must(os.RemoveAll(m.path(".agents"))) }},
		{label: "lock, warm", args: line("lock", "--yes"), before: withoutLock},
		{label: "lock, cold", args: line("lock", "--yes"), before: func(w *world, m *machine, u *upstream) {
			withoutLock(w, m, u)
			must(os.RemoveAll(m.cache()))
		}},
		{label: "install, cold", args: line("install", "--frozen"), before: func(_ *world, m *machine, _ *upstream) {
			must(os.RemoveAll(m.path(".agents")))
			must(os.RemoveAll(m.cache()))
		}},
		{label: "install, nothing to do", args: line("install")},
	}
	for _, text := range []string{
		"lock --check", "verify", "list", "list --json", "tree", "outdated", "update --dry-run", "update --latest --dry-run",
		"doctor", "sbom", "prompt", "why {one}", "info {one}", "needs {one}",
		"resources {one}", "diff {one}", "card {one}", "versions {one}", "search {one}", "plan {one}", "trust list", "fetch",
		"version",
	} {
		list = append(list, measured{label: strings.Replace(text, "{one}", "NAME", 1), args: func(_ *world, u *upstream) []string {
			return strings.Fields(strings.Replace(text, "{one}", u.skills[9].name, 1))
		}})
	}
	return append(list,
		measured{label: "update, all moved", args: line("update", "--yes"), before: func(w *world, _ *machine, u *upstream) {
			for _, s := range u.skills {
				s.text += " More."
			}
			w.grow(u)
			w.release(u, nil, "1.1.0")
		}},
		measured{label: "remove all but one", args: func(_ *world, u *upstream) []string {
			args := []string{"remove", "--yes"}
			for _, s := range u.skills[1:] {
				args = append(args, s.name)
			}
			return args
		}},
	)
}

func withoutLock(_ *world, m *machine, _ *upstream) { must(os.Remove(m.path("skills.lock"))) }

// BenchmarkGrowth prints, for each command, CPU time, peak memory and output in
// a project of N and of 4N skills, and the exponents: log4 of the ratio once
// what an empty run takes (skillpm version) is taken off; "-" where the larger
// run is less than ten times that and says nothing. Nothing here fails for being
// slow: the numbers are for people.
//
// Ten skills in a hundred form chains; all come from one repository with
// repository-wide tags, served over HTTP by git itself.
func BenchmarkGrowth(b *testing.B) {
	only := regexp.MustCompile(*onlyFlag)
	for range b.N {
		small, large := costs(b, *growthFlag, only), costs(b, 4**growthFlag, only)
		start := large["version"]
		b.Logf("%d and %d skills; start-up %v, %d MB", *growthFlag, 4**growthFlag, start.cpu.Round(time.Millisecond), start.peak>>20)
		b.Logf("| command | CPU | exponent | peak memory | exponent | output | exponent |")
		b.Logf("|---|---|---|---|---|---|---|")
		for _, c := range growth() {
			s, l := small[c.label], large[c.label]
			if l.cpu == 0 {
				continue
			}
			b.Logf("| `%s` | %.2f → %.2f s | %s | %d → %d MB | %s | %d → %d KB | %s |", c.label,
				s.cpu.Seconds(), l.cpu.Seconds(), exponent(int64(s.cpu), int64(l.cpu), int64(start.cpu)),
				s.peak>>20, l.peak>>20, exponent(s.peak, l.peak, start.peak),
				s.out>>10, l.out>>10, exponent(s.out, l.out, 1<<10))
		}
	}
}

// exponent is how a cost grew when the project grew fourfold.
func exponent(small, large, start int64) string {
	if large < 10*start {
		return "-"
	}
	return fmt.Sprintf("%.2f", math.Log(float64(large-start)/float64(max(small-start, 1)))/math.Log(4))
}

// costs runs the commands in a project of n skills.
func costs(b *testing.B, n int, only *regexp.Regexp) map[string]cost {
	w, err := newWorld("growth", 0, 1, b.TempDir())
	must(err)
	defer w.close()
	u := w.newUpstream(0, "acme/kit", repoTags)
	for i := range n {
		name := fmt.Sprintf("s%d", i*7919%n) // the manifest's order is not the alphabet's
		s := &upstreamSkill{name: name, dir: "skills/" + name}
		if i%10 == 9 {
			s.chain = []string{u.skills[i-1].name, u.skills[i-2].name}
		}
		u.skills = append(u.skills, s)
	}
	w.grow(u)
	w.release(u, nil, "1.0.0")
	w.run(w.me, how{}, "init")
	all := map[string]cost{}
	for i, c := range growth() {
		if i > 0 && c.label != "version" && !only.MatchString(c.label) {
			continue // the first makes the project
		}
		if c.before != nil {
			c.before(w, w.me, u)
		}
		all[c.label] = w.cost(b, c.label, c.args(w, u))
	}
	return all
}

// cost runs the program in a process of its own. Findings (exit 1) are a result
// like any other.
func (w *world) cost(b *testing.B, label string, args []string) cost {
	peak := filepath.Join(w.dir, "peak")
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "skillpm"), args...)
	cmd.Dir, cmd.Env = w.me.path(), append(w.me.environ(), peakFile+"="+peak)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		b.Errorf("%s: %v\n%.2000s", label, err, errs.String())
	}
	data, _ := os.ReadFile(peak) // not written where the system has no /proc
	kb, _ := strconv.ParseInt(string(data), 10, 64)
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), kb << 10, int64(out.Len() + errs.Len())}
}

var peakLine = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// leavePeak writes the peak memory of this process, in KiB, to the file that a
// measuring parent named. The parent cannot ask for it: a child's maximum as
// the kernel reports it begins with the parent's own.
func leavePeak() {
	file := os.Getenv(peakFile)
	if file == "" {
		return
	}
	status, _ := os.ReadFile("/proc/self/status")
	if m := peakLine.FindSubmatch(status); m != nil {
		_ = os.WriteFile(file, m[1], 0o600)
	}
}
