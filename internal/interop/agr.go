package interop

import "strings"

// readAgr reads agr.toml and, for the commits, agr.lock version 1. A handle is
// owner/repo/skill; owner/skill and skill take the rest from default_owner and
// default_repo.
func readAgr(r *reading) error {
	f, root, err := r.tree("agr.toml")
	if err != nil {
		return err
	}
	lockFile, lock, err := r.tree("agr.lock")
	if err != nil {
		return err
	}
	commits := map[string]string{}
	if lock != nil {
		if err := lockFile.version(lock, "version", "1"); err != nil {
			return err
		}
		for _, s := range lock.get("skill").list() {
			commits[s.str("handle")] = s.str("commit")
		}
	}
	if root == nil {
		f, root = lockFile, &node{shape: shapeTable, fields: []field{{"dependencies", lock.get("skill")}}}
	}
	for _, d := range root.get("dependencies").list() {
		r.agrDependency(f, d, root, commits)
	}
	return nil
}

func (r *reading) agrDependency(f *file, d, root *node, commits map[string]string) {
	at, handle, kind := f.at(d), d.str("handle"), d.str("type")
	if kind != "" && kind != "skill" {
		r.note(at, "`%s%s` is a %s, not a skill; it stays behind", handle, d.str("path"), kind)
		return
	}
	if dir := d.str("path"); dir != "" {
		src, err := local("./" + strings.TrimPrefix(dir, "./"))
		r.take(Item{Place: at, Name: dir}, src, err)
		return
	}
	owner, repo := root.str("default_owner"), root.str("default_repo")
	if repo == "" {
		repo = "skills" // the tool's own default
	}
	parts := strings.Split(handle, "/")
	switch {
	case len(parts) == 3:
		owner, repo = parts[0], parts[1]
	case len(parts) == 2:
		owner = parts[0]
	case len(parts) != 1 || owner == "":
		r.skip(at, handle, "the handle names no repository, and there is no default_owner")
		return
	}
	name := parts[len(parts)-1]
	src, err := git(agrURL(root, d.str("source"), owner, repo), "")
	r.take(Item{Place: at, Name: handle, Key: name, Pick: []string{name}, Commit: commits[handle]}, src, err)
}

// agrURL fills the template of the source that a dependency, or the file, names.
func agrURL(root *node, source, owner, repo string) string {
	if source == "" {
		source = root.str("default_source")
	}
	for _, s := range root.get("source").list() {
		if s.str("name") == source && s.str("url") != "" {
			return strings.NewReplacer("{owner}", owner, "{repo}", repo).Replace(s.str("url"))
		}
	}
	return owner + "/" + repo
}
