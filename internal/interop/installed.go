package interop

import (
	"path"
	"strings"
)

// readClawhub reads .clawhub/lock.json, version 1. A skill that says where its
// source is comes from there; one that lives in that registry alone is skipped.
func readClawhub(r *reading) error {
	f, root, err := r.tree("lock.json")
	if err != nil {
		return err
	}
	if err := f.version(root, "version", "1"); err != nil {
		return err
	}
	for _, s := range root.get("skills").table() {
		i := Item{Place: f.at(s.node), Name: s.name, Key: s.name, Pick: []string{s.name}}
		address := s.node.str("sourceUrl")
		if !strings.HasPrefix(address, "https://") {
			r.skip(i.Place, s.name, "it lives in the ClawHub registry and names no repository")
			continue
		}
		i.setRef(s.node.str("sourceRef"))
		src, err := git(address, "")
		r.take(i, src, err)
	}
	return nil
}

// readOpenskills reads the .openskills.json in each installed skill.
func readOpenskills(r *reading) error {
	seen := map[string]bool{}
	for _, name := range r.files {
		f, root, err := r.openTree(name)
		if err != nil {
			return err
		}
		r.doc.Files = append(r.doc.Files, name)
		key := path.Base(path.Dir(name))
		if seen[key] {
			continue
		}
		seen[key] = true
		i := Item{Place: f.at(root.get("source")), Name: key, Key: key}
		if root.str("sourceType") == "local" || root.str("repoUrl") == "" {
			src, err := local(root.str("localPath"))
			r.take(i, src, err)
			continue
		}
		sub := root.str("subpath")
		if sub == "" {
			i.Pick = []string{key}
		}
		src, err := git(root.str("repoUrl"), sub)
		r.take(i, src, err)
	}
	return nil
}

// readSkillsPkg reads .skillspkg.toml. hash_value is a hash of its own.
func readSkillsPkg(r *reading) error {
	f, root, err := r.tree(".skillspkg.toml")
	if err != nil {
		return err
	}
	for _, s := range root.get("skills").list() {
		i := Item{Place: f.at(s), Name: s.str("name"), Key: s.str("name")}
		if kind := s.str("source"); kind != "git" {
			r.skip(i.Place, i.Name, "a source of kind `"+orNone(kind)+"` is no git repository")
			continue
		}
		i.setRef(s.str("version"))
		sub := s.str("subdir")
		if sub == "" {
			i.Pick = []string{i.Name}
		}
		src, err := git(s.str("url"), sub)
		r.take(i, src, err)
	}
	return nil
}

// readSX reads sx.lock, or sx.toml where there is none: assets of type skill with
// a git source.
func readSX(r *reading) error {
	f, root, err := r.tree("sx.lock")
	if err == nil && root == nil {
		f, root, err = r.tree("sx.toml")
	}
	if err != nil {
		return err
	}
	for _, a := range root.get("assets").list() {
		i := Item{Place: f.at(a), Name: a.str("name"), Key: a.str("name")}
		if kind := a.str("type"); kind != "" && kind != "skill" {
			r.note(i.Place, "`%s` is a %s, not a skill; it stays behind", i.Name, kind)
			continue
		}
		from := a.get("source-git")
		if from == nil {
			r.skip(i.Place, i.Name, "it comes from a vault or an archive, not from git")
			continue
		}
		i.setRef(from.str("ref"))
		sub := from.str("subdirectory")
		if sub == "" {
			i.Pick = []string{i.Name}
		}
		src, err := git(from.str("url"), sub)
		r.take(i, src, err)
	}
	return nil
}
