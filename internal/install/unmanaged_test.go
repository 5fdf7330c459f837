package install_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/install"
)

// Agents descend, so a skill is found at any depth that one of them searches, in
// dot directories, behind a link, and as the target itself; inside our own skills
// nothing is.
func TestUnmanagedDeep(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", files{"SKILL.md": "alpha", "sub/SKILL.md": "part of alpha"}), install.Item{Key: "house", Path: main + "/own/house"})
	for _, dir := range []string{
		main + "/own/house", main + "/grp/zz", main + "/grp/zz/inner", main + "/.dot/.dot/x", main + "/1/2/3/4/5/6", main + "/a/2/3/4/5/6/7", second,
	} {
		beta.write(t, p.path(dir))
	}
	must(t, os.Symlink("../../../elsewhere", p.path(main, "grp/nowhere")))
	must(t, os.Symlink("zz", p.path(main, "grp/link")))
	p.mustApply()
	var got []string
	for _, a := range p.preview().Of(install.Unmanaged) {
		got = append(got, a.Path())
	}
	want := []string{main + "/.dot/.dot/x", main + "/1/2/3/4/5/6", main + "/grp/link", main + "/grp/zz", second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unmanaged (-want +got):\n%s", diff)
	}
	got = nil
	for _, f := range p.verify() {
		got = append(got, f.Place)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verify (-want +got):\n%s", diff)
	}
}

// More directories than are entered are said, not passed over.
func TestUnmanagedMany(t *testing.T) {
	p := newProject(t)
	for i := range 2003 {
		must(t, os.MkdirAll(p.path(main, fmt.Sprintf("d%04d", i)), 0o755))
	}
	got := p.preview().Of(install.Unmanaged)
	if len(got) != 1 || got[0].Path() != main+"/d2000" {
		t.Errorf("unmanaged: %v", got)
	}
}

// A directory that no file of the skill needs is somebody's change, with and
// without the store.
func TestEmptyDirectory(t *testing.T) {
	p := newProject(t)
	p.order(p.put("alpha", alpha))
	p.mustApply()
	must(t, os.MkdirAll(p.path(main, "alpha/new/sub"), 0o755))
	if got := p.preview().Conflicts(); len(got) != 1 {
		t.Errorf("conflicts: %v", got)
	}
	store := p.opt.Store
	for _, p.opt.Store = range []install.Store{nil, store} {
		got := p.verify()
		if len(got) != 1 || got[0].Code != "verify_extra" || got[0].File != "new" {
			t.Errorf("findings: %v", got)
		}
	}
	diffs, err := install.Diff(t.Context(), p.layout, p.opt, main+"/alpha", alpha.digest(t))
	must(t, err)
	if !slices.ContainsFunc(diffs, func(d install.FileDiff) bool { return d.Path == "new" && d.New.Odd }) || len(diffs) != 1 {
		t.Errorf("diff: %v", diffs)
	}
	p.want.Force = true
	p.mustApply()
	p.wantClean()
}
