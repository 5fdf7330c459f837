package fetch

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Discovery is every skill of a commit.
type Discovery struct {
	Skills  []Found // sorted by Path
	Aliases []Alias // sorted by Path
	// Problems are SKILL.md files that cannot be skills (a link that leads
	// nowhere, a directory of that name) and directories with unusable names, as
	// notes with the path in File, sorted by it.
	Problems diag.List
}

// Found is a directory with a SKILL.md.
type Found struct {
	Path string // directory, "" is the root
	File string // SKILL.md as it is spelled; the exact spelling wins over others
	Tree ID     // git's id of the directory: equal ids are equal content
	// Excluded is the path element (tests, examples, node_modules, …) for which
	// the skill is left out of default listings, or "".
	Excluded string
	// Nested says that the skill lies inside another skill, whose directory is Outer.
	Nested bool
	Outer  string
}

// Alias is a link whose target is a skill's directory.
type Alias struct {
	Path   string // the link
	Target string // the skill's directory
}

const (
	// maxWalkEntries bounds a repository's tree as it unfolds: a few hundred
	// bytes of trees that name each other twice would unfold to 2^n paths. The
	// largest skill repository seen has 17,884 files.
	maxWalkEntries = 2_000_000
	// maxSkills bounds the result; the largest repository seen has 2,451.
	maxSkills = 50_000
)

// Discover finds every directory of commit that has a SKILL.md (in any case,
// the exact spelling first). Linked directories are not entered: one that names
// a skill is an alias, not a second skill. Nothing is dropped: skills nested in
// others and those under tests, examples and the like are flagged.
func Discover(ctx context.Context, s Snapshot, commit ID) (*Discovery, error) {
	v, _, err := newObjects(s).view(commit)
	if err != nil {
		return nil, err
	}
	w := &walker{v: v, ctx: ctx, barren: map[ID]bool{}, found: map[string]int{}, d: &Discovery{}}
	if _, err := w.dir("", v.root); err != nil {
		return nil, err
	}
	if err := w.resolveLinks(); err != nil {
		return nil, err
	}
	return w.finish(), nil
}

type walker struct {
	v       *view
	ctx     context.Context
	d       *Discovery
	entries int
	barren  map[ID]bool // directories without skills, links or problems below
	found   map[string]int
	links   []linkAt
}

// linkAt is a link met on the walk: to a SKILL.md if skill is set, else to what
// may be a skill's directory.
type linkAt struct {
	dir, name string
	tree      ID // of dir
	skill     bool
}

// dir walks one directory and reports whether anything of interest is below.
func (w *walker) dir(at string, id ID) (fruitful bool, err error) {
	if w.barren[id] {
		return false, nil
	}
	if w.ctx.Err() != nil {
		return false, context.Cause(w.ctx)
	}
	list, err := w.v.s.Tree(id)
	if err != nil {
		return false, err
	}
	if w.entries += len(list); w.entries > maxWalkEntries {
		return false, diag.New(diag.FetchTooLarge, "the repository's directories unfold to more than %d entries", maxWalkEntries)
	}
	fruitful = w.skillFile(at, id, list)
	for _, e := range list {
		switch {
		case e.IsLink() && !strings.EqualFold(e.Name, skillFile):
			w.links = append(w.links, linkAt{dir: at, name: e.Name, tree: id})
			fruitful = true
		case e.IsDir():
			below := joinPath(at, e.Name)
			if err := skill.CheckPath(below); err != nil {
				w.problem(diag.PathUnsafe, below, "the directory cannot hold a skill: %v", err)
				fruitful = true
				continue
			}
			sub, err := w.dir(below, e.ID)
			if err != nil {
				return false, err
			}
			fruitful = fruitful || sub
		}
	}
	w.barren[id] = !fruitful
	if len(w.d.Skills) > maxSkills {
		return false, diag.New(diag.FetchTooLarge, "the repository has more than %d skills", maxSkills)
	}
	return fruitful, nil
}

// joinPath is path.Join without cleaning: a hostile name must stay visible.
func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func (w *walker) skillFile(at string, id ID, list []Entry) (met bool) {
	for _, e := range skillFiles(list) {
		switch {
		case e.IsFile():
			w.add(Found{Path: at, File: e.Name, Tree: id})
			return true
		case e.IsLink():
			w.links = append(w.links, linkAt{dir: at, name: e.Name, tree: id, skill: true})
			return true
		}
		w.problem(diag.SkillFileNotRegular, joinPath(at, e.Name), "`%s` is no file", e.Name)
		met = true
	}
	return met
}

func (w *walker) add(f Found) {
	w.found[f.Path] = len(w.d.Skills)
	w.d.Skills = append(w.d.Skills, f)
}

func (w *walker) problem(code diag.Code, file, format string, args ...any) {
	w.d.Problems = append(w.d.Problems, diag.Note(code, format, args...).At(file, 0, 0))
}

// resolveLinks decides what the links of the walk lead to, the SKILL.md ones
// first, since a linked directory is an alias only if it is a skill.
func (w *walker) resolveLinks() error {
	nodes := make([]node, len(w.links))
	errs := make([]error, len(w.links))
	err := w.v.settle(w.ctx, func() error {
		for i, l := range w.links {
			if nodes[i], errs[i] = w.follow(l); errs[i] != nil && !isLinkFault(errs[i]) && !errors.Is(errs[i], errNeed) {
				return errs[i]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, l := range w.links {
		if l.skill {
			w.linkedFile(l, nodes[i], errs[i])
		}
	}
	for i, l := range w.links {
		if l.skill || errs[i] != nil || !nodes[i].entry.IsDir() {
			continue
		}
		if _, ok := w.found[nodes[i].real()]; ok {
			w.d.Aliases = append(w.d.Aliases, Alias{Path: joinPath(l.dir, l.name), Target: nodes[i].real()})
		}
	}
	return nil
}

func (w *walker) follow(l linkAt) (node, error) {
	at, err := w.v.walk(w.v.top(), l.dir)
	if err != nil {
		return node{}, err
	}
	return w.v.walk(at.at, l.name)
}

func (w *walker) linkedFile(l linkAt, n node, err error) {
	name := joinPath(l.dir, l.name)
	switch {
	case err != nil:
		w.problem(linkCode(err), name, "the link %v", err)
	case !n.entry.IsFile():
		w.problem(diag.SkillFileNotRegular, name, "the link leads to no file")
	default:
		w.add(Found{Path: l.dir, File: l.name, Tree: l.tree})
	}
}

func isLinkFault(err error) bool { return linkCode(err) != "" }

// linkCode returns the code of a path that leads nowhere, "" for other errors.
func linkCode(err error) diag.Code {
	switch {
	case errors.Is(err, errDangling):
		return diag.SymlinkDangling
	case errors.Is(err, errEscapes):
		return diag.SymlinkEscapes
	case errors.Is(err, errLoop):
		return diag.SymlinkLoop
	case errors.Is(err, errSubmodule):
		return diag.SubmoduleInSkill
	}
	return ""
}

func (w *walker) finish() *Discovery {
	d := w.d
	slices.SortFunc(d.Skills, func(a, b Found) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(d.Aliases, func(a, b Alias) int { return strings.Compare(a.Path, b.Path) })
	d.Problems.Sort()
	for i := range d.Skills {
		f := &d.Skills[i]
		f.Excluded = excludedBy(f.Path)
		for dir := f.Path; dir != ""; {
			if dir = path.Dir(dir); dir == "." {
				dir = ""
			}
			if _, ok := w.found[dir]; ok {
				f.Nested, f.Outer = true, dir
				break
			}
		}
	}
	return d
}

// excluded are directory names under which a SKILL.md is more often an example,
// a fixture or a copy than a skill on offer.
var excluded = map[string]bool{
	"test": true, "tests": true, "testdata": true, "__tests__": true, "example": true, "examples": true,
	"fixture": true, "fixtures": true, "__fixtures__": true, "backup": true, "backups": true, "doc": true, "docs": true,
	"archive": true, "archived": true, "archives": true, "node_modules": true, "template": true, "templates": true,
}

// excludedBy returns the first element of p that is one of excluded. A skill's
// own directory directly under one named skills counts as its name: a skill
// about docs may be called so.
func excludedBy(p string) string {
	elements := strings.Split(p, "/")
	for i, e := range elements {
		own := i == len(elements)-1 && i > 0 && elements[i-1] == "skills"
		if excluded[strings.ToLower(e)] && !own {
			return e
		}
	}
	return ""
}
