package interop

import (
	"path"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// apmLocked is an entry of apm.lock.yaml.
type apmLocked struct {
	node       *node
	commit     string
	tag        string
	subset     []string
	transitive bool
}

// readAPM reads apm.yml and, for the commits, apm.lock.yaml version 1. The lock
// alone serves where the manifest is missing.
func readAPM(r *reading) error {
	lockFile, lock, err := r.tree("apm.lock.yaml")
	if err != nil {
		return err
	}
	locked := map[string]apmLocked{}
	if lock != nil {
		if err := lockFile.version(lock, "lockfile_version", "1", "1.0"); err != nil {
			return err
		}
		for _, d := range lock.get("dependencies").list() {
			locked[apmKey(d)] = apmLocked{
				node: d, commit: d.str("resolved_commit"), tag: d.str("resolved_tag"),
				subset: d.get("skill_subset").strings(), transitive: d.str("resolved_by") != "" || d.str("depth") > "1",
			}
		}
	}
	f, root, err := r.tree("apm.yml")
	if err != nil {
		return err
	}
	if root == nil {
		return r.apmLockAlone(lockFile, lock, locked)
	}
	if root.get("name") == nil || root.get("dependencies") == nil && root.get("devDependencies") == nil && lock == nil {
		return errNotOurs
	}
	for _, group := range []string{"dependencies", "devDependencies"} {
		deps := root.get(group)
		for _, d := range deps.get("apm").list() {
			r.apmDependency(f, d, locked)
		}
		for _, kind := range []string{"mcp", "lsp"} {
			if n := len(deps.get(kind).list()); n > 0 {
				r.note(f.at(deps.get(kind)), "%d %s servers stay behind: they are no skills", n, kind)
			}
		}
	}
	for _, d := range lock.get("dependencies").list() {
		if l := locked[apmKey(d)]; l.transitive {
			r.note(lockFile.at(d), "`%s` came through another package and was not asked for by name; add it if its skills are needed", d.str("repo_url"))
		}
	}
	return nil
}

func (r *reading) apmLockAlone(f *file, lock *node, locked map[string]apmLocked) error {
	for _, d := range lock.get("dependencies").list() {
		l := locked[apmKey(d)]
		if l.transitive {
			continue
		}
		host := d.str("host")
		if host == "" {
			host = "github.com"
		}
		i := Item{Place: f.at(d), Name: d.str("repo_url"), Commit: l.commit, Tag: l.tag, Pick: l.subset, Whole: len(l.subset) == 0}
		src, err := git(host+"/"+strings.TrimPrefix(d.str("repo_url"), host+"/"), d.str("virtual_path"))
		r.take(i, src, err)
	}
	return nil
}

// apmKey is the identity of a package in both files: repository and path.
func apmKey(d *node) string {
	repo := strings.TrimPrefix(d.str("repo_url"), "https://")
	repo = strings.TrimSuffix(strings.TrimPrefix(repo, "github.com/"), ".git")
	return strings.ToLower(repo) + "\x00" + d.str("virtual_path")
}

func (r *reading) apmDependency(f *file, d *node, locked map[string]apmLocked) {
	i := Item{Place: f.at(d), Whole: true}
	text, sub := d.text, ""
	if d.is(shapeTable) {
		i.Pick, i.Key = d.get("skills").strings(), d.str("alias")
		text, sub = d.str("git"), d.str("path")
		switch {
		case text == "parent", text == "" && d.str("path") == "":
			r.skip(i.Place, d.str("name")+d.str("id"), "it is named through a registry or marketplace, not by a repository")
			return
		case text == "":
			text, sub = sub, ""
		}
	}
	text, ref := cutRef(text)
	if more := d.str("ref"); more != "" {
		ref = more
	}
	i.Name = text
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") {
		src, err := local(text)
		r.take(i, src, err)
		return
	}
	repo, below := apmRepository(text)
	sub = path.Join(below, sub)
	if kind := apmPrimitive(sub); kind != "" {
		r.note(i.Place, "`%s` is %s, not a skill; it stays behind", text, kind)
		return
	}
	if strings.ContainsAny(ref, "^~<>=* ") {
		i.Range, ref = ref, ""
	}
	i.setRef(ref)
	src, err := git(repo, sub)
	if err == nil && src.Kind() == skill.SourceGit {
		key := strings.TrimPrefix(src.Repository(), "github.com/")
		if l, ok := locked[strings.ToLower(key)+"\x00"+sub]; ok {
			i.Commit, i.Tag = l.commit, l.tag
			if len(i.Pick) == 0 {
				i.Pick = l.subset
			}
		}
	}
	i.Whole = len(i.Pick) == 0
	r.take(i, src, err)
}

// apmRepository splits [host/]owner/repo[/path] where there is no scheme.
func apmRepository(text string) (repo, sub string) {
	if strings.Contains(text, ":") {
		return text, ""
	}
	n := 2
	elems := strings.Split(text, "/")
	if strings.Contains(elems[0], ".") {
		n = 3
	}
	if len(elems) <= n || elems[0] == "dev.azure.com" {
		return text, ""
	}
	return strings.Join(elems[:n], "/"), strings.Join(elems[n:], "/")
}

// apmPrimitive says what a single file of a package is, "" for a directory.
func apmPrimitive(sub string) string {
	for suffix, what := range map[string]string{
		".prompt.md": "a prompt", ".instructions.md": "an instruction file", ".agent.md": "an agent", ".chatmode.md": "a chat mode",
		".collection.yml": "a collection",
	} {
		if strings.HasSuffix(sub, suffix) {
			return what
		}
	}
	return ""
}
