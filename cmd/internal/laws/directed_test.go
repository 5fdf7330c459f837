package laws

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
}

func TestDirectedWorlds(t *testing.T) {
	var kinds report
	t.Run("worlds", func(t *testing.T) {
		for _, d := range directedWorlds {
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
				d.story(w, rand.New(rand.NewPCG(7, 7)))
				kinds.add(w)
				if len(w.broken) > 0 {
					t.Fail()
				}
			})
		}
	})
	kinds.print(t)
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
	{name: "a wrong digest in the lock", hosts: 2, story: wrongDigest},
	{name: "a skill is changed by its name", hosts: 2, story: byName},
	{name: "an unusable skill among others, untagged", hosts: 2, story: func(w *world, r *rand.Rand) { unusable(w, r, untagged) }},
	{name: "an unusable skill among others, tagged", hosts: 2, story: func(w *world, r *rand.Rand) { unusable(w, r, repoTags) }},
	{name: "skills moved after the version asked for", hosts: 2, story: snapshot},
	{name: "a root skill and others below it", hosts: 2, story: rootAndOthers},
	{name: "copies in agents' directories", hosts: 2, story: copies},
	{name: "the first global command", hosts: 2, story: firstGlobal},
	{name: "a lock without a manifest", hosts: 2, story: lockAlone},
	{name: "an agent's directory is an absolute link", hosts: 2, story: absoluteLink},
	{name: "skills committed with their own gitattributes", hosts: 2, story: gitattributes},
	{name: "a project in a sub-directory of the checkout", hosts: 2, proj: "checkout/team/proj", story: subDirectory},
	{name: "two clones merged", hosts: 2, story: merged},
	{name: "a registry that points elsewhere", hosts: 2, story: registry},
	{name: "requests at N and 4N", hosts: 1, story: scale},
}

func siblings(w *world, r *rand.Rand, depend func(*upstreamSkill)) {
	u := w.repo(0, "acme/kit", untagged, "unit", "deploy", "review")
	depend(u.skills[1])
	depend(u.skills[2])
	w.grow(u)
	w.init()
	w.about(r, "add", one(u), "add", w.source(u, u.skills[1]), "--yes")
	w.advance(u)
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
		{label: "import --dry-run", args: []string{"import", "skills-lock.json", "--dry-run", "--yes"}, involved: []int{2}},
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
	for _, args := range [][]string{{"verify"}, {"install"}, {"diff", "deploy"}, {"doctor"}} {
		res := w.run(w.me, how{}, append([]string{"--json"}, args...)...)
		w.expect(strings.Contains(res.out, "deploy"), "L11", args[0], "edited locally is not shown", res)
	}
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
	told := slices.ContainsFunc(res.diagnostics, func(d diagnostic) bool { return strings.Contains(d.text(), "digest") || strings.Contains(d.text(), wrong[:19]) })
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
	w.expect(res.exit == 0 || strings.Contains(doctor.out, "gitattributes") || strings.Contains(doctor.out, "gitignore"), "L11", "doctor", "committed skills differ after a clone, and no word of it: "+res.outcome(), res)
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
	t, err := newMachine(filepath.Join(w.dir, fmt.Sprintf("twin%d", w.twins)), m.proj)
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

// scale is L6: the number of requests of a command does not depend on how many
// skills or tags there are.
func scale(w *world, r *rand.Rand) {
	type run struct {
		label string
		args  []string
	}
	counts := map[string][]int{}
	for _, style := range []string{repoTags, untagged} {
		for _, n := range []int{5, 20} {
			u := w.newUpstream(0, fmt.Sprintf("acme/%s-%d", style[:2], n), style)
			for i := range n {
				name := fmt.Sprintf("s%d-%d", i, n)
				u.skills = append(u.skills, &upstreamSkill{name: name, dir: "skills/" + name})
			}
			w.grow(u)
			if style == repoTags {
				for i := range n {
					w.releaseAll(u, fmt.Sprintf("1.%d.0", i))
				}
			}
			for _, c := range []run{
				{"add --all", []string{"add", w.url(u), "--all", "--yes"}},
				{"add DIR/*", []string{"add", w.url(u) + "//skills/*", "--yes"}},
				{"add --skill", append([]string{"add", w.url(u), "--yes"}, each("--skill", u)...)},
				{"add one", []string{"add", w.source(u, u.skills[0]), "--yes"}},
			} {
				t := w.twin(w.me)
				w.run(t, how{}, "init")
				record := func(label string, args ...string) *result {
					res := w.run(t, how{}, append([]string{"--json"}, args...)...)
					key := label + "\x00" + style
					counts[key] = append(counts[key], res.requests)
					if res.exit != 0 {
						w.fail("L6", label, "did not run: "+res.outcome(), "%s", res.said())
					}
					return res
				}
				record(c.label, c.args...)
				if c.label == "add --all" {
					must(removeAll(t.cache()))
					must(removeFile(t.path("skills.lock")))
					record("lock, cold", "lock", "--yes")
					record("install, cold", "install", "--frozen")
					record("outdated", "outdated")
					record("versions", "versions", u.skills[0].name)
					record("search", "search", "zzz")
					for _, s := range u.skills {
						s.text += " More."
					}
					w.grow(u)
					if style == repoTags {
						w.releaseAll(u, fmt.Sprintf("1.%d.0", n))
					}
					record("outdated, all moved", "outdated")
					record("update --dry-run", "update", "--dry-run")
					record("update", "update", "--yes")
					record("update --latest", "update", "--latest", "--yes")
				}
				w.drop(t)
			}
		}
	}
	for key, n := range counts {
		label, style, _ := strings.Cut(key, "\x00")
		if n[1] > n[0] {
			w.fail("L6", label, "requests grow with skills, "+style, "%d requests with 5 skills (and tags), %d with 20", n[0], n[1])
		}
	}
}

func each(flag string, u *upstream) []string {
	var list []string
	for _, s := range u.skills {
		list = append(list, flag, s.name)
	}
	return list
}
