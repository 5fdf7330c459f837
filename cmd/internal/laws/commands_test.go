package laws

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// drawCommand draws a command line for the world as it stands.
func (w *world) drawCommand(r *rand.Rand) move {
	l := w.me.lock()
	if l == nil || len(l.Skills) == 0 || r.IntN(3) == 0 {
		return w.drawAdd(r)
	}
	keys := w.manifestKeys()
	locked := l.List()
	name := pick(r, locked).Key
	e := l.Get(name)
	own := w.hostsOf(name)
	yes := "--yes"
	switch r.IntN(26) {
	case 0, 1:
		return move{label: "install", args: []string{"install", yes}}
	case 2:
		return move{label: "install --frozen", args: []string{"install", "--frozen", yes}}
	case 3, 4:
		return move{label: "lock", args: []string{"lock", yes}}
	case 5, 6, 7:
		return move{label: "update", args: []string{"update", yes}, all: true}
	case 8, 9:
		if len(keys) > 0 {
			key := pick(r, keys)
			return move{label: "update NAME", args: []string{"update", key, yes}, involved: w.hostsOf(key)}
		}
	case 10, 11:
		return move{label: "update --latest", args: []string{"update", "--latest", yes}, all: true}
	case 12:
		return move{label: "update --dry-run", args: []string{"update", "--dry-run"}, all: true}
	case 13, 14:
		if len(keys) > 0 {
			key := pick(r, keys)
			mv := move{label: "remove", args: []string{"remove", key, yes}}
			if len(l.Dependents(key)) > 0 { // it stays, and perhaps not at this version
				mv.involved = w.hostsOf(key)
			}
			return mv
		}
	case 15, 16, 17:
		return move{label: "outdated", args: []string{"outdated"}, all: true}
	case 18:
		return move{label: "verify", args: []string{"verify"}}
	case 19:
		return move{label: "versions", args: []string{"versions", name}, involved: own}
	case 20:
		return move{label: "search", args: []string{"search", e.Name()}, all: true}
	case 21:
		return move{label: "add --dry-run", args: append(w.drawAdd(r).args, "--dry-run"), all: true}
	case 22:
		return move{label: "import --dry-run", args: []string{"import", "--dry-run", yes}}
	case 23:
		return move{label: "fetch", args: []string{"fetch"}}
	}
	return pick(r, []move{
		{label: "list", args: []string{"list"}},
		{label: "tree", args: []string{"tree"}},
		{label: "why", args: []string{"why", name}},
		{label: "why --not", args: []string{"why", "--not", name + "@9.9.9"}, involved: own},
		{label: "info", args: []string{"info", name}},
		{label: "doctor", args: []string{"doctor"}},
		{label: "prompt", args: []string{"prompt"}},
		{label: "sbom", args: []string{"sbom"}},
		{label: "diff", args: []string{"diff", name}},
		{label: "resources", args: []string{"resources", name}},
		{label: "needs", args: []string{"needs", name}},
		{label: "card", args: []string{"card", name}},
		{label: "materialize", args: []string{"materialize", name, yes}},
		{label: "export", args: []string{"export", "skills-lock-json"}},
		{label: "init", args: []string{"init"}},
	})
}

// drawAdd is one of the many ways to name a skill.
func (w *world) drawAdd(r *rand.Rand) move {
	if r.IntN(10) == 0 {
		w.keys++
		name := fmt.Sprintf("house-%d", w.keys)
		w.me.write("house/"+name+"/SKILL.md", []byte("---\nname: "+name+"\ndescription: Ours. Use at home.\n---\n\n# "+name+"\n"))
		return move{label: "add DIR", args: []string{"add", "./house/" + name, "--yes"}}
	}
	u := pick(r, w.upstreams)
	own := visible(u)
	s := pick(r, own)
	m := move{involved: w.hostsAround(u), asked: []string{s.name}}
	at := ""
	if v := lastStable(u); len(u.versions) > 0 && r.IntN(2) == 0 {
		at = "@" + pick(r, []string{u.versions[0], "=" + u.versions[0], "^" + u.versions[len(u.versions)-1], "~" + u.versions[0], "^" + v, ">=" + u.versions[0]})
	} else if r.IntN(4) == 0 {
		at = "@ref:" + pick(r, append([]string{"main", u.tip}, u.tags...))
	}
	if strings.HasSuffix(at, "@^") {
		at = ""
	}
	m.label = "add" + map[bool]string{true: " @RANGE", false: ""}[at != ""]
	if strings.HasPrefix(at, "@ref:") {
		m.label = "add @ref"
	}
	switch r.IntN(6) {
	case 0:
		m.label += " --all"
		m.args = []string{"add", w.url(u) + at, "--all"}
		for _, s := range own {
			m.asked = append(m.asked, s.name)
		}
	case 1:
		m.label += " --skill"
		m.args = []string{"add", w.url(u) + at, "--skill", s.name}
	case 2:
		m.label += " DIR/*"
		dir := path.Dir(s.dir)
		m.args = []string{"add", w.url(u) + "//" + dir + "/*" + at}
		for _, s := range own {
			m.asked = append(m.asked, s.name)
		}
		if s.dir == "" || dir == "." {
			m.args = []string{"add", w.url(u) + at}
		}
	case 3:
		m.label += " --no-install"
		m.args = []string{"add", w.source(u, s) + at, "--no-install"}
	default:
		m.args = []string{"add", w.source(u, s) + at}
	}
	m.args = append(m.args, "--yes")
	return m
}

func (w *world) manifestKeys() []string {
	var keys []string
	if m := w.me.manifest(); m != nil {
		for _, s := range m.Skills {
			keys = append(keys, string(s.Key))
		}
	}
	return keys
}

// hostsAround are the hosts that a repository's skills can lead to, and those of
// locked skills that share a name with what it has: those may have to move.
func (w *world) hostsAround(u *upstream) []int {
	list := slices.Clone(u.reaches())
	for _, v := range w.upstreams {
		if slices.ContainsFunc(v.reaches(), func(h int) bool { return v.host != h && slices.Contains(list, h) }) {
			list = append(list, v.reaches()...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// hostsOf are the hosts that the locked skill is about.
func (w *world) hostsOf(key string) []int {
	l := w.me.lock()
	if l == nil || l.Get(key) == nil {
		return []int{}
	}
	for _, u := range w.upstreams {
		if l.Get(key).Source.URL == w.url(u) {
			return w.hostsAround(u)
		}
	}
	return []int{}
}

// others are the hosts that are not in list.
func (w *world) others(list []int) []int {
	var rest []int
	for i := range w.hosts {
		if !slices.Contains(list, i) {
			rest = append(rest, i)
		}
	}
	return rest
}
