package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/skill"
)

// scenario is a change from an old to a new state of a project.
type scenario struct {
	name     string
	old, new func(p *project) (items []install.Item, files []install.FileChange)
}

func scenarios() []scenario {
	nothing := func(p *project) ([]install.Item, []install.FileChange) { return nil, nil }
	three := func(p *project) ([]install.Item, []install.FileChange) {
		return []install.Item{p.put("alpha", alpha), p.put("beta", beta), p.put("gamma", gamma)},
			[]install.FileChange{p.manifest("three"), p.lock("three")}
	}
	updated := func(p *project) ([]install.Item, []install.FileChange) {
		return []install.Item{p.put("alpha", alpha2), p.put("beta", beta), p.put("gamma", gamma)},
			[]install.FileChange{p.manifest("updated"), p.lock("updated")}
	}
	one := func(p *project) ([]install.Item, []install.FileChange) {
		return []install.Item{p.put("beta", beta)}, []install.FileChange{p.manifest("one"), p.lock("one")}
	}
	return []scenario{
		{"install three", nothing, three},
		{"update one of three", three, updated},
		{"remove two of three", three, one},
	}
}

// prepare brings p to the old state and leaves the new one wanted.
func (sc scenario) prepare(p *project) (files []install.FileChange, before map[string]string) {
	items, old := sc.old(p)
	if items != nil {
		p.order(items...)
		p.mustApply(old...)
	}
	before = p.snapshot()
	items, files = sc.new(p)
	p.order(items...)
	return files, before
}

// after returns the new state, reached without faults.
func (sc scenario) after(t *testing.T) map[string]string {
	p := newProject(t)
	files, _ := sc.prepare(p)
	p.mustApply(files...)
	return p.snapshot()
}

var errKilled = errors.New("the process is dead")

// killer is a hook after which nothing reaches the disk any more from call k
// on, as if the process had been killed before it.
func killer(k int64) (fsx.Hook, *atomic.Int64) {
	var n atomic.Int64
	return func(c fsx.Call) error {
		if c.After {
			return nil
		}
		if n.Add(1) >= k {
			return errKilled
		}
		return unsynced(c)
	}, &n
}

// Kill an install, an update and a removal of three skills before every single
// file-system call. The next run finds the old state or the new one, never a
// mixture, and ends in the new one with nothing left behind.
func TestKillAtEveryCall(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			new := sc.after(t)
			old, kept, total := 0, 0, 0
			for k := int64(1); ; k++ {
				p := newProject(t)
				files, before := sc.prepare(p)
				hook, calls := killer(k)
				p.opt.FS = &fsx.FS{Hook: hook}
				if _, err := p.apply(files...); err == nil {
					if calls.Load() >= k {
						continue // only clearing up was cut short
					}
					break
				}
				total++
				p.opt.FS = &fsx.FS{Hook: unsynced}
				s, err := install.Begin(t.Context(), p.layout, p.opt)
				if err != nil {
					t.Fatalf("kill at call %d: next run: %v", k, err)
				}
				must(t, s.Close())
				switch now := p.snapshot(); {
				case cmp.Equal(now, before):
					old++
				case cmp.Equal(now, new):
					kept++
				default:
					t.Fatalf("kill at call %d: neither old (-) nor new; against new (-new +got):\n%s", k, cmp.Diff(new, now))
				}
				p.mustApply(files...)
				if diff := cmp.Diff(new, p.snapshot()); diff != "" {
					t.Fatalf("kill at call %d: after the rerun (-want +got):\n%s", k, diff)
				}
				p.wantClean()
				left, err := filepath.Glob(p.path(".skillpm/*tmp*"))
				if err != nil || len(left) > 0 {
					t.Fatalf("kill at call %d: left %v, %v", k, left, err)
				}
			}
			t.Logf("%d kills: %d runs undone, %d finished", total, old, kept)
			if old == 0 || kept == 0 {
				t.Errorf("the harness saw %d old and %d new states; it must see both", old, kept)
			}
		})
	}
}

// Inject every error at every call, once, and from there on for good. The run
// fails with its code or succeeds; the disk is old or new, and the next run
// without faults gets to the new state.
func TestFaultAtEveryCall(t *testing.T) {
	for errno, code := range map[syscall.Errno]diag.Code{
		syscall.ENOSPC: diag.DiskFull, syscall.EACCES: diag.PermissionDenied, syscall.EROFS: diag.PermissionDenied,
	} {
		for _, sc := range scenarios() {
			new := sc.after(t)
			for _, forGood := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s for good %v", errno, sc.name, forGood), func(t *testing.T) {
					for k := int64(1); ; k++ {
						p := newProject(t)
						files, before := sc.prepare(p)
						var n atomic.Int64
						p.opt.FS = &fsx.FS{Hook: func(c fsx.Call) error {
							if c.After || !c.Op.Writes() {
								return nil
							}
							if i := n.Add(1); i == k || i > k && forGood {
								return errno
							}
							return unsynced(c)
						}}
						_, err := p.apply(files...)
						if n.Load() < k {
							break
						}
						now := p.snapshot()
						if err != nil && diag.CodeOf(err) != code {
							t.Fatalf("call %d: %v has code %s, want %s", k, err, diag.CodeOf(err), code)
						}
						if err != nil && !forGood && !cmp.Equal(now, before) {
							t.Fatalf("call %d: failed with %v, but the disk changed (-want +got):\n%s", k, err, cmp.Diff(before, now))
						}
						if err == nil && !cmp.Equal(now, new) {
							t.Fatalf("call %d: succeeded, but (-want +got):\n%s", k, cmp.Diff(new, now))
						}
						p.opt.FS = &fsx.FS{Hook: unsynced}
						p.mustApply(files...)
						if diff := cmp.Diff(new, p.snapshot()); diff != "" {
							t.Fatalf("call %d: after the rerun (-want +got):\n%s", k, diff)
						}
						p.wantClean()
					}
				})
			}
		}
	}
}

// A transaction that could neither be ended nor undone says both.
func TestFailedUndoIsHeard(t *testing.T) {
	p := newProject(t)
	files, _ := scenarios()[1].prepare(p)
	var ending atomic.Bool
	p.opt.FS = &fsx.FS{Hook: func(c fsx.Call) error {
		switch {
		case c.After || !c.Op.Writes():
			return nil
		case c.Op == fsx.OpRemove && filepath.Base(c.Path) == "journal.json":
			ending.Store(true)
			return syscall.EACCES
		case ending.Load():
			return syscall.ENOSPC
		}
		return unsynced(c)
	}}
	_, err := p.apply(files...)
	list := diag.All(err)
	if len(list) < 2 || list[0].Code != diag.PermissionDenied || list[1].Code != diag.DiskFull || list[1].Hint == "" {
		t.Errorf("%d findings: %v", len(list), err)
	}
}

// The same with a real process and a real SIGKILL, at a sample of the calls.
func TestSIGKILL(t *testing.T) {
	sc := scenarios()[1]
	if dir := os.Getenv("INSTALL_TEST_PROJECT"); dir != "" {
		killedChild(t, dir)
		return
	}
	new := sc.after(t)
	for k := 5; k < 200; k += 12 {
		p := newProject(t)
		files, before := sc.prepare(p)
		cmd := exec.Command(os.Args[0], "-test.run=^TestSIGKILL$")
		cmd.Env = append(os.Environ(), "INSTALL_TEST_PROJECT="+p.dir, fmt.Sprint("INSTALL_TEST_KILL=", k))
		out, err := cmd.CombinedOutput()
		if err == nil {
			break // fewer calls than k
		}
		if cmd.ProcessState.Exited() {
			t.Fatalf("child at %d: %v\n%s", k, err, out)
		}
		s, err := install.Begin(t.Context(), p.layout, p.opt)
		must(t, err)
		must(t, s.Close())
		if now := p.snapshot(); !cmp.Equal(now, before) && !cmp.Equal(now, new) {
			t.Fatalf("killed at %d: neither old nor new (-new +got):\n%s", k, cmp.Diff(new, now))
		}
		p.mustApply(files...)
		p.wantClean()
	}
}

// killedChild applies the update in dir and kills itself at the call it was told.
func killedChild(t *testing.T, dir string) {
	var k, n int64
	fmt.Sscan(os.Getenv("INSTALL_TEST_KILL"), &k)
	store, err := cache.Open(filepath.Join(filepath.Dir(dir), "cache"), cache.Options{})
	must(t, err)
	p := &project{t: t, dir: dir, store: store}
	p.layout = install.Layout{Root: dir, State: ".skillpm", Files: []string{p.path("skills.toml"), p.path("skills.lock")}}
	p.want = install.Desired{Targets: []string{main, second}}
	counter := atomic.Int64{}
	p.opt = install.Options{Store: store, FS: &fsx.FS{Hook: func(c fsx.Call) error {
		if n = counter.Add(1); n == k {
			self, err := os.FindProcess(os.Getpid())
			must(t, err)
			must(t, self.Kill())
			select {}
		}
		return unsynced(c)
	}}}
	items, files := scenarios()[1].new(p)
	p.order(items...)
	old := []install.Item{{Key: "alpha", Digest: alpha.digest(t)}, {Key: "beta", Digest: beta.digest(t)}, {Key: "gamma", Digest: gamma.digest(t)}}
	p.want.OldLock = map[skill.Key]skill.Digest{}
	for _, item := range old {
		p.want.OldLock[item.Key] = item.Digest
	}
	p.mustApply(files...)
}

// A cancelled run stops and changes nothing.
func TestCancelled(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha), p.put("beta", beta))
	s, err := install.Begin(t.Context(), p.layout, p.opt)
	must(t, err)
	defer s.Close()
	plan, err := s.Plan(t.Context(), p.want)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Apply(ctx, plan, p.lock("new")); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply = %v", err)
	}
	for name := range p.snapshot() {
		if strings.Contains(name, "alpha") || strings.Contains(name, "skills.lock") {
			t.Errorf("the cancelled run left %s", name)
		}
	}
}

// What a run that was killed before its journal had staged goes with the next
// run, also one that has nothing to do.
func TestStagingOfAKilledRunGoes(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha))
	p.mustApply()
	alpha.write(t, p.path(".skillpm/stage/new/0"))
	plan := p.preview()
	if !plan.NoOp() {
		t.Errorf("staging alone is work: %v", kinds(plan))
	}
	install.Refresh(t.Context(), p.layout, p.opt, plan)
	if _, err := os.Lstat(p.path(".skillpm/stage")); !os.IsNotExist(err) {
		t.Errorf("the staging is still there: %v", err)
	}
}
