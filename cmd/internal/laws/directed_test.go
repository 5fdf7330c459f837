package laws

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A directed world is one that chance would seldom draw. The laws are checked
// after each of its commands as in every other, and what it was made for beside
// them.
type directed struct {
	name  string
	hosts int
	proj  string // the project's place; "" is proj
	story func(w *world, r *rand.Rand)
	// open says why the world is known to break a law. Such worlds are run with
	// -open alone, and one in which all laws hold fails there: its reason goes.
	open string
}

func TestDirectedWorlds(t *testing.T) {
	var kinds report
	t.Run("worlds", func(t *testing.T) {
		for _, d := range directedWorlds {
			if (d.open != "") != *openFlag {
				continue
			}
			t.Run(strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				w, err := newWorld(d.name, 0, d.hosts, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer w.close()
				if d.proj != "" {
					w.me, err = newMachine(w.me.dir, d.proj)
					must(err)
				}
				w.hold(t, func() { d.story(w, rand.New(rand.NewPCG(7, 7))) })
				if d.open != "" {
					w.stillOpen(t, d.open)
					return
				}
				kinds.add(w)
				if len(w.broken) > 0 {
					t.Fail()
				}
			})
		}
	})
	kinds.print(t)
}

// stillOpen holds that what is said to be open is.
func (w *world) stillOpen(t *testing.T, reason string) {
	if len(w.broken) == 0 {
		t.Errorf("all laws hold in %q: take out that it is open (%s)", w.name, reason)
	}
	for _, v := range w.broken {
		t.Logf("%s %s: %s\n%s", v.Law, v.Command, v.Shape, v.Evidence)
	}
}

// repo makes a repository with skills below skills/, committed once.
func (w *world) repo(h int, name, style string, skills ...string) *upstream {
	u := w.newUpstream(h, name, style)
	for _, s := range skills {
		u.skills = append(u.skills, &upstreamSkill{name: s, dir: "skills/" + s, requires: map[string]string{}})
	}
	return u
}

// released commits and releases each version, with other content each time.
func (w *world) released(u *upstream, versions ...string) *upstream {
	for _, v := range versions {
		for _, s := range u.skills {
			s.text += " In " + v + "."
		}
		w.grow(u)
		w.releaseAll(u, v)
	}
	return u
}

func (w *world) advance(u *upstream) {
	for _, s := range u.skills {
		s.text += " More."
	}
	w.grow(u)
	w.say("# %s: a new commit", u.name)
}

// cmd runs one of the table's moves about all hosts.
func (w *world) cmd(r *rand.Rand, label string, args ...string) *result {
	return w.do(r, move{label: label, args: args, all: true})
}

// about runs one that concerns the hosts of repositories alone.
func (w *world) about(r *rand.Rand, label string, us []*upstream, args ...string) *result {
	m := move{label: label, args: args, involved: []int{}}
	for _, u := range us {
		m.involved = append(m.involved, u.host)
	}
	if strings.HasPrefix(label, "add") {
		for _, u := range us {
			for _, s := range u.skills {
				m.asked = append(m.asked, s.name)
			}
		}
	}
	return w.do(r, m)
}

// expect fails the law if ok is false.
func (w *world) expect(ok bool, l law, command, shape string, res *result) {
	if !ok {
		w.fail(l, command, shape, "%s: %s\n%.600s", res.outcome(), res.said(), res.out)
	}
}

func (w *world) init() {
	if w.me.manifest() == nil {
		w.say("$ skillpm init    # exit %d", w.run(w.me, how{}, "init").exit)
	}
}

func one(u *upstream) []*upstream { return []*upstream{u} }

// whichSkills is why worlds are open.
const whichSkills = "which skills a repository has is not yet decided at the version asked for, by one ranking of the places in it"

var directedWorlds = []directed{
	{name: "two siblings of an untagged repository, a commit between", hosts: 2, story: func(w *world, r *rand.Rand) {
		siblings(w, r, func(s *upstreamSkill) { s.chain = []string{"unit"} })
	}},
	{name: "two siblings with requirements, a commit between", hosts: 2, story: func(w *world, r *rand.Rand) {
		siblings(w, r, func(s *upstreamSkill) { s.requires["unit"] = "*" })
	}},
	{name: "some of many skills renamed upstream, untagged", hosts: 2, story: func(w *world, r *rand.Rand) { renamed(w, r, untagged) }},
	{name: "some of many skills renamed upstream, tagged", hosts: 2, story: func(w *world, r *rand.Rand) { renamed(w, r, repoTags) }},
	{name: "one dead host among several", hosts: 3, story: deadHost},
	{name: "update latest and what people wrote", hosts: 2, story: latest},
	{name: "a ref pin after a version", hosts: 2, story: refPins},
	{name: "the newest tag no longer has the skill", hosts: 2, story: tagWithout},
	{name: "what happened upstream is shown", hosts: 2, story: facts},
	{name: "doctor and a local edit", hosts: 2, story: doctorEdited, open: "doctor opens no file of an installed skill, and sees no edit; verify, install and diff do"},
	{name: "a wrong digest in the lock", hosts: 2, story: wrongDigest},
	{name: "a skill is changed by its name", hosts: 2, story: byName},
	{name: "an unusable skill among others, untagged", hosts: 2, story: func(w *world, r *rand.Rand) { unusable(w, r, untagged) }},
	{name: "an unusable skill among others, tagged", hosts: 2, story: func(w *world, r *rand.Rand) { unusable(w, r, repoTags) }},
	{name: "skills moved after the version asked for", hosts: 2, story: snapshot},
	{name: "a root skill and others below it", hosts: 2, story: rootAndOthers, open: whichSkills},
	{name: "copies in agents' directories", hosts: 2, story: copies, open: whichSkills},
	{name: "the first global command", hosts: 2, story: firstGlobal},
	{name: "a lock without a manifest", hosts: 2, story: lockAlone},
	{name: "an agent's directory is an absolute link", hosts: 2, story: absoluteLink},
	{name: "skills committed with their own gitattributes", hosts: 2, story: gitattributes},
	{name: "a project in a sub-directory of the checkout", hosts: 2, proj: "checkout/team/proj", story: subDirectory},
	{name: "two clones merged", hosts: 2, story: merged},
	{name: "a registry that points elsewhere", hosts: 2, story: registry, open: "install does not show what the registry named when it was last asked"},
	{name: "requests at N and 4N", hosts: 1, story: scale},
}

// siblings: the commit between changes other files alone, then all of them.
func siblings(w *world, r *rand.Rand, depend func(*upstreamSkill)) {
	u := w.repo(0, "acme/kit", untagged, "unit", "deploy", "review")
	depend(u.skills[1])
	depend(u.skills[2])
	w.grow(u)
	w.init()
	w.about(r, "add", one(u), "add", w.source(u, u.skills[1]), "--yes")
	w.grow(u)
	w.say("# %s: a new commit, no skill changed", u.name)
	w.about(r, "add", one(u), "add", w.source(u, u.skills[2]), "--yes")
	w.about(r, "lock", nil, "lock", "--yes")
	w.cmd(r, "update", "update", "--yes")
	w.advance(u)
	w.about(r, "update NAME", one(u), "update", "review", "--yes")
	w.about(r, "add", one(u), "add", w.source(u, u.skills[0]), "--yes")
	w.about(r, "remove", one(u), "remove", "unit", "--yes")
	w.about(r, "lock", nil, "lock", "--yes")
}

func renamed(w *world, r *rand.Rand, style string) {
	u := w.newUpstream(0, "acme/many", style)
	for i := range 12 {
		name := fmt.Sprintf("tool-%d", i)
		u.skills = append(u.skills, &upstreamSkill{name: name, dir: "skills/" + name})
	}
	w.grow(u)
	if style != untagged {
		w.releaseAll(u, "1.0.0")
	}
	w.init()
	w.about(r, "add --all", one(u), "add", w.url(u), "--all", "--yes")
	for _, s := range u.skills[:4] {
		s.dir = "loom/" + s.dir
	}
	w.advance(u)
	if style != untagged {
		w.releaseAll(u, "1.1.0")
		w.say("# acme/many: version 1.1.0")
	}
	w.say("# acme/many: tool-0 to tool-3 moved to loom/skills")
	res := w.cmd(r, "outdated", "outdated")
	w.expect(res.result != nil && mentions(res.out, "tool-0", "tool-1", "tool-2", "tool-3"), "L4", "outdated", "not every skill that is gone is a row: "+res.outcome(), res)
	w.expect(mentions(res.out, "tool-5", "tool-11"), "L4", "outdated", "the skills that have news are no rows: "+res.outcome(), res)
	dry := w.cmd(r, "update --dry-run", "update", "--dry-run")
	w.expect(mentions(dry.out, "tool-0", "tool-1", "tool-2", "tool-3"), "L4", "update --dry-run", "not every skill that is gone is told: "+dry.outcome(), dry)
	up := w.cmd(r, "update", "update", "--yes")
	w.expect(mentions(up.out, "tool-0", "tool-1", "tool-2", "tool-3"), "L4", "update", "not every skill that is gone is told: "+up.outcome(), up)
	w.cmd(r, "list", "list")
	t := w.twin(w.me)
	must(removeFile(t.path("skills.lock")))
	in := w.run(t, how{}, "--json", "install", "--yes")
	if style == untagged {
		w.expect(mentions(in.out, "tool-0", "tool-1", "tool-2", "tool-3"), "L4", "install", "without a lock not every skill that is gone is told: "+in.outcome(), in)
	}
	w.drop(t)
}

func mentions(text string, names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool {
		return !regexp.MustCompile(`\b` + regexp.QuoteMeta(n) + `\b`).MatchString(text)
	})
}

func deadHost(w *world, r *rand.Rand) {
	a := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0")
	b := w.released(w.repo(1, "beta/kit", repoTags, "review"), "1.0.0")
	c := w.released(w.repo(2, "gamma/kit", repoTags, "audit", "scan"), "1.0.0")
	w.init()
	w.about(r, "add", one(a), "add", w.source(a, a.skills[0]), "--yes")
	w.about(r, "add", one(b), "add", w.source(b, b.skills[0]), "--yes")
	w.released(b, "1.1.0")
	w.say("# beta/kit: version 1.1.0")
	w.kill(0)
	w.say("# host1 is dead")
	for _, m := range []move{
		{label: "add", args: []string{"add", w.source(c, c.skills[0]), "--yes"}, involved: []int{2}, asked: []string{"audit"}},
		{label: "add DIR", args: []string{"add", "./house/ours", "--yes"}, involved: []int{}},
		{label: "update NAME", args: []string{"update", "review", "--yes"}, involved: []int{1}},
		{label: "install", args: []string{"install", "--yes"}, involved: []int{}},
		{label: "lock", args: []string{"lock", "--yes"}, involved: []int{}},
		{label: "import --dry-run", args: []string{"import", "./skills-lock.json", "--dry-run", "--yes"}, involved: []int{2}},
		{label: "versions", args: []string{"versions", "review"}, involved: []int{1}},
		{label: "remove", args: []string{"remove", "review", "--yes"}, involved: []int{}},
	} {
		w.me.write("house/ours/SKILL.md", []byte("---\nname: ours\ndescription: Ours. Use at home.\n---\n\n# ours\n"))
		w.me.write("skills-lock.json", fmt.Appendf(nil, `{"version": 1, "skills": {"scan": {"source": %q, "sourceType": "git", "sourceUrl": %q, "skillPath": "skills/scan/SKILL.md", "computedHash": ""}}}`, w.url(c), w.url(c)))
		res := w.do(r, m)
		w.expect(res.exit == 0 || m.label == "import --dry-run" && !strings.Contains(res.code(), "fetch"), "L3", m.label, "another host is dead: "+res.outcome(), res)
	}
	w.about(r, "add", one(b), "add", w.source(b, b.skills[0])+"@1.0.0", "--yes")
	res := w.cmd(r, "outdated", "outdated")
	w.expect(res.result != nil && mentions(res.out, "deploy", "review"), "L4", "outdated", "one host is dead: not all rows: "+res.outcome(), res)
	up := w.cmd(r, "update --dry-run", "update", "--dry-run")
	w.expect(mentions(up.out, "deploy"), "L4", "update --dry-run", "the skill of the dead host is not named: "+up.outcome(), up)
}

func latest(w *world, r *rand.Rand) {
	u := w.newUpstream(0, "acme/kit", repoTags)
	for _, n := range []string{"beta", "exact", "tilde", "bound", "table", "pin"} {
		u.skills = append(u.skills, &upstreamSkill{name: n, dir: "skills/" + n})
	}
	w.released(u, "1.0.0", "1.1.0", "1.2.0", "1.3.0", "2.0.0-beta.1", "2.0.0-beta.2")
	w.init()
	w.me.write("skills.toml", []byte(strings.ReplaceAll(`[skills]
beta = "^2.0.0-beta.1 URL/beta"
exact = "=1.1.0 URL/exact"
tilde = "~1.1.0 URL/tilde" # the release line
bound = ">=1.1.0 <1.3.0 URL/bound"
table = {source = "URL/table", version = "1.1.0"} # 1.2 breaks the build
`, "URL", w.url(u)+"//skills")))
	w.say("# skills.toml with ^2.0.0-beta.1, =1.1.0, ~1.1.0, >=1.1.0 <1.3.0, {version = \"1.1.0\"}")
	w.cmd(r, "install", "install", "--yes")
	if e := w.me.lock().Get("exact"); e != nil {
		pinned := strings.Replace(string(w.me.read("skills.toml")), "[skills]\n", "[skills]\npin = \"^1.1.0 "+w.url(u)+"//skills/pin\"\n", 1)
		w.me.write("skills.toml", []byte(pinned))
		w.cmd(r, "lock", "lock", "--yes")
		if l := w.me.lock(); l != nil && l.Get("pin") != nil {
			w.me.write("skills.toml", []byte(strings.Replace(pinned, `//skills/pin"`, `//skills/pin `+string(l.Get("pin").Digest)+`"`, 1)))
			w.say("# skills.toml: pin has its digest")
		}
	}
	w.cmd(r, "update --latest", "update", "--latest", "--yes")
	w.cmd(r, "update", "update", "--yes")
	w.cmd(r, "outdated", "outdated")
}

func refPins(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0", "1.1.0", "2.0.0-rc.1")
	commit := u.tk.Ref("refs/tags/v1.1.0")
	for _, ref := range []string{"v1.1.0", commit, "main"} {
		w.init()
		w.about(r, "add @RANGE", one(u), "add", w.source(u, u.skills[0])+"@=1.1.0", "--yes")
		w.about(r, "add @ref", one(u), "add", w.source(u, u.skills[0])+"@ref:"+ref, "--yes")
		out := w.cmd(r, "outdated", "outdated")
		w.expect(ref == "main" || strings.Contains(out.out, "2.0.0-rc.1") || !strings.Contains(out.out, `"result": null`), "L12", "outdated", "no word of what is pinned", out)
		w.cmd(r, "update", "update", "--yes")
		w.cmd(r, "remove", "remove", "deploy", "--yes")
	}
}

func tagWithout(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy", "review"), "1.0.0")
	w.init()
	w.about(r, "add", one(u), "add", w.source(u, u.skills[0]), "--yes")
	u.skills = u.skills[1:]
	w.released(u, "1.1.0")
	w.say("# acme/kit: version 1.1.0 without skills/deploy")
	res := w.cmd(r, "outdated", "outdated")
	w.expect(strings.Contains(res.out, "deploy"), "L12", "outdated", "no word of a skill that the newest version lacks", res)
	w.cmd(r, "update", "update", "--yes")
}

// facts is L11: what happened upstream or on disk, and which commands show it;
// the first of each line ask the network, the others show what is known then.
func facts(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0", "1.1.0")
	v := w.released(w.repo(1, "beta/kit", repoTags, "review"), "1.0.0")
	g := w.repo(1, "gamma/kit", untagged, "audit", "scan")
	w.grow(g)
	w.init()
	w.about(r, "add @RANGE", one(u), "add", w.source(u, u.skills[0])+"@~1.1", "--yes")
	w.about(r, "add", one(v), "add", w.source(v, v.skills[0]), "--yes")
	w.about(r, "add", one(g), "add", w.source(g, g.skills[0]), "--yes")
	u.skills[0].retract = "1.1.0; it deletes files"
	w.released(u, "1.2.0")
	w.say("# acme/kit: version 1.2.0 retracts 1.1.0, which is locked")
	v.skills[0].text += " Other."
	w.grow(v)
	w.setTag(v, "v1.0.0", v.tip)
	w.say("# beta/kit: tag v1.0.0 moved")
	for _, f := range []struct {
		fact, key string
		word      *regexp.Regexp
		commands  [][]string
	}{
		{"retracted", "deploy", regexp.MustCompile(`(?i)retract`), [][]string{{"outdated"}, {"update", "--dry-run"}, {"versions", "deploy"}, {"install"}, {"install", "--frozen"}, {"list"}, {"verify"}, {"info", "deploy"}}},
		{"newer exists", "deploy", regexp.MustCompile(`1\.2\.0`), [][]string{{"outdated"}, {"versions", "deploy"}}},
		{"tag moved", "review", regexp.MustCompile(`(?i)tag_moved|moved`), [][]string{{"outdated"}, {"update", "--dry-run"}}},
		{"gone upstream", "audit", regexp.MustCompile(`(?i)gone|no longer|not_found|no such`), [][]string{{"outdated"}, {"update", "--dry-run"}}},
	} {
		if f.fact == "gone upstream" {
			g.skills = g.skills[1:]
			w.grow(g)
			w.say("# gamma/kit: skills/audit deleted")
		}
		for _, args := range f.commands {
			res := w.run(w.me, how{}, append([]string{"--json"}, args...)...)
			text := res.out
			if !strings.Contains(text, f.key) || !f.word.MatchString(text) {
				w.fail("L11", args[0], f.fact+" is not shown", "%s of %s is not shown by `skillpm %s` (%s): %.300s", f.fact, f.key, strings.Join(args, " "), res.outcome(), text)
			}
		}
	}
	w.me.write(".agents/skills/deploy/SKILL.md", append(w.me.read(".agents/skills/deploy/SKILL.md"), "Edited.\n"...))
	for _, args := range [][]string{{"verify"}, {"install"}, {"diff", "deploy"}} {
		res := w.run(w.me, how{}, append([]string{"--json"}, args...)...)
		w.expect(strings.Contains(res.out, "deploy"), "L11", args[0], "edited locally is not shown", res)
	}
}

// doctorEdited: doctor is among what opens no file of an installed skill.
func doctorEdited(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0")
	w.init()
	w.about(r, "add", one(u), "add", w.source(u, u.skills[0]), "--yes")
	w.me.write(".agents/skills/deploy/SKILL.md", append(w.me.read(".agents/skills/deploy/SKILL.md"), "Edited.\n"...))
	res := w.run(w.me, how{}, "--json", "doctor")
	w.expect(strings.Contains(res.out, "deploy"), "L11", "doctor", "edited locally is not shown", res)
}

func wrongDigest(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0")
	w.init()
	w.about(r, "add", one(u), "add", w.source(u, u.skills[0]), "--yes")
	l := w.me.lock()
	if l == nil {
		return
	}
	right := string(l.Skills[0].Digest)
	wrong := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	w.me.write("skills.lock", []byte(strings.ReplaceAll(string(w.me.read("skills.lock")), right, wrong)))
	w.say("# skills.lock: another digest for deploy")
	res := w.run(w.me, how{}, "--json", "update", "--yes")
	w.say("$ skillpm update --yes    # %s", res.outcome())
	told := slices.ContainsFunc(res.diagnostics, func(d diagnostic) bool {
		return strings.Contains(d.text(), "digest") || strings.Contains(d.text(), wrong[:19])
	})
	w.expect(told, "L8", "update", "a wrong locked digest is healed without a word", res)
}

func byName(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy"), "1.0.0", "2.0.0")
	w.init()
	w.about(r, "add @RANGE", one(u), "add", w.source(u, u.skills[0])+"@^1", "--yes")
	for _, m := range []move{
		{label: "update NAME@", args: []string{"update", "deploy@2", "--yes"}, involved: []int{0}, asked: []string{"deploy"}},
		{label: "add NAME@", args: []string{"add", "deploy@^1", "--yes"}, involved: []int{0}, asked: []string{"deploy"}},
		{label: "install NAME", args: []string{"install", "deploy", "--yes"}, involved: []int{0}, asked: []string{"deploy"}},
	} {
		res := w.do(r, m)
		w.expect(res.exit == 0, "L12", m.label, "a locked skill cannot be named: "+res.outcome(), res)
	}
}

func unusable(w *world, r *rand.Rand, style string) {
	u := w.repo(0, "acme/kit", style, "deploy", "review", "audit")
	u.skills[1].dangling = true
	w.grow(u)
	if style != untagged {
		w.releaseAll(u, "1.0.0")
	}
	w.init()
	res := w.about(r, "add --all", one(u), "add", w.url(u), "--all", "--yes")
	l := w.me.lock()
	w.expect(l != nil && l.Get("deploy") != nil && l.Get("audit") != nil, "L4", "add --all", "one unusable skill hides the others: "+res.outcome(), res)
	w.expect(strings.Contains(res.out, "review"), "L4", "add --all", "the unusable skill is not told: "+res.outcome(), res)
	w.about(r, "add DIR/*", one(u), "add", w.url(u)+"//skills/*", "--yes")
}

func snapshot(w *world, r *rand.Rand) {
	u := w.released(w.repo(0, "acme/kit", repoTags, "deploy", "review", "old-one"), "1.0.0")
	for _, s := range u.skills {
		s.dir = "plugins/x/" + s.dir
	}
	u.skills[2].name, u.skills[2].dir = "new-one", "plugins/x/skills/new-one"
	w.released(u, "2.0.0")
	w.grow(u)
	for _, args := range [][]string{{w.url(u) + "@1.0.0", "--all"}, {w.url(u) + "@ref:v1.0.0", "--all"}, {w.url(u) + "//skills/*@1.0.0"},
		{w.url(u) + "@1.0.0", "--skill", "deploy", "--skill", "review", "--skill", "old-one"}} {
		label := "add " + strings.Join(append(slices.Clone(args[1:min(len(args), 2)]), strings.TrimPrefix(args[0], w.url(u))), " ")
		t := w.twin(w.me)
		w.run(t, how{}, "init")
		res := w.run(t, how{}, append([]string{"--json", "add", "--yes"}, args...)...)
		got := ""
		if l := t.lock(); l != nil {
			keys := []string{}
			for _, e := range l.Skills {
				keys = append(keys, e.Key)
			}
			slices.Sort(keys)
			got = strings.Join(keys, " ")
		}
		if got != "deploy old-one review" || res.exit != 0 {
			w.fail("L5", label, "not the skills of that version: "+res.outcome(), "wanted deploy old-one review, got %q: %s", got, res.said())
		}
		w.drop(t)
	}
}

func rootAndOthers(w *world, r *rand.Rand) {
	u := w.repo(0, "acme/kit", untagged, "deploy", "review")
	u.skills[0].dir = ""
	w.grow(u)
	w.init()
	res := w.about(r, "add --all", one(u), "add", w.url(u), "--all", "--yes")
	l := w.me.lock()
	w.expect(l != nil && l.Get("review") != nil, "L5", "add --all", "a root skill hides the others", res)
	res = w.about(r, "add --skill", one(u), "add", w.url(u), "--skill", "review", "--yes")
	w.expect(res.exit == 0, "L5", "add --skill", "a root skill hides the others: "+res.outcome(), res)
	res = w.about(r, "add DIR/*", one(u), "add", w.url(u)+"//skills/*", "--yes")
	w.expect(res.exit == 0, "L5", "add DIR/*", "a root skill hides the others: "+res.outcome(), res)
}

func copies(w *world, r *rand.Rand) {
	u := w.repo(0, "acme/kit", untagged, "deploy", "review")
	for _, s := range slices.Clone(u.skills) {
		c := *s
		c.dir, c.hidden, c.text = ".agents/skills/"+s.name, true, " An older copy."
		u.skills = append(u.skills, &c)
	}
	w.grow(u)
	w.init()
	res := w.about(r, "add --all", one(u), "add", w.url(u), "--all", "--yes")
	l := w.me.lock()
	w.expect(l != nil && l.Get("deploy") != nil && l.Get("deploy").Source.Path == "skills/deploy", "L5", "add --all", "a copy in an agent's directory is in the way: "+res.outcome(), res)
}
