package install_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/install"
)

// The no-op path hashes nothing and copies nothing once the receipt is old
// enough to prove something, and hashes as long as it is not.
func TestNoOpCounters(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha), p.put("beta", beta))
	p.mustApply()
	plan := p.preview()
	if got := plan.Counters(); !plan.NoOp() || got.Hashed == 0 {
		t.Errorf("just written: no-op %v, %+v; a young entry proves nothing and must be hashed", plan.NoOp(), got)
	}
	install.Refresh(t.Context(), p.layout, p.opt, plan)
	if got := p.preview().Counters(); got.Hashed == 0 {
		t.Errorf("refreshed at once: %+v", got)
	}
	p.opt.Now = func() time.Time { return time.Now().Add(3 * time.Second) }
	install.Refresh(t.Context(), p.layout, p.opt, p.preview())
	p.opt.Store = nil // nor is the store asked
	plan = p.preview()
	if got := plan.Counters(); !plan.NoOp() || got.Hashed != 0 || got.Copied != 0 || got.Stats == 0 {
		t.Errorf("no-op %v, %+v", plan.NoOp(), got)
	}
	if stats := p.store.IndexStats(); stats.ReadOpens != 0 || stats.WriteTransactions != 0 {
		t.Errorf("the index was opened: %+v", stats)
	}
	// A change that keeps the size and restores the mtime still shows, by ctime.
	name := p.path(main, "beta/SKILL.md")
	info, err := os.Stat(name)
	must(t, err)
	must(t, os.WriteFile(name, []byte("BETA"), 0o644))
	must(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	if plan := p.preview(); len(plan.Conflicts()) != 1 {
		t.Errorf("the edit was not seen: %v", kinds(plan))
	}
}

func TestVerifyFindings(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha), p.put("beta", beta), p.put("gamma", gamma))
	p.mustApply()
	must(t, os.WriteFile(p.path(main, "alpha/SKILL.md"), []byte("alphA"), 0o644))
	must(t, os.Chmod(p.path(main, "alpha/scripts/run"), 0o644))
	must(t, os.Remove(p.path(main, "alpha/ref/deep/a.md")))
	must(t, os.WriteFile(p.path(main, "alpha/new.md"), nil, 0o644))
	must(t, os.Symlink("/etc/passwd", p.path(main, "alpha/passwd")))
	must(t, os.RemoveAll(p.path(main, "beta")))
	must(t, os.Remove(p.path(second, "gamma")))
	must(t, os.Symlink("../../elsewhere", p.path(second, "gamma")))
	var got []string
	for _, f := range p.verify() {
		got = append(got, fmt.Sprintf("%s %s %s", f.Code, f.Place, f.File))
	}
	want := []string{
		"verify_changed .agents/skills/alpha SKILL.md",
		"verify_extra .agents/skills/alpha new.md",
		"verify_extra .agents/skills/alpha passwd",
		"verify_missing .agents/skills/alpha ref/deep/a.md",
		"verify_changed .agents/skills/alpha scripts/run",
		"verify_missing .agents/skills/beta ",
		"verify_changed .claude/skills/gamma ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	diffs, err := install.Diff(t.Context(), p.layout, p.opt, main+"/alpha", alpha.digest(t))
	must(t, err)
	var names []string
	for _, d := range diffs {
		names = append(names, fmt.Sprintf("%s %v %v", d.Path, d.Old != nil, d.New != nil))
	}
	want = []string{"SKILL.md true true", "new.md false true", "passwd false true", "ref/deep/a.md true false", "scripts/run true true"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
	if string(diffs[0].Old.Data) != "alpha" || string(diffs[0].New.Data) != "alphA" {
		t.Errorf("contents %q and %q", diffs[0].Old.Data, diffs[0].New.Data)
	}
}
