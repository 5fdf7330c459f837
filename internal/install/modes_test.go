package install_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/skill"
)

func (p *project) isLink(elem ...string) bool {
	info, err := os.Lstat(p.path(elem...))
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

func (p *project) modes() map[string]install.Mode {
	p.t.Helper()
	return p.mustApply(p.lock(fmt.Sprint(time.Now()))).Modes
}

func TestLinkModes(t *testing.T) {
	const a, b = main + "/alpha", second + "/alpha"
	for _, tc := range []struct {
		link  install.Link
		fakes fsx.Fakes
		want  map[string]install.Mode
	}{
		{install.LinkDefault, fsx.Fakes{}, map[string]install.Mode{a: install.ModeCopy, b: install.ModeLink}},
		{install.LinkCopy, fsx.Fakes{}, map[string]install.Mode{a: install.ModeCopy, b: install.ModeCopy}},
		{install.LinkHardlink, fsx.Fakes{}, map[string]install.Mode{a: install.ModeHardlink, b: install.ModeLink}},
		{install.LinkSymlink, fsx.Fakes{}, map[string]install.Mode{a: install.ModeStore, b: install.ModeLink}},
		{install.LinkDefault, fsx.Fakes{NoSymlinks: true}, map[string]install.Mode{a: install.ModeCopy, b: install.ModeCopy}},
		{install.LinkSymlink, fsx.Fakes{NoSymlinks: true}, map[string]install.Mode{a: install.ModeCopy, b: install.ModeCopy}},
		{install.LinkHardlink, fsx.Fakes{NoHardlinks: true}, map[string]install.Mode{a: install.ModeCopy, b: install.ModeLink}},
	} {
		t.Run(fmt.Sprintf("%s %+v", tc.link, tc.fakes), func(t *testing.T) {
			p := newProject(t)
			p.want.Link, p.opt.FS.Fakes = tc.link, tc.fakes
			p.order(p.put("alpha", alpha))
			if diff := cmp.Diff(tc.want, p.modes()); diff != "" {
				t.Errorf("modes (-want +got):\n%s", diff)
			}
			p.wantClean()
			if plan := p.preview(); !plan.NoOp() {
				t.Errorf("planned again: %v", kinds(plan))
			}
			// What was used is kept on update, also when links are to be had again.
			p.opt.FS.Fakes = fsx.Fakes{}
			p.order(p.put("alpha", alpha2))
			if diff := cmp.Diff(tc.want, p.modes()); diff != "" {
				t.Errorf("modes after the update (-want +got):\n%s", diff)
			}
			p.wantClean()
			for _, dir := range []string{main, second} {
				if got, err := os.ReadFile(p.path(dir, "alpha/SKILL.md")); err != nil || string(got) != "alpha 2" {
					t.Errorf("%s holds %q, %v", dir, got, err)
				}
			}
			// Another setting converts.
			p.want.Link = install.LinkCopy
			p.order(p.want.Items...)
			if diff := cmp.Diff(map[string]install.Mode{a: install.ModeCopy, b: install.ModeCopy}, p.modes()); diff != "" {
				t.Errorf("modes after link = copy (-want +got):\n%s", diff)
			}
			if p.isLink(main, "alpha") || p.isLink(second, "alpha") {
				t.Error("a link is left")
			}
			p.wantClean()
		})
	}
}

// Agents share directories, and people link one to the other: a skill must not
// be replaced by a link to itself.
func TestTargetLinkedToTarget(t *testing.T) {
	p := newProject(t)
	must(t, os.MkdirAll(p.path(main), 0o755))
	must(t, os.MkdirAll(p.path(".claude"), 0o755))
	must(t, os.Symlink("../.agents/skills", p.path(second)))
	p.order(p.put("alpha", alpha))
	for range 2 {
		p.mustApply(p.lock("x"))
		if p.isLink(main, "alpha") {
			t.Fatal("the skill is a link to itself")
		}
		p.wantClean()
	}
	// The link appears after an install: the second target's receipt is stale.
	p = newProject(t)
	p.order(p.put("alpha", alpha))
	p.mustApply()
	must(t, os.RemoveAll(p.path(second)))
	must(t, os.Symlink("../.agents/skills", p.path(second)))
	p.mustApply()
	p.wantClean()
	if p.isLink(main, "alpha") {
		t.Fatal("the skill is a link to itself")
	}
}

// Links are reckoned from where a target really is.
func TestTargetBehindALink(t *testing.T) {
	p := newProject(t)
	must(t, os.MkdirAll(p.path("config/agents/claude"), 0o755))
	must(t, os.Symlink("config/agents/claude", p.path(".claude")))
	p.order(p.put("alpha", alpha))
	p.mustApply()
	if got, err := os.ReadFile(p.path(second, "alpha/SKILL.md")); err != nil || string(got) != "alpha" {
		t.Errorf("read through both links: %q, %v", got, err)
	}
	p.wantClean()
}

func TestExposeDirect(t *testing.T) {
	p := newProject(t)
	hidden := p.put("beta", beta)
	hidden.Transitive = true
	p.order(p.put("alpha", alpha), hidden)
	p.mustApply(p.lock("all"))
	p.want.ExposeDirect = true
	p.order(p.want.Items...)
	p.mustApply(p.lock("direct"))
	for name, want := range map[string]bool{main + "/alpha": true, main + "/beta": false, second + "/beta": false, ".skillpm/skills/beta": true} {
		if _, err := os.Stat(p.path(name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	p.wantClean()
	p.want.ExposeDirect = false
	p.order(p.want.Items...)
	p.mustApply(p.lock("all"))
	p.wantClean()
	if _, err := os.Stat(p.path(".skillpm/skills/beta")); err == nil {
		t.Error("the hidden copy stayed")
	}
}

func TestPathSkills(t *testing.T) {
	house := files{"SKILL.md": "house", "x:run": "run"}
	t.Run("link", func(t *testing.T) {
		p := newProject(t)
		house.write(t, p.path("skills/house"))
		p.want.Items = []install.Item{{Key: "house", Path: "skills/house"}}
		want := map[string]install.Mode{main + "/house": install.ModeLink, second + "/house": install.ModeLink}
		if diff := cmp.Diff(want, p.modes()); diff != "" {
			t.Errorf("modes (-want +got):\n%s", diff)
		}
		must(t, os.WriteFile(p.path("skills/house/SKILL.md"), []byte("edited"), 0o644))
		for _, dir := range []string{main, second} {
			if got, err := os.ReadFile(p.path(dir, "house/SKILL.md")); err != nil || string(got) != "edited" {
				t.Errorf("%s shows %q, %v", dir, got, err)
			}
		}
		p.wantClean()
		if !p.preview().NoOp() {
			t.Error("an edit of a path skill is work to do")
		}
		p.want.Items = nil
		p.mustApply(p.lock("none"))
		if _, err := os.Stat(p.path("skills/house/SKILL.md")); err != nil {
			t.Errorf("removing the link removed the skill: %v", err)
		}
	})
	for name, set := range map[string]func(*project){
		"copy":     func(p *project) { p.want.Link = install.LinkCopy },
		"fallback": func(p *project) { p.opt.FS.Fakes.NoSymlinks = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			set(p)
			house.write(t, p.path("skills/house"))
			must(t, os.MkdirAll(p.path("skills/house/.git"), 0o755))
			must(t, os.WriteFile(p.path("skills/house/.git/HEAD"), nil, 0o644))
			p.want.Items = []install.Item{{Key: "house", Path: "skills/house"}}
			want := map[string]install.Mode{main + "/house": install.ModeCopy, second + "/house": install.ModeCopy}
			if diff := cmp.Diff(want, p.modes()); diff != "" {
				t.Errorf("modes (-want +got):\n%s", diff)
			}
			if _, err := os.Stat(p.path(main, "house/.git")); err == nil {
				t.Error(".git was copied")
			}
			if !p.preview().NoOp() {
				t.Errorf("planned again: %v", kinds(p.preview()))
			}
			must(t, os.WriteFile(p.path("skills/house/SKILL.md"), []byte("edited!"), 0o644))
			p.mustApply(p.lock("x"))
			if got, err := os.ReadFile(p.path(second, "house/SKILL.md")); err != nil || string(got) != "edited!" {
				t.Errorf("the copy holds %q, %v", got, err)
			}
		})
	}
	t.Run("in place", func(t *testing.T) {
		p := newProject(t)
		house.write(t, p.path(main, "house"))
		before := p.snapshot()
		p.want.Items = []install.Item{{Key: "house", Path: main + "/house"}}
		want := map[string]install.Mode{main + "/house": install.ModeInPlace, second + "/house": install.ModeLink}
		if diff := cmp.Diff(want, p.modes()); diff != "" {
			t.Errorf("modes (-want +got):\n%s", diff)
		}
		p.want.Items = nil
		p.mustApply(p.lock("none"))
		after := p.snapshot()
		for name, content := range before {
			if after[name] != content {
				t.Errorf("%s changed to %q", name, after[name])
			}
		}
	})
	t.Run("outside the project", func(t *testing.T) {
		p := newProject(t)
		house.write(t, filepath.Join(p.dir, "../shared/house"))
		p.want.Items = []install.Item{{Key: "house", Path: "../shared/house"}}
		p.mustApply()
		if got, err := os.ReadFile(p.path(second, "house/SKILL.md")); err != nil || string(got) != "house" {
			t.Errorf("the link shows %q, %v", got, err)
		}
		p.wantClean()
	})
	t.Run("missing", func(t *testing.T) {
		p := newProject(t)
		p.want.Items = []install.Item{{Key: "house", Path: "skills/house"}}
		if _, err := p.apply(); diag.CodeOf(err) != diag.PathMissing {
			t.Errorf("apply = %v, want path_missing", err)
		}
	})
}

// -g: targets in the home directory, the private directory elsewhere below it.
func TestUserScope(t *testing.T) {
	p := newProject(t)
	p.layout.State = ".config/skillpm/global/.skillpm"
	p.order(p.put("alpha", alpha))
	p.mustApply()
	p.wantClean()
	if _, err := os.Stat(p.path(".skillpm")); err == nil {
		t.Error("a private directory in the home directory itself")
	}
}

func TestSignatureFile(t *testing.T) {
	p := newProject(t)
	item := p.put("alpha", alpha)
	bundle, err := p.store.PutBundle([]byte("signed"))
	must(t, err)
	item.Bundle = bundle
	p.order(item)
	p.mustApply(p.lock("1"))
	p.wantClean()
	sig := p.path(main, "alpha", skill.SignatureFile)
	if got, err := os.ReadFile(sig); err != nil || string(got) != "signed" {
		t.Errorf("signature %q, %v", got, err)
	}
	check := func(want diag.Code) {
		t.Helper()
		found := p.verify()
		if len(found) != 1 || found[0].Code != want || found[0].File != skill.SignatureFile {
			t.Errorf("verify %v, want %s", found, want)
		}
	}
	must(t, os.WriteFile(sig, []byte("forged"), 0o644))
	check(diag.VerifyChanged)
	must(t, os.Remove(sig))
	check(diag.VerifyMissing)
	p.mustApply(p.lock("2")) // the tree is ours, so the signature is restored
	p.wantClean()
	p.want.Items[0].Bundle = ""
	check(diag.VerifyExtra)

	p.want.Items[0].Bundle = skill.DigestOf([]byte("never stored"))
	_, err = p.apply()
	if e, ok := errors.AsType[*install.DamagedError](err); !ok || len(e.Bundles) != 1 {
		t.Errorf("apply without the bundle = %v", err)
	}
}

// A store that lost or changed a tree: nothing is installed, and the caller
// learns what to fetch.
func TestDamagedStore(t *testing.T) {
	p := newProject(t)
	good, bad := p.put("alpha", alpha), p.put("beta", beta)
	name := filepath.Join(p.store.TreeDir(bad.Digest), "SKILL.md")
	must(t, os.Chmod(name, 0o644))
	must(t, os.WriteFile(name, []byte("evil"), 0o644))
	p.order(good, bad)
	before := p.snapshot()
	for _, what := range []string{"changed", "gone"} {
		_, err := p.apply()
		e, ok := errors.AsType[*install.DamagedError](err)
		if !ok || len(e.Trees) != 1 || e.Trees[0] != bad.Digest {
			t.Errorf("%s: apply = %v", what, err)
		}
		if diff := cmp.Diff(before, p.snapshot()); diff != "" {
			t.Errorf("%s: the disk changed (-want +got):\n%s", what, diff)
		}
	}
	p.put("beta", beta)
	p.mustApply()
	p.wantClean()
}

// A disk without executable bits takes them from the store's manifest.
func TestNoExecutableBit(t *testing.T) {
	p := newProject(t)
	p.opt.FS.Fakes.NoExec = true
	p.order(p.put("alpha", alpha))
	p.mustApply()
	p.wantClean()
	if !p.preview().NoOp() {
		t.Errorf("planned again: %v", kinds(p.preview()))
	}
	p.order(p.put("alpha", alpha2))
	p.mustApply(p.lock("x"))
	p.wantClean()
}

// A busy file below a skill delays a swap, as scanners do on Windows.
func TestBusyRename(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha))
	p.mustApply()
	p.opt.FS.Fakes.BusyRenames = new(atomic.Int64)
	p.opt.FS.Fakes.BusyRenames.Store(3)
	p.order(p.put("alpha", alpha2))
	p.mustApply(p.lock("x"))
	p.wantClean()
}

// Whatever is wanted after whatever was: the plan applied is clean, and planned
// again it is a no-op.
func TestPlanTwiceIsNoOp(t *testing.T) {
	p := newProject(t)
	pool := []files{alpha, alpha2, beta, gamma}
	links := []install.Link{install.LinkDefault, install.LinkCopy, install.LinkHardlink, install.LinkSymlink}
	sets := [][]string{{main}, {second}, {main, second}, {second, main, ".x/skills"}}
	rapid.Check(t, func(r *rapid.T) {
		var items []install.Item
		for _, key := range []string{"a", "b", "c", "d"} {
			if i := rapid.IntRange(-1, len(pool)-1).Draw(r, key); i >= 0 {
				item := p.put(key, pool[i])
				item.Transitive = key == "d"
				items = append(items, item)
			}
		}
		p.want.OldTargets = p.want.Targets
		p.want.Targets = rapid.SampledFrom(sets).Draw(r, "targets")
		p.want.Link = rapid.SampledFrom(links).Draw(r, "link")
		p.want.ExposeDirect = rapid.Bool().Draw(r, "direct")
		if rapid.Bool().Draw(r, "lose receipt") && len(p.want.Items) == 0 {
			_ = os.Remove(p.path(".skillpm/receipt.json"))
		}
		p.order(items...)
		p.opt.FS.Fakes.NoSymlinks = rapid.Bool().Draw(r, "no links")
		if _, err := p.apply(p.lock(fmt.Sprint(items))); err != nil {
			r.Fatalf("apply: %v", err)
		}
		if found := p.verify(); len(found) > 0 {
			r.Fatalf("verify: %v", found)
		}
		if plan := p.preview(); !plan.NoOp() {
			r.Fatalf("planned again: %s", strings.Join(kinds(plan), "\n"))
		}
	})
}

// The store was cleared, and links lead into it: that is work to do, not a no-op.
func TestStoreLinkDangles(t *testing.T) {
	p := newProject(t)
	p.want.Link = install.LinkSymlink
	p.order(p.put("alpha", alpha))
	p.mustApply()
	must(t, p.store.Discard(alpha.digest(t)))
	plan := p.preview()
	if got := fmt.Sprint(kinds(plan)); plan.NoOp() || got != "[replace .agents/skills/alpha store keep .claude/skills/alpha link]" {
		t.Fatalf("plan %v", got)
	}
	if _, err := p.apply(); err == nil {
		t.Fatal("a link to nothing was installed")
	}
	p.put("alpha", alpha)
	p.mustApply()
	p.wantClean()
}

// On a disk that folds case, a foreign PDF is in the way of pdf.
func TestCaseFoldingDisk(t *testing.T) {
	p := newProject(t)
	p.opt.FS.Fakes.CaseInsensitive = true
	p.want.Targets = []string{main}
	beta.write(t, p.path(main, "ALPHA"))
	p.order(p.put("alpha", alpha))
	if _, err := p.apply(); diag.CodeOf(err) != diag.InstallConflict {
		t.Errorf("apply = %v, want install_conflict", err)
	}
	if got, err := os.ReadFile(p.path(main, "ALPHA/SKILL.md")); err != nil || string(got) != "beta" {
		t.Errorf("the foreign skill holds %q, %v", got, err)
	}
}
