package fetch

import (
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// Listed returns the skills that a listing shows by default: neither excluded
// nor nested, and of several in equal directories of one name only the first.
// Where that leaves none, it returns those that are not nested.
func (d *Discovery) Listed() []Found {
	if list := d.listed(true); len(list) > 0 {
		return list
	}
	return d.listed(false)
}

func (d *Discovery) listed(exclude bool) []Found {
	type copyOf struct {
		name string
		tree ID
	}
	seen := map[copyOf]bool{}
	var list []Found
	for _, f := range d.Skills {
		key := copyOf{path.Base(f.Path), f.Tree}
		if f.Nested || exclude && f.Excluded != "" || seen[key] {
			continue
		}
		seen[key] = true
		list = append(list, f)
	}
	return list
}

// At returns the skill in directory path, following an alias.
func (d *Discovery) At(dir string) (Found, bool) {
	if f, ok := d.exact(dir); ok {
		return f, true
	}
	i, ok := slices.BinarySearchFunc(d.Aliases, dir, func(a Alias, p string) int { return strings.Compare(a.Path, p) })
	if !ok {
		return Found{}, false
	}
	return d.exact(d.Aliases[i].Target)
}

func (d *Discovery) exact(dir string) (Found, bool) {
	i, ok := slices.BinarySearchFunc(d.Skills, dir, func(f Found, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return Found{}, false
	}
	return d.Skills[i], true
}

// Sibling finds the skill that one in directory parent means by name: in
// parent's own parent directory (there also by an alias), else deeper below
// that, by the last path element. A root skill's parent directory is the
// repository's root. Deeper, excluded skills count only where nothing else
// fits, and equal directories count once. Several hits are ambiguous_skill,
// none is skill_not_found.
func (d *Discovery) Sibling(parent, name string) (Found, error) {
	dir := path.Dir(parent)
	if dir == "." {
		dir = ""
	}
	if f, ok := d.At(joinPath(dir, name)); ok {
		return f, nil
	}
	hits := d.below(dir, name, false)
	if len(hits) == 0 {
		hits = d.below(dir, name, true)
	}
	switch len(hits) {
	case 0:
		where := dir
		if where == "" {
			where = "the repository"
		}
		return Found{}, diag.New(diag.SkillNotFound, "no skill `%s` under %s", diag.Escape(name), diag.Escape(where))
	case 1:
		return hits[0], nil
	}
	e := diag.New(diag.AmbiguousSkill, "%d skills are called `%s`", len(hits), diag.Escape(name)).
		WithHint("name the one that is meant by its source, host/owner/repo//path")
	for _, f := range hits {
		e.WithDetail("%s", diag.Escape(f.Path))
	}
	return Found{}, e
}

func (d *Discovery) below(dir, name string, excluded bool) []Found {
	prefix := dir + "/"
	if dir == "" {
		prefix = ""
	}
	seen := map[ID]bool{}
	var hits []Found
	for _, f := range d.Skills {
		if !strings.HasPrefix(f.Path, prefix) || f.Path == "" || path.Base(f.Path) != name ||
			(f.Excluded != "") != excluded || seen[f.Tree] {
			continue
		}
		seen[f.Tree] = true
		hits = append(hits, f)
	}
	return hits
}
