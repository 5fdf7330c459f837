package interop

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// readDotagents reads agents.toml, version 1, and agents.lock beside it.
func readDotagents(r *reading) error {
	f, root, err := r.tree("agents.toml")
	if err != nil {
		return err
	}
	lockFile, lock, err := r.tree("agents.lock")
	if err != nil {
		return err
	}
	if root == nil {
		return lockFile.unreadable(0, 0, "agents.lock stands without its agents.toml")
	}
	if !dotagentsLike(root) {
		return errNotOurs
	}
	if err := f.version(root, "version", "1"); err != nil {
		return err
	}
	if lock != nil {
		if err := lockFile.version(lock, "version", "1"); err != nil {
			return err
		}
	}
	r.dotagentsAgents(f, root.get("agents"))
	skills, locked := root.get("skills").list(), lock.get("skills")
	for _, s := range skills {
		for _, name := range wildcardNames(s, skills, locked) {
			r.dotagentsSkill(f, s, name, locked, root.str("defaultRepositorySource"))
		}
	}
	for _, name := range []string{"trust", "subagents", "plugins", "mcp", "hooks"} {
		if n := root.get(name); n != nil {
			r.note(f.at(n), "[%s] stays behind: it is no list of skills", name)
		}
	}
	return nil
}

// dotagentsLike tells the tool's file from others of that name: skills are a list
// of tables with name and source.
func dotagentsLike(root *node) bool {
	skills := root.get("skills")
	if skills == nil {
		return root.get("version") != nil && root.get("agents").is(shapeList)
	}
	return skills.is(shapeList) && (len(skills.items) == 0 || skills.items[0].str("source") != "")
}

// dotagentsIDs are the agents that the tool has other ids for.
var dotagentsIDs = map[string]string{"claude": "claude-code", "vscode": "github-copilot"}

// dotagentsAgents takes the agents that the tool links its skills for.
func (r *reading) dotagentsAgents(f *file, list *node) {
	for _, n := range list.list() {
		r.doc.Agents = append(r.doc.Agents, Agent{f.at(n), cmp.Or(dotagentsIDs[n.text], n.text)})
	}
}

// wildcardNames returns the names that an entry stands for: its own, or, for a
// wildcard, those that the lock has from its source. The wildcard itself remains
// where nothing of it is locked.
func wildcardNames(s *node, skills []*node, locked *node) []string {
	if s.str("name") != "*" {
		return []string{s.str("name")}
	}
	taken := s.get("exclude").strings()
	for _, other := range skills {
		taken = append(taken, other.str("name"))
	}
	var names []string
	found := false
	for _, l := range locked.table() {
		if sameRepository(l.node.str("source"), s.str("source")) {
			found = true
			if !slices.Contains(taken, l.name) {
				names = append(names, l.name)
			}
		}
	}
	if !found {
		return []string{"*"}
	}
	return names
}

// sameRepository compares sources of agents.toml and agents.lock, of which either
// may carry a ref.
func sameRepository(a, b string) bool {
	plain := func(s string) string {
		s, _ = cutAt(strings.TrimPrefix(s, "git:"))
		return strings.TrimSuffix(strings.TrimSuffix(s, "/"), ".git")
	}
	return a != "" && plain(a) == plain(b)
}

// cutAt splits SOURCE@REF; the @ of a user name is none.
func cutAt(source string) (base, ref string) {
	at := strings.LastIndexByte(source, '@')
	if at > strings.LastIndexByte(source, '/') && strings.Contains(source, "/") {
		return source[:at], source[at+1:]
	}
	return source, ""
}

// dotagentsSkill takes the skill name of the entry s, or with "*" all there are.
func (r *reading) dotagentsSkill(f *file, s *node, name string, locked *node, hoster string) {
	i := Item{Place: f.at(s), Name: name, Key: name}
	source, ref := s.str("source"), s.str("ref")
	if dir, ok := strings.CutPrefix(source, "path:"); ok {
		src, err := local(dir)
		r.take(i, src, err)
		return
	}
	source, tag := cutAt(strings.TrimPrefix(source, "git:"))
	i.setRef(cmp.Or(ref, tag))
	if hoster == "gitlab" && strings.Count(source, "/") == 1 && !strings.Contains(source, ":") {
		source = gitlab(source)
	}
	lock := locked.get(name)
	sub := s.str("path")
	if sub == "" || s.str("name") != name { // of a wildcard it is where to look
		sub = cmp.Or(lock.str("resolved_path"), sub)
	}
	if i.Commit == "" {
		i.Commit = lock.str("resolved_commit") + lock.str("commit") // renamed in 2026
	}
	switch {
	case name == "*":
		i.Key, i.Whole, i.Exclude = "", true, s.get("exclude").strings()
	case sub == "":
		i.Pick = []string{name}
	}
	src, err := git(source, sub)
	if err == nil && src.Kind() == skill.SourceIndex {
		i.Key, i.Commit = "", ""
	}
	r.take(i, src, err)
}
