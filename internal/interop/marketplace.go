package interop

import (
	"io/fs"
	"path"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// readMarketplace reads each marketplace.json there is: the skills of every plugin
// it lists. Commands, agents, hooks and servers of a plugin are not skills; they
// stay behind. Several agents take the format, each from a directory of its own,
// and a repository often holds the same list for some of them.
func readMarketplace(r *reading) error {
	for _, name := range r.files {
		f, root, err := r.openTree(name)
		if err != nil {
			return err
		}
		plugins := root.get("plugins")
		if !plugins.is(shapeList) {
			continue
		}
		r.doc.Files = append(r.doc.Files, name)
		for _, p := range plugins.items {
			r.plugin(f, p, root.get("metadata").str("pluginRoot"))
		}
	}
	if len(r.doc.Files) == 0 {
		return errNotOurs
	}
	return nil
}

func (r *reading) plugin(f *file, p *node, root string) {
	i := Item{Place: f.at(p), Name: p.str("name")}
	src := p.get("source")
	if src.is(shapeText) {
		if dir, ok := r.pluginDir(root, src.text); ok {
			r.localPlugin(i, p, dir)
			return
		}
		r.remotePlugin(i, p, src.text, "")
		return
	}
	i.setRef(src.str("ref"))
	i.setRef(src.str("sha"))
	if src.str("sha") != "" && src.str("ref") != "" && !skill.IsObjectID(src.str("ref")) {
		i.Ref = src.str("ref")
	}
	switch kind := src.str("source"); kind {
	case "github":
		r.remotePlugin(i, p, src.str("repo"), src.str("path"))
	case "url", "git", "git-subdir":
		r.remotePlugin(i, p, src.str("url"), src.str("path"))
	case "local", "directory":
		if dir, ok := r.pluginDir(root, src.str("path")); ok {
			r.localPlugin(i, p, dir)
			return
		}
		r.skip(i.Place, i.Name, "its directory is not here")
	default:
		r.skip(i.Place, i.Name, "a plugin from `"+orNone(kind)+"` has no git source")
	}
}

func orNone(s string) string {
	if s == "" {
		return "nowhere"
	}
	return s
}

// pluginDir returns the directory of a plugin that lies in this repository. The
// root is for bare names; what begins with ./ is meant from the top.
func (r *reading) pluginDir(root, dir string) (string, bool) {
	candidates := []string{path.Join(root, dir), dir}
	if strings.HasPrefix(dir, ".") {
		candidates = []string{dir, path.Join(root, dir)}
	}
	for _, candidate := range candidates {
		clean := cleanSub(candidate)
		if !fs.ValidPath(clean) {
			continue
		}
		if info, err := fs.Stat(r.fsys, clean); err == nil && info.IsDir() {
			return clean, true
		}
	}
	return "", false
}

// localPlugin takes the skills of a plugin in this repository: those its entry
// or its plugin.json names, else the directories in its skills.
func (r *reading) localPlugin(i Item, p *node, dir string) {
	parts := p.get("skills").strings()
	more, err := r.pluginManifest(dir)
	if err != nil {
		r.skip(i.Place, i.Name, err.Error())
		return
	}
	parts = append(parts, more...)
	named := len(parts) > 0
	if !named {
		parts = []string{"skills"}
	}
	found := 0
	for _, part := range parts {
		dirs := r.skillDirs(path.Join(dir, cleanSub(part)))
		if len(dirs) == 0 && named {
			r.skip(i.Place, i.Name+":"+path.Base(part), "there is no SKILL.md in "+path.Join(dir, cleanSub(part)))
			found++
		}
		for _, at := range dirs {
			one := i
			one.Name = i.Name + ":" + path.Base(at)
			src, err := local("./" + at)
			r.take(one, src, err)
			found++
		}
	}
	if found == 0 {
		r.note(i.Place, "plugin `%s` holds no skills", i.Name)
	}
}

// manifestPlaces are where a plugin keeps its plugin.json; the first one counts.
var manifestPlaces = []string{".claude-plugin/plugin.json", "plugin.json", ".github/plugin/plugin.json"}

// pluginManifest reads a plugin's own plugin.json, if it has one, and returns
// what it says of skills.
func (r *reading) pluginManifest(dir string) ([]string, error) {
	for _, place := range manifestPlaces {
		name := path.Join(dir, place)
		if info, err := fs.Stat(r.fsys, name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, root, err := r.openTree(name)
		if err != nil {
			return nil, err
		}
		if deps := root.get("dependencies"); len(deps.list()) > 0 {
			r.note(f.at(deps), "plugin dependencies are versions of plugins, not of skills; they stay behind")
		}
		return root.get("skills").strings(), nil
	}
	return nil, nil
}

// skillDirs returns dir if it is a skill, else the skills directly in it.
func (r *reading) skillDirs(dir string) []string {
	if !fs.ValidPath(dir) {
		return nil
	}
	if r.isSkill(dir) {
		return []string{dir}
	}
	entries, err := fs.ReadDir(r.fsys, dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if at := path.Join(dir, e.Name()); len(out) < maxItems && r.isSkill(at) {
			out = append(out, at)
		}
	}
	return out
}

func (r *reading) isSkill(dir string) bool {
	info, err := fs.Stat(r.fsys, path.Join(dir, "SKILL.md"))
	return err == nil && info.Mode().IsRegular()
}

// remotePlugin takes the skills of a plugin in another repository.
func (r *reading) remotePlugin(i Item, p *node, repo, sub string) {
	i.Whole = true
	parts := p.get("skills").strings()
	if len(parts) == 0 {
		parts = []string{""}
	}
	for _, part := range parts {
		at := strings.TrimPrefix(path.Join("/", sub, part), "/")
		src, err := git(repo, at)
		if err == nil && src.Kind() != skill.SourceGit {
			r.skip(i.Place, i.Name, "its source `"+repo+"` is no git repository and no directory here")
			return
		}
		r.take(i, src, err)
	}
}
