package interop

import (
	"io/fs"
	"strings"
)

// readPackageJSON reads the field skills of a package.json: a list of
// owner/repo@skill and npm: strings, or a table of name to owner/repo#ref or
// {source, path}, whose skills-lock.json (lockfileVersion) holds the commits.
func readPackageJSON(r *reading) error {
	f, root, err := r.tree("package.json")
	if err != nil && !r.named {
		return errNotOurs // most are nobody's business
	}
	if err != nil {
		return err
	}
	skills := root.get("skills")
	switch {
	case skills.is(shapeList):
		for _, s := range skills.items {
			r.packageString(f.at(s), s.text)
		}
	case skills.is(shapeTable):
		locked := r.packageLock()
		for _, s := range skills.fields {
			r.packageEntry(f, s, locked.get(s.name))
		}
	default:
		return errNotOurs
	}
	return nil
}

// packageLock reads the lock of the table form, nil where there is none.
func (r *reading) packageLock() *node {
	const name = "skills-lock.json"
	if _, err := fs.Stat(r.fsys, name); err != nil {
		return nil
	}
	data, err := readFile(r.fsys, name)
	if err != nil {
		return nil
	}
	root, err := parseJSON(file{name, data})
	if err != nil || root.get("lockfileVersion") == nil {
		return nil
	}
	r.doc.Files = append(r.doc.Files, name)
	return root.get("skills")
}

func (r *reading) packageString(at Place, text string) {
	if strings.HasPrefix(text, "npm:") {
		r.skip(at, text, "it comes with an npm package, which has no git source of its own")
		return
	}
	i := Item{Place: at, Name: text, Whole: true}
	repo, ref := cutRef(text)
	if n := strings.LastIndexByte(repo, '@'); n > strings.LastIndexByte(repo, '/') && n > 0 {
		i.Pick, i.Whole, i.Key = []string{repo[n+1:]}, false, repo[n+1:]
		repo = repo[:n]
	}
	i.setRef(ref)
	src, err := git(repo, "")
	r.take(i, src, err)
}

func (r *reading) packageEntry(f *file, s field, locked *node) {
	i := Item{Place: f.at(s.node), Name: s.name, Key: s.name, Commit: locked.str("commit")}
	text, sub := s.node.text, ""
	if s.node.is(shapeTable) {
		text, sub = s.node.str("source"), s.node.str("path")
	}
	if strings.HasPrefix(text, "npm:") {
		r.skip(i.Place, i.Name, "it comes with an npm package, which has no git source of its own")
		return
	}
	repo, ref := cutRef(text)
	i.setRef(ref)
	if sub == "" {
		sub = locked.str("path")
	}
	if strings.HasPrefix(repo, ".") {
		src, err := local(repo)
		r.take(i, src, err)
		return
	}
	if sub == "" {
		i.Pick = []string{s.name}
	}
	src, err := git(repo, sub)
	r.take(i, src, err)
}
