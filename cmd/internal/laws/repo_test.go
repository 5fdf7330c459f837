package laws

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/testkit"
)

// host is a git host of a world. Its address is the same on every machine but
// for the middle of it, which reports leave out.
type host struct {
	srv  *testkit.Server
	memo *testkit.Memo
	dead bool
}

// How a repository names its versions.
const (
	untagged   = "untagged"
	repoTags   = "repository-wide tags"
	bareTags   = "tags without v"
	skillTags  = "per-skill tags"
	preRelease = "pre-releases only"
)

var tagStyles = []string{untagged, repoTags, bareTags, skillTags, preRelease}

// upstream is a repository on a host, as its author sees it.
type upstream struct {
	host   int
	name   string // acme/kit
	tk     *testkit.Repo
	style  string
	skills []*upstreamSkill
	// versions are those released, in order of release.
	versions []string
	tags     []string // full names, in order
	tip      string
	revision int
	needs    []*upstream // repositories that its skills require
	gone     bool        // the host no longer has it
}

// upstreamSkill is a skill at the tip.
type upstreamSkill struct {
	name, dir string
	text      string // grows with each revision
	chain     []string
	requires  map[string]string // name to requirement
	retract   string
	script    bool
	more      map[string]string // further files
	dangling  bool
	hidden    bool // a copy in an agent's private directory
}

func (s *upstreamSkill) skillMD() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ndescription: Does %s. Use when %s is wanted.\n", s.name, s.name, s.name)
	if len(s.chain)+len(s.requires) > 0 || s.retract != "" {
		b.WriteString("metadata:\n")
		if len(s.chain) > 0 {
			fmt.Fprintf(&b, "  chain: %q\n", strings.Join(s.chain, ", "))
		}
		for _, name := range slices.Sorted(maps.Keys(s.requires)) {
			fmt.Fprintf(&b, "  skillpm.requires.%s: %q\n", name, s.requires[name])
		}
		if s.retract != "" {
			fmt.Fprintf(&b, "  skillpm.retract: %q\n", s.retract)
		}
	}
	fmt.Fprintf(&b, "---\n\n# %s\n\nDo it.%s\n", s.name, s.text)
	return b.String()
}

func (u *upstream) skill(name string) *upstreamSkill {
	for _, s := range u.skills {
		if s.name == name && !s.hidden {
			return s
		}
	}
	return nil
}

// commit writes the skills as they are to main.
func (w *world) commit(u *upstream, parents ...string) string {
	u.revision++
	files := map[string]testkit.File{"README.md": {Data: fmt.Sprintf("# %s, revision %d\n", u.name, u.revision)}}
	for _, s := range u.skills {
		files[path.Join(s.dir, "SKILL.md")] = testkit.File{Data: s.skillMD()}
		files[path.Join(s.dir, "references", "notes.md")] = testkit.File{Data: "Notes on " + s.name + ".\n"}
		for name, data := range s.more {
			files[path.Join(s.dir, name)] = testkit.File{Data: data}
		}
		if s.script {
			files[path.Join(s.dir, "scripts", "run.sh")] = testkit.File{Mode: "100755", Data: "#!/bin/sh\necho " + s.name + s.text + "\n"}
		}
		if s.dangling {
			files[path.Join(s.dir, "gone.md")] = testkit.File{Mode: "120000", Data: "nowhere.md"}
		}
	}
	tree, err := u.tk.Files(files)
	must(err)
	id, err := u.tk.Commit(tree, fmt.Sprintf("revision %d", u.revision), parents...)
	must(err)
	must(u.tk.SetRef("refs/heads/main", id))
	u.tip = id
	w.changed(u.host)
	return id
}

// grow commits on top of what is there.
func (w *world) grow(u *upstream) string {
	if u.tip == "" {
		return w.commit(u)
	}
	return w.commit(u, u.tip)
}

// release tags the tip as version, in the repository's way; s is whose version
// it is where each skill has its own.
func (w *world) release(u *upstream, s *upstreamSkill, version string) {
	u.tk.Now = u.tk.Now.Add(0)
	var tag string
	switch u.style {
	case bareTags:
		tag = version
	case skillTags:
		tag = s.name + "/v" + version
	default:
		tag = "v" + version
	}
	w.setTag(u, tag, u.tip)
	u.versions = append(u.versions, version)
}

func (w *world) setTag(u *upstream, tag, commit string) {
	must(u.tk.SetRef("refs/tags/"+tag, commit))
	if !slices.Contains(u.tags, tag) {
		u.tags = append(u.tags, tag)
	}
	w.changed(u.host)
}

// add makes a new repository on a host. Its first commit is the caller's.
func (w *world) newUpstream(h int, name, style string) *upstream {
	tk, err := testkit.NewRepo(filepath.Join(w.hosts[h].srv.Root, filepath.FromSlash(name)+".git"), false)
	must(err)
	u := &upstream{host: h, name: name, tk: tk, style: style}
	w.upstreams = append(w.upstreams, u)
	return u
}

func (w *world) url(u *upstream) string { return w.hosts[u.host].srv.URL + "/" + u.name }

// source is what a person types for a skill.
func (w *world) source(u *upstream, s *upstreamSkill) string {
	return strings.TrimSuffix(w.url(u)+"//"+s.dir, "//")
}

// reaches is the hosts that a repository's skills can lead to, its own first.
func (u *upstream) reaches() []int {
	seen := map[*upstream]bool{}
	var walk func(*upstream)
	var list []int
	walk = func(v *upstream) {
		if seen[v] {
			return
		}
		seen[v] = true
		if !slices.Contains(list, v.host) {
			list = append(list, v.host)
		}
		for _, n := range v.needs {
			walk(n)
		}
	}
	walk(u)
	return list
}
