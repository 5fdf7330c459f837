package interop

import "strings"

// readSPM reads skills.json and skills-lock.yaml (0.1) of the skills package
// manager. Many programs have a skills.json; ours has an installDir or its schema.
func readSPM(r *reading) error {
	lockFile, lock, err := r.tree("skills-lock.yaml")
	if err != nil {
		return err
	}
	if lock != nil {
		if err := lockFile.version(lock, "lockfileVersion", "0.1"); err != nil {
			return err
		}
	}
	f, root, err := r.tree("skills.json")
	if err != nil && lock == nil && !r.named {
		return errNotOurs
	}
	if err != nil {
		return err
	}
	ours := root.get("installDir") != nil || strings.Contains(root.str("$schema"), "skills-package-manager")
	switch {
	case root != nil && !root.get("skills").is(shapeTable), root != nil && !ours && lock == nil:
		return errNotOurs
	case root == nil:
		for _, s := range lock.get("skills").table() {
			r.spmSkill(lockFile.at(s.node), s.name, s.node.str("specifier"), s.node)
		}
		return nil
	}
	for _, s := range root.get("skills").table() {
		r.spmSkill(f.at(s.node), s.name, s.node.text, lock.get("skills").get(s.name))
	}
	if n := root.get("patchedSkills"); len(n.table()) > 0 {
		r.note(f.at(n), "patches stay behind: an installed skill is what its repository holds; keep a fork, or a path skill")
	}
	return nil
}

func (r *reading) spmSkill(at Place, name, specifier string, locked *node) {
	i := Item{Place: at, Name: name, Key: name}
	for _, prefix := range []string{"link:", "local:"} {
		if dir, ok := strings.CutPrefix(specifier, prefix); ok {
			src, err := local(dir)
			r.take(i, src, err)
			return
		}
	}
	if strings.HasPrefix(specifier, "npm:") || strings.HasPrefix(specifier, "file:") && strings.Contains(specifier, ".tgz") {
		r.skip(at, name, "a tarball or npm package has no git source")
		return
	}
	repo, fragment := cutRef(specifier)
	sub := ""
	for part := range strings.SplitSeq(fragment, "&") {
		if dir, ok := strings.CutPrefix(part, "path:"); ok {
			sub = dir
			continue
		}
		i.setRef(part)
	}
	i.Commit = locked.get("resolution").str("commit")
	if i.Commit != "" && i.Ref != "" && strings.HasPrefix(i.Commit, i.Ref) {
		i.Ref = "" // an abbreviated commit, which git cannot look up
	}
	if sub == "" {
		sub = locked.get("resolution").str("path")
	}
	if sub == "" {
		i.Pick = []string{name}
	}
	src, err := git(repo, sub)
	r.take(i, src, err)
}
