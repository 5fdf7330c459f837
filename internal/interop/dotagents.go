package interop

import (
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
	for _, s := range root.get("skills").list() {
		r.dotagentsSkill(f, s, lock.get("skills"), root.str("defaultRepositorySource"))
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

func (r *reading) dotagentsSkill(f *file, s, locked *node, hoster string) {
	name := s.str("name")
	i := Item{Place: f.at(s), Name: name, Key: name}
	source, ref := s.str("source"), s.str("ref")
	if dir, ok := strings.CutPrefix(source, "path:"); ok {
		src, err := local(dir)
		r.take(i, src, err)
		return
	}
	source = strings.TrimPrefix(source, "git:")
	if at := strings.LastIndexByte(source, '@'); at > strings.LastIndexByte(source, '/') && strings.Contains(source, "/") {
		if ref == "" {
			ref = source[at+1:]
		}
		source = source[:at]
	}
	i.setRef(ref)
	if hoster == "gitlab" && strings.Count(source, "/") == 1 && !strings.Contains(source, ":") {
		source = gitlab(source)
	}
	lock := locked.get(name)
	sub := s.str("path")
	if sub == "" {
		sub = lock.str("resolved_path")
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
