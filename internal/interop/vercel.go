package interop

import (
	"net/url"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// readVercel reads the project lock skills-lock.json, version 1. Its computedHash
// is made by rules of its own over the files of a clone; it cannot be compared
// with a tree digest and does not carry over.
func readVercel(r *reading) error {
	f, root, err := r.tree("skills-lock.json")
	if err != nil {
		return err
	}
	if root.get("lockfileVersion") != nil || !root.get("skills").is(shapeTable) {
		return errNotOurs
	}
	if err := f.version(root, "version", "1"); err != nil {
		return err
	}
	r.vercelSkills(f, root)
	return nil
}

// readVercelUser reads the user's lock .skill-lock.json, version 3, which gh skill
// writes as well. Its skillFolderHash is the id of the skill's git tree.
func readVercelUser(r *reading) error {
	f, root, err := r.tree(".skill-lock.json")
	if err != nil {
		return err
	}
	if err := f.version(root, "version", "3"); err != nil {
		return err
	}
	r.vercelSkills(f, root)
	return nil
}

func (r *reading) vercelSkills(f *file, root *node) {
	for _, s := range root.get("skills").table() {
		e := s.node
		i := Item{Place: f.at(e), Name: s.name, Key: s.name, Tree: e.str("skillFolderHash")}
		repo, ref := cutRef(e.str("source"))
		if !skill.IsObjectID(i.Tree) {
			i.Tree = ""
		}
		i.setRef(ref)
		i.setRef(e.str("ref"))
		i.setRef(e.str("pinnedRef"))
		src, err := vercelSource(e, repo, s.name, &i)
		if why := vercelForeign[e.str("sourceType")]; why != "" {
			r.skip(i.Place, i.Name, why)
			continue
		}
		r.take(i, src, err)
	}
}

// vercelForeign are kinds of sources that are no git repository.
var vercelForeign = map[string]string{
	"node_modules": "it comes with an npm package, which has no git source of its own",
	"npm":          "it comes with an npm package, which has no git source of its own",
}

func vercelSource(e *node, repo, name string, i *Item) (skill.Source, error) {
	address := e.str("sourceUrl")
	switch e.str("sourceType") {
	case "local":
		return local(repo)
	case "well-known", "wellknown":
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			repo = u.Host
		}
		i.Pick, i.Key = []string{name}, ""
		return skill.ParseSource("https://" + strings.TrimPrefix(repo, "https://"))
	case "gitlab":
		if repo = gitlab(repo); address != "" {
			repo = address
		}
	case "git":
		if address != "" {
			repo = address
		}
	}
	sub := e.str("skillPath")
	if sub == "" {
		i.Pick = []string{name}
	}
	return git(repo, sub)
}

// gitlab names the host of a source written group/repo.
func gitlab(repo string) string {
	if strings.Contains(repo, ":") || strings.HasPrefix(repo, "gitlab.com/") {
		return repo
	}
	return "gitlab.com/" + repo
}
