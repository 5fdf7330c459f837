package install_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/skill"
)

// What is ours, and what is the user's: each case prepares the first target by
// hand and says what an install of alpha plans there.
func TestOwnership(t *testing.T) {
	at := main + "/alpha"
	for _, tc := range []struct {
		name    string
		prepare func(p *project)
		want    install.Kind // of .agents/skills/alpha
	}{
		{"nothing there", func(p *project) {}, install.Create},
		{"equal to the new lock, no receipt", func(p *project) { alpha2.write(p.t, p.path(at)) }, install.Adopt},
		{"equal to the old lock, no receipt", func(p *project) {
			alpha.write(p.t, p.path(at))
			p.want.OldLock = map[skill.Key]skill.Digest{"alpha": alpha.digest(p.t)}
		}, install.Replace},
		{"foreign directory", func(p *project) { beta.write(p.t, p.path(at)) }, install.Conflict},
		{"empty directory", func(p *project) { must(p.t, os.MkdirAll(p.path(at), 0o755)) }, install.Replace},
		{"file in the way", func(p *project) {
			must(p.t, os.MkdirAll(p.path(main), 0o755))
			must(p.t, os.WriteFile(p.path(at), []byte("mine"), 0o644))
		}, install.Conflict},
		{"foreign link", func(p *project) {
			must(p.t, os.MkdirAll(p.path(main), 0o755))
			must(p.t, os.Symlink("/etc", p.path(at)))
		}, install.Conflict},
		{"directory with a link in it", func(p *project) {
			alpha2.write(p.t, p.path(at))
			must(p.t, os.Symlink("/etc/passwd", p.path(at, "passwd")))
		}, install.Conflict},
		{"ours by the receipt", func(p *project) { p.receiptOf(alpha) }, install.Replace},
		{"ours, then edited", func(p *project) {
			p.receiptOf(alpha)
			must(p.t, os.WriteFile(p.path(at, "SKILL.md"), []byte("my edit"), 0o644))
		}, install.Conflict},
		{"ours, mode flipped", func(p *project) {
			p.receiptOf(alpha)
			must(p.t, os.Chmod(p.path(at, "SKILL.md"), 0o755))
		}, install.Conflict},
		{"ours, file added", func(p *project) {
			p.receiptOf(alpha)
			must(p.t, os.WriteFile(p.path(at, "note.md"), []byte("x"), 0o644))
		}, install.Conflict},
		{"ours, edited to what is wanted", func(p *project) {
			p.receiptOf(alpha)
			must(p.t, os.RemoveAll(p.path(at)))
			alpha2.write(p.t, p.path(at))
		}, install.Adopt},
		{"ours, receipt lost, edited", func(p *project) {
			p.receiptOf(alpha)
			must(p.t, os.Remove(p.path(".skillpm/receipt.json")))
			must(p.t, os.WriteFile(p.path(at, "SKILL.md"), []byte("my edit"), 0o644))
			p.want.OldLock = map[skill.Key]skill.Digest{"alpha": alpha.digest(p.t)}
		}, install.Conflict},
		{"ours, receipt garbled", func(p *project) {
			p.receiptOf(alpha)
			must(p.t, os.WriteFile(p.path(".skillpm/receipt.json"), []byte("{"), 0o644))
			p.want.OldLock = map[skill.Key]skill.Digest{"alpha": alpha.digest(p.t)}
		}, install.Replace},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProject(t)
			p.want.Targets = []string{main}
			tc.prepare(p)
			p.want.Items = []install.Item{p.put("alpha", alpha2)}
			plan := p.preview()
			if len(plan.Actions) != 1 || plan.Actions[0].Kind != tc.want {
				t.Fatalf("plan %v, want one %s", kinds(plan), tc.want)
			}
			before := p.snapshot()
			_, err := p.apply(p.lock("new"))
			if tc.want == install.Conflict {
				if diag.CodeOf(err) != diag.InstallConflict {
					t.Errorf("apply = %v, want install_conflict", err)
				}
				if diff := cmp.Diff(before, p.snapshot()); diff != "" {
					t.Errorf("a refused install changed (-want +got):\n%s", diff)
				}
				p.want.Force = true
				_, err = p.apply(p.lock("new"))
			}
			must(t, err)
			p.wantClean()
			if plan := p.preview(); !plan.NoOp() {
				t.Errorf("planned again: %v", kinds(plan))
			}
		})
	}
}

// An unreadable receipt is noted once a plan, and rebuilt.
func TestGarbledReceipt(t *testing.T) {
	p := newProject(t)
	p.receiptOf(alpha)
	must(t, os.WriteFile(p.path(".skillpm/receipt.json"), []byte("{"), 0o644))
	p.notes = nil
	p.mustApply()
	p.mustApply()
	if diff := cmp.Diff([]diag.Code{diag.CacheCorrupt}, p.notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// receiptOf installs f as alpha in the first target.
func (p *project) receiptOf(f files) {
	p.t.Helper()
	p.want.Items = []install.Item{p.put("alpha", f)}
	p.mustApply()
}

func TestRemoval(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(p *project)
		want    string // plan of the first target
	}{
		{"by the receipt", func(p *project) { p.receiptOf(alpha) }, "remove"},
		{"from the lock alone", func(p *project) {
			alpha.write(p.t, p.path(main, "alpha"))
			p.want.OldLock = map[skill.Key]skill.Digest{"alpha": alpha.digest(p.t)}
		}, "remove"},
		{"directory gone already", func(p *project) {
			p.receiptOf(alpha)
			must(p.t, os.RemoveAll(p.path(main, "alpha")))
		}, ""},
		{"edited", func(p *project) {
			p.receiptOf(alpha)
			must(p.t, os.WriteFile(p.path(main, "alpha/SKILL.md"), []byte("edit"), 0o644))
		}, "conflict"},
		{"not ours", func(p *project) { alpha.write(p.t, p.path(main, "alpha")) }, "unmanaged"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProject(t)
			p.want.Targets = []string{main}
			tc.prepare(p)
			p.want.Items = nil
			var got []string
			for _, a := range p.preview().Actions {
				got = append(got, string(a.Kind))
			}
			if strings.Join(got, " ") != tc.want {
				t.Fatalf("plan %v, want %q", got, tc.want)
			}
			_, err := p.apply(p.lock("new"))
			if tc.want == "conflict" {
				if diag.CodeOf(err) != diag.InstallConflict {
					t.Errorf("apply = %v", err)
				}
				return
			}
			must(t, err)
			_, err = os.Lstat(p.path(main, "alpha"))
			if there := err == nil; there != (tc.want == "unmanaged") {
				t.Errorf("alpha is there: %v", there)
			}
			if plan := p.preview(); !plan.NoOp() {
				t.Errorf("planned again: %v", kinds(plan))
			}
		})
	}
}

// Foreign skills in every target are named and never touched.
func TestUnmanaged(t *testing.T) {
	p := newProject(t)
	beta.write(t, p.path(main, "mine"))
	beta.write(t, p.path(second, ".hidden"))
	must(t, os.MkdirAll(p.path(main, "no-skill"), 0o755))
	must(t, os.WriteFile(p.path(main, "README.md"), nil, 0o644))
	p.order(p.put("alpha", alpha))
	var got []string
	for _, a := range p.preview().Of(install.Unmanaged) {
		got = append(got, a.Path())
	}
	if diff := cmp.Diff([]string{main + "/mine", second + "/.hidden"}, got); diff != "" {
		t.Errorf("unmanaged (-want +got):\n%s", diff)
	}
	before := p.snapshot()
	p.mustApply()
	after := p.snapshot()
	maps.DeleteFunc(after, func(name, _ string) bool { _, ok := before[name]; return !ok })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("foreign files changed (-want +got):\n%s", diff)
	}
	var codes []diag.Code
	for _, f := range p.verify() {
		codes = append(codes, f.Code)
		if f.Diag(false).Severity != diag.SeverityNote || f.Diag(true).Severity != diag.SeverityError {
			t.Errorf("severity of %v", f)
		}
	}
	if diff := cmp.Diff([]diag.Code{diag.SkillUnlocked, diag.SkillUnlocked}, codes); diff != "" {
		t.Errorf("verify (-want +got):\n%s", diff)
	}
}

// A lock edited by hand, a hostile checkout: refused before anything is written.
func TestHostile(t *testing.T) {
	item := func(key string) func(*project) {
		return func(p *project) { p.want.Items[0].Key = skill.Key(key) }
	}
	target := func(dir string) func(*project) { return func(p *project) { p.want.Targets = []string{dir} } }
	link := func(text, at string) func(*project) {
		return func(p *project) {
			must(p.t, os.MkdirAll(p.path(at), 0o755))
			must(p.t, os.Remove(p.path(at)))
			must(p.t, os.Symlink(text, p.path(at)))
		}
	}
	for name, tc := range map[string]struct {
		do   func(*project)
		code diag.Code
	}{
		"key climbs":              {item("../../evil"), diag.NameNeeded},
		"key is a path":           {item("a/b"), diag.NameNeeded},
		"key is a device":         {item("nul"), diag.NameNeeded},
		"key is dots":             {item(".."), diag.NameNeeded},
		"digest is a path":        {func(p *project) { p.want.Items[0].Digest = "sha256:../../../x" }, diag.DependencyDigest},
		"two keys, one directory": {func(p *project) { p.want.Items = append(p.want.Items, p.put("ALPHA", beta)) }, diag.NameCollision},
		"target climbs":           {target("../outside"), diag.TargetUnsafe},
		"target is absolute":      {target("/tmp/outside"), diag.TargetUnsafe},
		"target is the root":      {target("."), diag.TargetUnsafe},
		"target is .git":          {target(".git/hooks"), diag.TargetUnsafe},
		"target is our own":       {target(".skillpm/stage"), diag.TargetUnsafe},
		"target links out":        {link("../../..", main), diag.TargetUnsafe},
		"parent links out":        {link("/tmp", ".agents"), diag.TargetUnsafe},
		"target dangles":          {link("nowhere", main), diag.TargetUnsafe},
		"target is a file": {func(p *project) {
			must(p.t, os.Mkdir(p.path(".agents"), 0o755))
			must(p.t, os.WriteFile(p.path(main), nil, 0o644))
		}, diag.InstallConflict},
		"targets in each other":       {func(p *project) { p.want.Targets = []string{main, main + "/more"} }, diag.TargetUnsafe},
		"private directory is a link": {link("/tmp", ".skillpm"), diag.TargetUnsafe},
		"lock file is a link":         {link("/tmp/evil", ".skillpm/lock"), diag.TargetUnsafe},
		"another tool's directory": {func(p *project) {
			must(p.t, os.Mkdir(p.path(".skillpm"), 0o755))
			must(p.t, os.WriteFile(p.path(".skillpm/skills.toml"), nil, 0o644))
		}, diag.ManifestForeign},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.want.Targets = []string{main}
			p.want.Items = []install.Item{p.put("alpha", alpha)}
			tc.do(p)
			before := p.snapshot()
			_, err := p.apply(p.lock("new"))
			if diag.CodeOf(err) != tc.code {
				t.Errorf("apply = %v (%s), want %s", err, diag.CodeOf(err), tc.code)
			}
			if diff := cmp.Diff(before, p.snapshot()); diff != "" {
				t.Errorf("a refused install changed (-want +got):\n%s", diff)
			}
		})
	}
}

// A journal that a checkout brought along, or that outlived its staging, takes
// nothing away and writes nothing outside.
func TestStaleAndHostileJournals(t *testing.T) {
	const head = `{"format":"skillpm-journal","journalVersion":1,`
	for name, tc := range map[string]struct {
		journal string
		code    diag.Code // "" for none
	}{
		"replaces what is there": {head + `"swaps":[{"place":".agents/skills/alpha","old":true,"new":true}]}`, ""},
		"removes what is there":  {head + `"swaps":[{"place":".agents/skills/alpha","old":true}]}`, ""},
		"climbs":                 {head + `"swaps":[{"place":"../../evil/x","new":true}]}`, diag.InstallConflict},
		"into .git":              {head + `"swaps":[{"place":".git/hooks","new":true}]}`, diag.InstallConflict},
		"file outside":           {head + `"files":[{"path":"/etc/passwd"}]}`, diag.InstallConflict},
		"garbled":                {`{"format":`, diag.InstallConflict},
		"newer":                  {`{"format":"skillpm-journal","journalVersion":2}`, diag.ReceiptVersion},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.order(p.put("alpha", alpha))
			p.mustApply(p.lock("old"))
			before := p.snapshot()
			must(t, os.WriteFile(p.path(".skillpm/journal.json"), []byte(tc.journal), 0o644))
			if !p.preview().Pending {
				t.Error("preview does not see the unfinished run")
			}
			s, err := install.Begin(t.Context(), p.layout, p.opt)
			if diag.CodeOf(err) != tc.code {
				t.Errorf("Begin = %v, want %q", err, tc.code)
			}
			if err == nil {
				must(t, s.Close())
				p.wantClean()
			}
			if diff := cmp.Diff(before, p.snapshot()); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
		})
	}
}

// An edit made between a kill and the next run is nobody's to lose.
func TestEditAfterKill(t *testing.T) {
	sc := scenarios()[1]
	for k := int64(1); ; k++ {
		p := newProject(t)
		files, _ := sc.prepare(p)
		hook, calls := killer(k)
		p.opt.FS.Hook = hook
		if _, err := p.apply(files...); err == nil && calls.Load() < k {
			return
		}
		p.opt.FS.Hook = unsynced
		edited := p.path("skills.toml")
		must(t, os.WriteFile(edited, []byte("my edit"), 0o644))
		mine := p.path(main, "alpha/SKILL.md")
		there := os.WriteFile(mine, []byte("my edit"), 0o644) == nil
		s, err := install.Begin(t.Context(), p.layout, p.opt)
		if err != nil {
			t.Fatalf("kill at %d: %v", k, err)
		}
		must(t, s.Close())
		for _, name := range []string{edited, mine} {
			b, err := os.ReadFile(name)
			if name == mine && !there {
				continue
			}
			if err != nil || string(b) != "my edit" {
				t.Fatalf("kill at %d: %s lost the edit: %q, %v", k, name, b, err)
			}
		}
	}
}

// Two runs at once: the second says that it waits, then sees what the first did.
func TestTwoInstalls(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha))
	first, err := install.Begin(t.Context(), p.layout, p.opt)
	must(t, err)
	said := make(chan string, 1)
	done := make(chan error, 1)
	opt := p.opt
	opt.Announce = func(message string) { said <- message }
	go func() {
		s, err := install.Begin(t.Context(), p.layout, opt)
		if err != nil {
			done <- err
			return
		}
		defer s.Close()
		plan, err := s.Plan(t.Context(), p.want)
		if err == nil && !plan.NoOp() {
			err = fmt.Errorf("the second run plans %v", kinds(plan))
		}
		done <- err
	}()
	if message := <-said; !strings.Contains(message, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("announced %q without who is waited for", message)
	}
	plan, err := first.Plan(t.Context(), p.want)
	must(t, err)
	_, err = first.Apply(t.Context(), plan)
	must(t, err)
	must(t, first.Close())
	must(t, <-done)

	p.opt.Wait = -1
	s, err := install.Begin(t.Context(), p.layout, p.opt)
	must(t, err)
	defer s.Close()
	if _, err := install.Begin(t.Context(), p.layout, p.opt); diag.CodeOf(err) != diag.ProjectLocked {
		t.Errorf("Begin = %v, want project_locked", err)
	}
}
