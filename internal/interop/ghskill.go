package interop

import (
	"bytes"
	"path"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// readGH reads what `gh skill install` writes into the SKILL.md it installs:
// metadata github-repo, github-path, github-ref, github-tree-sha, github-pinned.
// Skills without these fields are not its own and are left alone.
func readGH(r *reading) error {
	seen := map[string]bool{}
	for _, name := range r.files {
		f, err := r.open(name)
		if err != nil {
			return err
		}
		meta := f.frontmatter().get("metadata")
		key := path.Base(path.Dir(name))
		if meta.str("github-repo") == "" || seen[key] {
			continue
		}
		seen[key] = true
		r.doc.Files = append(r.doc.Files, name)
		i := Item{Place: f.at(meta.get("github-repo")), Name: key, Key: key, Tree: meta.str("github-tree-sha")}
		if !skill.IsObjectID(i.Tree) {
			i.Tree = ""
		}
		ref := meta.str("github-ref")
		switch tag, ok := strings.CutPrefix(ref, "refs/tags/"); {
		case meta.str("github-pinned") != "":
			i.setRef(meta.str("github-pinned"))
		case ok: // the newest release at that time, which nobody asked for by name
			i.Tag = tag
		default:
			i.setRef(ref)
		}
		sub := meta.str("github-path")
		if sub == "" {
			i.Pick = []string{key}
		}
		src, err := git(meta.str("github-repo"), sub)
		r.take(i, src, err)
	}
	if len(r.doc.Files) == 0 {
		return errNotOurs
	}
	return nil
}

// frontmatter returns what stands between the fences of a SKILL.md, nil where
// that is no YAML: such a skill tells nothing about its origin.
func (f *file) frontmatter() *node {
	data := bytes.TrimPrefix(f.data, []byte("\ufeff"))
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(bytes.TrimSpace(first)) != "---" {
		return nil
	}
	end := bytes.Index(rest, []byte("\n---"))
	if end < 0 || end > maxFront {
		return nil
	}
	// A blank line in place of the fence keeps the line numbers.
	root, err := parseYAML(file{f.path, append([]byte("\n"), rest[:end]...)})
	if err != nil {
		return nil
	}
	return root
}

// maxFront bounds a frontmatter; the format's own rules allow far less.
const maxFront = 256 << 10
