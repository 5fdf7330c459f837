package laws

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func firstGlobal(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0")
	for _, first := range [][]string{{"install"}, {"update"}, {"lock"}, {"list"}, {"outdated"}, {"verify"}, {"doctor"}, {"tree"}, {"search", "deploy"}, {"remove", "deploy"}, {"init"}, {"add", w.source(u, u.skills[0])}} {
		t := w.twin(w.me)
		res := w.run(t, how{}, append([]string{"--json", first[0], "-g"}, first[1:]...)...)
		for _, args := range [][]string{{"add", "-g", w.source(u, u.skills[0]), "--yes"}, {"lock", "-g", "--check"}, {"install", "-g"}, {"list", "-g"}, {"verify", "-g"}, {"update", "-g", "--yes"}, {"remove", "-g", "deploy", "--yes"}} {
			after := w.run(t, how{}, append([]string{"--json"}, args...)...)
			if after.exit != 0 {
				w.fail("L15", first[0]+" -g", args[0]+" -g after it: "+after.outcome(), "`%s -g` is the first global command (%s); then `%s` ends with %s: %s", first[0], res.outcome(), strings.Join(args, " "), after.outcome(), after.said())
				break
			}
		}
		if d := t.state().differs(w.me.state()); d != "" {
			w.fail("L15", first[0]+" -g", "it writes into the current directory", "%s", d)
		}
		w.drop(t)
	}
}

func lockAlone(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0")
	w.init()
	w.about(r, "add", one(u), "add", w.source(u, u.skills[0]), "--yes")
	f := w.fresh(w.me)
	must(removeFile(f.path("skills.toml")))
	for _, args := range [][]string{{"install", "--frozen", "--no-manifest"}, {"verify", "--no-manifest"}, {"install", "--no-manifest"}, {"list"}, {"tree"}} {
		res := w.run(f, how{}, append([]string{"--json"}, args...)...)
		if res.exit != 0 {
			w.fail("L15", args[0], "a lock without a manifest: "+res.outcome(), "`%s`: %s", strings.Join(args, " "), res.said())
		}
	}
	w.drop(f)
}

func absoluteLink(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0")
	w.me.write("dotfiles/claude/.keep", nil)
	must(os.Symlink(w.me.path("dotfiles", "claude"), w.me.path(".claude")))
	res := w.run(w.me, how{}, "--json", "init", "--agent", "claude-code")
	w.say("$ skillpm init --agent claude-code    # %s", res.outcome())
	res = w.run(w.me, how{}, "--json", "add", w.source(u, u.skills[0]), "--yes")
	w.expect(res.exit == 0, "L15", "add", "an absolute link inside the project: "+res.outcome(), res)
	g := w.me.dir
	must(os.MkdirAll(filepath.Join(g, "home", "dotfiles", "claude"), 0o755))
	must(os.Symlink(filepath.Join(g, "home", "dotfiles", "claude"), filepath.Join(g, "home", ".claude")))
	w.run(w.me, how{}, "--json", "init", "-g", "--agent", "claude-code")
	res = w.run(w.me, how{}, "--json", "add", "-g", w.source(u, u.skills[0]), "--yes")
	w.expect(res.exit == 0, "L15", "add -g", "an absolute link inside the home directory: "+res.outcome(), res)
}

func gitattributes(w *world, r *rand.Rand) {
	u := w.repo(0, "acme/kit", untagged, "deploy", "review")
	u.skills[0].text += "\nTwo lines."
	w.grow(u)
	// the file is added by hand: it is no part of what skills usually have
	w.init()
	w.me.write("house/.keep", nil)
	for name, rule := range map[string]string{"deploy": "*.md text eol=crlf\n", "review": "*\n"} {
		file := map[string]string{"deploy": ".gitattributes", "review": ".gitignore"}[name]
		w.extra(u, "skills/"+name+"/"+file, rule)
	}
	w.about(r, "add --all", one(u), "add", w.url(u), "--all", "--yes")
	clone := w.clone(w.me)
	res := w.run(clone, how{}, "--json", "verify")
	doctor := w.run(w.me, how{}, "--json", "doctor")
	w.expect(res.exit == 0 || strings.Contains(doctor.out, `"skill_git_rules"`) && strings.Contains(doctor.out, ": deploy, review"), "L11", "doctor", "committed skills differ after a clone, and no word of it: "+res.outcome(), res)
	w.drop(clone)
}

// extra puts one more file beside those of the skills.
func (w *world) extra(u *upstream, name, data string) {
	for _, s := range u.skills {
		if strings.HasPrefix(name, s.dir+"/") {
			if s.more == nil {
				s.more = map[string]string{}
			}
			s.more[strings.TrimPrefix(name, s.dir+"/")] = data
		}
	}
	w.grow(u)
}

// clone commits everything and clones it to another machine.
func (w *world) clone(m *machine) *machine {
	for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"add", "-A"}, {"commit", "-qm", "all"}} {
		if out, ok := m.git(args...); !ok {
			panic(out)
		}
	}
	w.twins++
	t, err := newMachine(filepath.Join(w.dir, fmt.Sprintf("m%06d", w.twins)), m.proj)
	must(err)
	must(os.RemoveAll(t.path()))
	if out, ok := m.git("clone", "-q", m.path(), t.path()); !ok {
		panic(out)
	}
	return t
}

func subDirectory(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0")
	top := &machine{w.me.dir, "checkout"}
	if out, ok := top.git("init", "-q", "."); !ok {
		panic(out)
	}
	w.init()
	w.about(r, "add", one(u), "add", w.source(u, u.skills[0]), "--yes")
	file := ".agents/skills/deploy/SKILL.md"
	w.me.write(file, append(w.me.read(file), "Edited.\n"...))
	for _, format := range []string{"github", "sarif"} {
		res := w.run(w.me, how{}, "verify", "--format", format)
		w.expect(strings.Contains(res.out, "team/proj/"+file), "L15", "verify --format "+format, "paths are not relative to the checkout", res)
	}
	w.cmd(r, "verify", "verify")
}

func merged(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy", "review", "audit", "scan"), "1.0.0", "1.1.0", "2.0.0")
	v := w.repo(1, "beta/kit", untagged, "unit", "lint", "pack")
	v.skills[1].chain, v.skills[2].requires["unit"] = []string{"unit"}, "*"
	w.grow(v)
	for n, change := range [][2][][]string{
		{{{"add", w.source(u, u.skills[1]), "--yes"}}, {{"add", w.source(v, v.skills[0]), "--yes"}}},
		{{{"update", "deploy", "--yes"}}, {{"remove", "scan", "--yes"}}},
		{{{"add", w.source(v, v.skills[1]), "--yes"}}, {{"add", w.source(v, v.skills[2]), "--yes"}}},
		{{{"add", w.source(v, v.skills[1]), "--yes"}}, {{"remove", "deploy", "--yes"}}},
	} {
		me := w.me
		w.me = w.twin(me)
		w.init()
		w.say("$ skillpm add deploy@^1 and scan, commit; two branches: %v and %v", change[0], change[1])
		for _, args := range [][]string{{"lock", "--install-merge-driver"}, {"add", w.source(u, u.skills[0]) + "@^1", "--yes"}, {"add", w.source(u, u.skills[3]) + "@1.0.0", "--yes"}} {
			w.run(w.me, how{}, args...)
		}
		w.mergeBranches(v, n, change)
		w.drop(w.me)
		w.me = me
	}
}

func (w *world) mergeBranches(v *upstream, n int, change [2][][]string) {
	git := func(args ...string) bool { _, ok := w.me.git(args...); return ok }
	w.me.write(".gitignore", []byte(".agents/\n.skillpm/\n"))
	git("init", "-q", "-b", "main", ".")
	w.run(w.me, how{}, "lock", "--install-merge-driver")
	git("add", "-A")
	git("commit", "-qm", "base")
	git("checkout", "-qb", "other")
	for _, args := range change[0] {
		w.run(w.me, how{}, args...)
	}
	git("commit", "-qam", "one")
	git("checkout", "-q", "main")
	if n == 2 {
		w.advance(v)
	}
	for _, args := range change[1] {
		w.run(w.me, how{}, args...)
	}
	git("commit", "-qam", "two")
	out, clean := w.me.git("merge", "-q", "other")
	if !clean && strings.Contains(out, "skills.toml") && !strings.Contains(string(w.me.read("skills.lock")), "<<<<") {
		// both appended: a person keeps both lines
		w.me.write("skills.toml", conflict.ReplaceAll(w.me.read("skills.toml"), nil))
		clean = true
	}
	w.say("# git merge: clean is %t", clean)
	if clean && !strings.Contains(string(w.me.read("skills.lock")), "<<<<") {
		w.fixedPoint(move{label: "lock --merge"}, &result{exit: 1})
	}
}

var conflict = regexp.MustCompile(`(?m)^(<<<<<<<|=======|>>>>>>>).*\n`)

func registry(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0", "1.1.0")
	v := w.released(w.repo(1, "fork/kit", repoTags, "deploy"), "1.0.0", "1.1.0")
	index := func(at *upstream) {
		w.me.write("team.json", fmt.Appendf(nil, `{"format": "skillpm-index", "indexVersion": 1, "skills": {"deploy": {"source": %q}}}`, w.source(at, at.skills[0])))
	}
	index(u)
	w.me.write("skills.toml", fmt.Appendf(nil, "[skills]\ndeploy = \"^1\"\n\n[registries]\nteam = \"team.json\"\n\n[trust]\nsources = [\"%s*\", \"%s*\"]\n", w.hosts[0].srv.URL+"/", w.hosts[1].srv.URL+"/"))
	w.cmd(r, "install", "install", "--yes")
	index(v)
	w.say("# the registry points to fork/kit")
	for _, args := range [][]string{{"outdated"}, {"update", "--dry-run"}, {"update"}, {"install"}} {
		res := w.run(w.me, how{}, append([]string{"--json"}, args...)...)
		w.say("$ skillpm %s    # %s", strings.Join(args, " "), res.outcome())
		w.expect(strings.Contains(res.out, "registry_changed") || strings.Contains(res.out, "fork/kit"), "L11", args[0], "a registry that points elsewhere is not shown", res)
		if l := w.me.lock(); l != nil && l.Get("deploy") != nil && l.Get("deploy").Source.URL == w.url(v) {
			w.fail("L8", args[0], "another source is accepted unasked", "deploy now comes from %s: %s", w.url(v), res.outcome())
			break
		}
	}
}
