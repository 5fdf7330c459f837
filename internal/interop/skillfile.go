package interop

import (
	"path"
	"strings"
)

// readSkillfile reads a Skillfile, lines of words, and Skillfile.lock, JSON keyed
// by host/kind/name with the commit as sha. Other programs call shell scripts and
// word lists by that name; without a line that is the tool's it is not ours.
//
//	github  skill  [name]  owner/repo[@ref]  path  [ref]
//	local   skill  [name]  path
func readSkillfile(r *reading) error {
	f, err := r.load("Skillfile")
	if err != nil {
		return err
	}
	_, lock, err := r.lockOf("Skillfile.lock")
	if err != nil {
		return err
	}
	if f == nil {
		return errNotOurs
	}
	ours := false
	line := 0
	for text := range strings.Lines(string(f.data)) {
		line++
		text, _, _ = strings.Cut(text, "#")
		words := strings.Fields(text)
		if len(words) < 2 {
			continue
		}
		ours = r.skillfileLine(Place{f.path, line, 1}, words, lock) || ours
	}
	if !ours {
		return errNotOurs
	}
	return nil
}

// lockOf reads a JSON file whose name does not say so.
func (r *reading) lockOf(name string) (*file, *node, error) {
	f, err := r.load(name)
	if f == nil || err != nil {
		return nil, nil, err
	}
	root, err := parseJSON(*f)
	return f, root, err
}

// skillfileLine takes one line and reports whether it is the tool's.
func (r *reading) skillfileLine(at Place, words []string, lock *node) bool {
	verb, kind, rest := words[0], words[1], words[2:]
	switch {
	case verb == "install" && len(rest) > 0:
		return true // where to install; the targets of skills.toml say that
	case verb != "github" && verb != "gitlab" && verb != "local" && verb != "url":
		return false
	case kind != "skill":
		r.note(at, "`%s` is of kind %s, not a skill; it stays behind", strings.Join(rest, " "), kind)
		return kind == "agent"
	case verb == "url":
		r.skip(at, strings.Join(rest, " "), "a single file at a URL has no repository")
		return true
	case len(rest) == 0:
		r.skip(at, verb, "the line names nothing")
		return true
	}
	if verb == "local" {
		dir := rest[len(rest)-1]
		src, err := local("./" + strings.TrimPrefix(dir, "./"))
		r.take(Item{Place: at, Name: dir, Key: nameBefore(rest, 1)}, src, err)
		return true
	}
	name := ""
	if !strings.Contains(rest[0], "/") {
		name, rest = rest[0], rest[1:]
	}
	if len(rest) < 2 {
		r.skip(at, name, "the line names no repository and path")
		return true
	}
	repo, sub := rest[0], cleanSub(rest[1])
	if strings.HasSuffix(sub, ".md") {
		r.skip(at, rest[1], "a single file is not a skill")
		return true
	}
	i := Item{Place: at, Name: name, Key: name}
	if name == "" { // the path may be a directory of skills
		i.Name, i.Whole = path.Base(sub), true
	}
	i.Commit = lock.get(verb + "/skill/" + i.Name).str("sha")
	if before, ref, ok := strings.Cut(repo, "@"); ok {
		repo = before
		i.setRef(ref)
	}
	if len(rest) > 2 {
		i.setRef(rest[2])
	}
	if verb == "gitlab" {
		repo = gitlab(repo)
	}
	src, err := git(repo, sub)
	r.take(i, src, err)
	return true
}

// nameBefore returns the name that stands before the last n words, if one does.
func nameBefore(words []string, n int) string {
	if len(words) > n {
		return words[0]
	}
	return ""
}
