package laws

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// words are the names that skills are made of.
var words = []string{"deploy", "review", "audit", "scan", "report", "tool", "lint", "pack", "trace", "guard", "plan-it", "unit"}

// places are where repositories keep their skills; %s is the name.
var places = []string{"skills/%s", "%s", "plugins/kit/skills/%s", "area/group/skills/%s"}

// hidden are agents' private directories.
var hidden = []string{".claude/skills/%s", ".agents/skills/%s"}

// draw makes a world from a seed: one to three hosts, two to five repositories.
func draw(seed int64, dir string) (*world, error) {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	w, err := newWorld(fmt.Sprintf("seed %d", seed), seed, 2+r.IntN(2), dir)
	if err != nil {
		return nil, err
	}
	if r.IntN(4) == 0 {
		w.me.proj = "checkout/team/proj"
		w.me, err = newMachine(w.me.dir, w.me.proj)
		must(err)
	}
	names := slices.Clone(words)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range 2 + r.IntN(3) {
		u := w.newUpstream(i%len(w.hosts), fmt.Sprintf("org%d/kit%d", i+1, i+1), pick(r, tagStyles))
		n := 1 + r.IntN(3)
		if n > len(names) {
			n = len(names)
		}
		w.drawSkills(r, u, names[:n])
		names = names[n:]
		w.drawHistory(r, u)
	}
	return w, nil
}

func (w *world) drawSkills(r *rand.Rand, u *upstream, names []string) {
	place := pick(r, places)
	for i, name := range names {
		s := &upstreamSkill{name: name, dir: fmt.Sprintf(place, name), script: r.IntN(4) == 0, requires: map[string]string{}}
		switch {
		case len(names) == 1 && r.IntN(3) == 0:
			s.dir = ""
		case r.IntN(6) == 0:
			s.dir = fmt.Sprintf(pick(r, places), name)
		}
		u.skills = append(u.skills, s)
		if i > 0 {
			w.drawNeeds(r, u, s, u.skills[r.IntN(i)])
		}
		if s.dir != "" && r.IntN(8) == 0 {
			c := *s
			c.dir, c.hidden = fmt.Sprintf(pick(r, hidden), name), true
			u.skills = append(u.skills, &c)
		}
	}
	if len(w.upstreams) > 1 && r.IntN(2) == 0 {
		other := w.upstreams[r.IntN(len(w.upstreams)-1)]
		t := pick(r, other.skills)
		if !t.hidden && !t.dangling {
			req := w.source(other, t)
			switch v := lastStable(other); {
			case other.style == untagged && r.IntN(2) == 0:
				req = "ref:" + other.tip + " " + req
			case other.style == untagged || v == "":
			default:
				req = pick(r, []string{"^" + v, ">=" + v, "*"}) + " " + req
			}
			if other.style == untagged || lastStable(other) != "" {
				u.skills[0].requires[t.name] = req
				u.needs = append(u.needs, other)
			}
		}
	}
}

// drawNeeds lets s depend on its sibling t, perhaps.
func (w *world) drawNeeds(r *rand.Rand, u *upstream, s, t *upstreamSkill) {
	if t.name == s.name || t.hidden {
		return
	}
	switch r.IntN(4) {
	case 0:
		s.chain = []string{t.name}
	case 1:
		s.requires[t.name] = "*"
	}
}

// drawHistory commits and tags.
func (w *world) drawHistory(r *rand.Rand, u *upstream) {
	w.grow(u)
	switch u.style {
	case untagged:
		for range r.IntN(2) {
			w.revise(r, u)
			w.grow(u)
		}
		return
	case preRelease:
		w.releaseAll(u, "1.0.0-alpha.1")
		w.revise(r, u)
		w.grow(u)
		w.releaseAll(u, "1.0.0-beta.1")
		return
	}
	w.releaseAll(u, "1.0.0")
	for _, v := range [][]string{{"1.1.0", "2.0.0"}, {"1.0.1", "1.1.0"}, {"1.1.0", "2.0.0", "2.1.0-rc.1"}, {"1.1.0+build.5"}, {"0.9.0"}}[r.IntN(5)] {
		w.revise(r, u)
		w.grow(u)
		w.releaseAll(u, v)
	}
	if r.IntN(3) == 0 { // the branch is ahead of the newest tag
		w.revise(r, u)
		w.grow(u)
	}
}

// releaseAll releases every skill that has its own versions, or the repository.
func (w *world) releaseAll(u *upstream, version string) {
	if u.style != skillTags {
		w.release(u, nil, version)
		return
	}
	for _, s := range u.skills {
		if !s.hidden {
			w.release(u, s, version)
		}
	}
}

func (w *world) revise(r *rand.Rand, u *upstream) {
	s := pick(r, u.skills)
	s.text += fmt.Sprintf(" Revision %d.", u.revision)
}

func lastStable(u *upstream) string {
	var best *semver.Version
	for _, text := range u.versions {
		v := semver.MustParse(text)
		if v.Prerelease() == "" && (best == nil || v.GreaterThan(best)) {
			best = v
		}
	}
	if best == nil {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", best.Major(), best.Minor(), best.Patch())
}

func newest(u *upstream) *semver.Version {
	best := semver.MustParse("0.0.0-0")
	for _, text := range u.versions {
		if v := semver.MustParse(text); v.GreaterThan(best) {
			best = v
		}
	}
	return best
}

// move is a step of a world: a command or an event.
type move struct {
	// label names the command in the table, or the event.
	label string
	args  []string
	// involved are the hosts that the command is about; nil with all set means
	// that it asks everybody.
	involved []int
	all      bool
	// asked are keys whose version the command line names.
	asked []string
}

// drawEvent changes the world, and says how.
func (w *world) drawEvent(r *rand.Rand) {
	u := pick(r, w.upstreams)
	s := pick(r, u.skills)
	switch r.IntN(13) {
	case 0:
		w.revise(r, u)
		w.grow(u)
		w.say("# %s: a new commit", u.name)
	case 1:
		w.grow(u)
		w.say("# %s: a new commit, no skill changed", u.name)
	case 2, 3, 4:
		if u.style == untagged {
			w.revise(r, u)
			w.grow(u)
			w.say("# %s: a new commit", u.name)
			return
		}
		n := newest(u)
		v := pick(r, []string{n.IncMinor().String(), n.IncPatch().String(), n.IncMajor().String(), n.IncMajor().String() + "-rc.1"})
		if u.style == preRelease {
			v = "1.0.0-beta." + fmt.Sprint(2+len(u.versions))
		}
		w.revise(r, u)
		w.grow(u)
		w.releaseAll(u, v)
		w.say("# %s: version %s", u.name, v)
	case 5:
		if u.style == untagged || len(u.versions) == 0 {
			return
		}
		gone := u.versions[len(u.versions)-1]
		s.retract = gone + "; it deletes files"
		v := newest(u).IncPatch().String()
		w.grow(u)
		w.releaseAll(u, v)
		w.say("# %s: version %s, in which %s retracts %s", u.name, v, s.name, gone)
	case 6:
		if len(u.tags) == 0 {
			return
		}
		tag := pick(r, u.tags)
		w.revise(r, u)
		w.grow(u)
		w.setTag(u, tag, u.tip)
		w.say("# %s: tag %s moved", u.name, tag)
	case 7:
		if s.dir == "" || s.hidden {
			return
		}
		old := s.dir
		s.dir = path.Join("moved", s.name)
		w.grow(u)
		w.say("# %s: %s moved to %s", u.name, old, s.dir)
		if u.style != untagged && r.IntN(2) == 0 {
			v := newest(u).IncMinor().String()
			w.releaseAll(u, v)
			w.say("# %s: version %s", u.name, v)
		}
	case 8:
		if s.hidden || len(visible(u)) < 2 || slices.ContainsFunc(u.skills, func(o *upstreamSkill) bool {
			return slices.Contains(o.chain, s.name) || o.requires[s.name] != ""
		}) {
			return
		}
		u.skills = slices.DeleteFunc(u.skills, func(o *upstreamSkill) bool { return o == s })
		w.grow(u)
		w.say("# %s: %s deleted", u.name, s.dir)
	case 9:
		w.revise(r, u)
		w.commit(u)
		w.say("# %s: branch main force-pushed", u.name)
	case 10:
		h := r.IntN(len(w.hosts))
		if w.hosts[h].dead {
			w.revive(h)
			w.say("# host%d answers again", h+1)
		} else {
			w.kill(h)
			w.say("# host%d is dead", h+1)
		}
	case 11:
		if l := w.me.lock(); l != nil && len(l.Skills) > 0 && len(l.Targets) > 0 {
			e := pick(r, l.Skills)
			file := path.Join(l.Targets[0], string(e.Key), "SKILL.md")
			if data := w.me.read(file); data != nil {
				w.me.write(file, append(data, "A local edit.\n"...))
				w.local[string(e.Key)] = true
				w.say("# %s edited", file)
			}
		}
	case 12:
		w.editManifest(r)
	}
}

// editManifest is what a person does to skills.toml by hand.
func (w *world) editManifest(r *rand.Rand) {
	lines := strings.SplitAfter(string(w.me.read("skills.toml")), "\n")
	var at []int
	for i, l := range lines {
		if strings.Contains(l, w.prefix) && strings.Contains(l, " = \"") {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return
	}
	i := pick(r, at)
	key, _, _ := strings.Cut(lines[i], " = ")
	switch {
	case len(at) > 1 && r.IntN(2) == 0:
		j := at[0]
		i = at[1]
		lines[i], lines[j] = lines[j], lines[i]
		w.say("# two lines of skills.toml swapped")
	case strings.Contains(lines[i], `"^`):
		lines[i] = strings.Replace(lines[i], `"^`, `"~`, 1)
		w.edited[key] = true
		w.say("# skills.toml: %s takes ~ for ^", key)
	default:
		lines[i] = strings.TrimSuffix(lines[i], "\n") + " # for the release\n"
		w.say("# skills.toml: a comment at %s", key)
	}
	w.me.write("skills.toml", []byte(strings.Join(lines, "")))
}

// visible are a repository's skills without those in agents' directories.
func visible(u *upstream) []*upstreamSkill {
	var list []*upstreamSkill
	for _, s := range u.skills {
		if !s.hidden {
			list = append(list, s)
		}
	}
	return list
}
