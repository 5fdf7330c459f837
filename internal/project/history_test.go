package project_test

import (
	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/choose"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"

	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/project"
	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/lockfile"
)

// history is a small world: two repositories, one with version tags and one
// without, whose skills lead to each other, and a project that adds, removes,
// updates and locks them while they change.
type history struct {
	t     *testing.T
	rand  *rand.Rand
	opt   workspace.Options
	url   string
	repos []*upstream
	log   []string
	// locks are the bytes seen for a manifest and the commits locked for it.
	locks map[string][]byte
}

type upstream struct {
	repo   *testkit.Repo
	name   string
	tagged bool
	minor  int
	head   string
	bodies map[string]int
	leads  map[string]string // frontmatter lines
	keys   []string
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	root, home := t.TempDir(), t.TempDir()
	h := &history{t: t, rand: rand.New(rand.NewPCG(seed, 1)), locks: map[string][]byte{}}
	for i, name := range []string{"plain", "tagged"} {
		dir := filepath.Join(root, "acme", name+".git")
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		repo, err := testkit.NewRepo(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		u := &upstream{repo: repo, name: name, tagged: i == 1, bodies: map[string]int{}, leads: map[string]string{}}
		for _, s := range []string{"a", "b", "c", "d", "e"} {
			u.keys = append(u.keys, name[:1]+s)
		}
		h.lead(u)
		h.repos = append(h.repos, u)
		h.publish(u)
	}
	s, err := testkit.Serve(root, testkit.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	h.url = s.URL
	work := t.TempDir()
	h.opt = workspace.Options{
		Dir: work, Home: home, ConfigDir: filepath.Join(home, "config"), CacheDir: filepath.Join(home, "cache"),
		SystemDir: filepath.Join(home, "system"), Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"},
	}
	write(t, filepath.Join(work, "skills.toml"), "[skills]\n")
	return h
}

// lead draws which skills lead to which: only to later ones, so that no circle
// arises.
func (h *history) lead(u *upstream) {
	for i, key := range u.keys {
		var later []string
		for _, other := range u.keys[i+1:] {
			if h.rand.IntN(3) == 0 {
				later = append(later, other)
			}
		}
		switch {
		case len(later) == 0:
			u.leads[key] = ""
		case h.rand.IntN(2) == 0:
			u.leads[key] = "metadata:\n  chain: " + strings.Join(later, ", ") + "\n"
		default:
			u.leads[key] = "metadata:\n"
			for _, other := range later {
				u.leads[key] += "  skillpm.requires." + other + ": \"*\"\n"
			}
		}
	}
}

// publish commits u as it is and moves main there, with a tag where u has them.
func (h *history) publish(u *upstream) {
	files := map[string]testkit.File{"README.md": {Data: fmt.Sprint(h.rand.Int())}}
	for _, key := range u.keys {
		files["skills/"+key+"/SKILL.md"] = testkit.File{Data: fmt.Sprintf("---\nname: %s\ndescription: Skill %s.\n%s---\nbody %d\n", key, key, u.leads[key], u.bodies[key])}
	}
	tree, err := u.repo.Files(files)
	if err != nil {
		h.t.Fatal(err)
	}
	var parents []string
	if u.head != "" {
		parents = append(parents, u.head)
	}
	if u.head, err = u.repo.Commit(tree, "change", parents...); err != nil {
		h.t.Fatal(err)
	}
	if err := u.repo.SetRef("refs/heads/main", u.head); err != nil {
		h.t.Fatal(err)
	}
	if u.tagged {
		if err := u.repo.SetRef(fmt.Sprintf("refs/tags/v1.%d.0", u.minor), u.head); err != nil {
			h.t.Fatal(err)
		}
		u.minor++
	}
}

// step does one thing and returns what it was.
func (h *history) step(ctx context.Context) (string, error) {
	u := h.repos[h.rand.IntN(len(h.repos))]
	key := u.keys[h.rand.IntN(len(u.keys))]
	silent := apply.InstallOptions{NoInstall: true}
	p, err := world.Open(h.opt)
	if err != nil {
		return "open", err
	}
	defer p.Close()
	switch h.rand.IntN(11) {
	case 0, 1:
		if h.rand.IntN(2) == 0 {
			u.bodies[key]++
		}
		if h.rand.IntN(6) == 0 {
			h.lead(u)
		}
		h.publish(u)
		return "publish " + u.name + " " + key, nil
	case 2, 3, 4, 5:
		spec := h.url + "/acme/" + u.name + "//skills/" + key
		switch h.rand.IntN(5) {
		case 0:
			spec += "@ref:main"
		case 1:
			spec += "@ref:" + u.head
		case 2:
			if u.tagged {
				spec += fmt.Sprintf("@ref:v1.%d.0", h.rand.IntN(u.minor))
			}
		case 3:
			if u.tagged {
				spec += fmt.Sprintf("@1.%d.0", h.rand.IntN(u.minor))
			}
		}
		_, err := project.Add(ctx, p, []string{spec}, choose.AddOptions{InstallOptions: silent})
		return "add " + spec, err
	case 6, 7:
		if skills := p.Manifest.Skills; len(skills) > 0 {
			key = string(skills[h.rand.IntN(len(skills))].Key)
		}
		_, err := project.Remove(ctx, p, []string{key}, silent)
		return "remove " + key, err
	case 8:
		_, err := project.Update(ctx, p, nil, project.UpdateOptions{InstallOptions: silent, Yes: true})
		return "update", err
	case 9:
		if p.Lock == nil {
			return "nothing", nil
		}
		_, err := project.Update(ctx, p, []string{key}, project.UpdateOptions{InstallOptions: silent, Yes: true})
		return "update " + key, err
	}
	file := filepath.Join(h.opt.Dir, "skills.toml")
	data, err := os.ReadFile(file)
	if err != nil {
		return "read", err
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) > 1 {
		h.rand.Shuffle(len(lines)-1, func(i, j int) { lines[i+1], lines[j+1] = lines[j+1], lines[i+1] })
		write(h.t, file, strings.Join(lines, "\n")+"\n")
	}
	return "move lines", nil
}

// check holds the laws: what a command leaves is a fixed point, and equal
// manifests with equal commits have equal locks, whatever the way.
func (h *history) check(ctx context.Context) {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.opt.Dir, "skills.lock"))
	if err != nil {
		return // nothing was added yet
	}
	p, err := world.Open(h.opt)
	if err != nil {
		h.fail("open: %v", err)
	}
	if err := project.CheckLock(ctx, p); err != nil {
		h.fail("lock --check: %v\n%s", diag.All(err), data)
	}
	change, err := project.Lock(ctx, p, project.LockOptions{})
	p.Close()
	if err != nil || change.LockChanged {
		h.fail("lock: changed, %v", err)
	}
	h.same("as it came", data)
	h.same("without a lock", h.locked(ctx, nil))
	l, err := lockfile.Parse(data)
	if err != nil {
		h.fail("%v", err)
	}
	// a lock that is stale in one entry's look is solved again over the same commits
	for _, e := range l.Skills {
		e.Dependencies, e.Use = nil, "optional"
	}
	h.same("solved again", h.locked(ctx, l.Bytes()))
}

// locked locks the manifest as it is beside lock, in a directory of its own.
func (h *history) locked(ctx context.Context, lock []byte) []byte {
	opt := h.opt
	opt.Dir = h.t.TempDir()
	manifest, err := os.ReadFile(filepath.Join(h.opt.Dir, "skills.toml"))
	if err != nil {
		h.t.Fatal(err)
	}
	write(h.t, filepath.Join(opt.Dir, "skills.toml"), string(manifest))
	if lock != nil {
		write(h.t, filepath.Join(opt.Dir, "skills.lock"), string(lock))
	}
	p, err := world.Open(opt)
	if err != nil {
		h.fail("open: %v", err)
	}
	defer p.Close()
	if _, err := project.Lock(ctx, p, project.LockOptions{}); err != nil {
		if lock != nil {
			h.fail("lock over the same commits: %v", diag.All(err))
		}
		return nil // what was locked before may have no solution today
	}
	if err := project.CheckLock(ctx, mustOpen(h, opt)); err != nil {
		h.fail("lock --check of a new lock: %v", diag.All(err))
	}
	data, err := os.ReadFile(filepath.Join(opt.Dir, "skills.lock"))
	if err != nil {
		h.t.Fatal(err)
	}
	return data
}

func mustOpen(h *history, opt workspace.Options) *world.World {
	p, err := world.Open(opt)
	if err != nil {
		h.fail("open: %v", err)
	}
	h.t.Cleanup(p.Close)
	return p
}

// same compares data with what was seen for the same manifest and commits.
func (h *history) same(how string, data []byte) {
	h.t.Helper()
	if data == nil {
		return
	}
	l, err := lockfile.Parse(data)
	if err != nil {
		h.fail("%s: %v", how, err)
	}
	var pins []string
	for _, key := range slices.Sorted(maps.Keys(l.Root.Requires)) {
		pins = append(pins, key+" "+l.Root.Requires[key])
	}
	for _, e := range l.Skills {
		pins = append(pins, e.Key+"="+e.Source.Commit)
	}
	sig := strings.Join(pins, "\n")
	if before, ok := h.locks[sig]; ok && !bytes.Equal(before, data) {
		h.fail("%s: another lock for the same commits\n%s\n%s", how, before, data)
	}
	h.locks[sig] = data
}

func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("after\n  %s\n%s", strings.Join(h.log, "\n  "), fmt.Sprintf(format, args...))
}

// Whatever the order of changes upstream and of commands, each leaves a fixed
// point, and the lock says nothing of the way. SKILLPM_HISTORIES runs as many
// histories as one likes.
func TestHistories(t *testing.T) {
	seeds := 5
	if text := os.Getenv("SKILLPM_HISTORIES"); text != "" {
		fmt.Sscan(text, &seeds)
	}
	allowed := []diag.Code{"", diag.SubskillUnresolved, diag.Usage, diag.NameCollision, diag.NoVersions}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, seed)
			for range 14 {
				what, err := h.step(t.Context())
				h.log = append(h.log, what)
				if code := diag.CodeOf(err); err != nil && !slices.Contains(allowed, code) {
					h.fail("%s: %v %v", code, err, diag.All(err))
				}
				h.check(t.Context())
			}
		})
	}
}
