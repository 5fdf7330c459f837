package parse

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// expandLinks looks whether the links to directories, which install replaces by
// what they name, lead into each other for ever.
func (r *skillChecker) expandLinks() {
	for _, f := range r.tree.files {
		if f.target != "" && f.mode.IsDir() {
			if _, err := r.tree.materialise(); err != nil {
				r.add(err)
			}
			return
		}
	}
}

// copied is one file of the tree as install makes it: path is where it goes,
// from where its bytes lie.
type copied struct {
	path string
	from entry
}

// materialise replaces every link by the file or the directory that it names.
// Broken links are left out: they have their own findings.
func (t *tree) materialise() ([]copied, *diag.Error) {
	sorted := slices.Clone(t.files)
	slices.SortFunc(sorted, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	m := &materialiser{files: sorted}
	err := m.dir("", "")
	if err == nil {
		slices.SortFunc(m.out, func(a, b copied) int { return strings.Compare(a.path, b.path) })
		return m.out, nil
	}
	var finding *diag.Error
	errors.As(err, &finding)
	return nil, finding
}

type materialiser struct {
	files []entry // sorted by path
	out   []copied
	open  []string // the directories being copied, by their own path
}

// dir copies the directory at real to the path prefix.
func (m *materialiser) dir(real, prefix string) error {
	m.open = append(m.open, real)
	defer func() { m.open = m.open[:len(m.open)-1] }()
	for _, f := range m.below(real) {
		to := path.Join(prefix, strings.TrimPrefix(strings.TrimPrefix(f.path, real), "/"))
		if err := m.entry(f, to); err != nil {
			return err
		}
	}
	return nil
}

func (m *materialiser) entry(f entry, to string) error {
	switch {
	case f.link == "":
		m.out = append(m.out, copied{to, f})
	case f.target == "":
	case f.mode.IsDir():
		if slices.Contains(m.open, f.target) || strings.HasPrefix(f.path, f.target+"/") {
			return diag.New(diag.SymlinkLoop, "the link `%s` -> `%s` leads into a directory that contains it", f.path, f.link)
		}
		return m.dir(f.target, to)
	default:
		if i, ok := slices.BinarySearchFunc(m.files, f.target, comparePath); ok {
			m.out = append(m.out, copied{to, m.files[i]})
		}
	}
	if len(m.out) > skill.DefaultLimits.Files {
		return diag.New(diag.TreeTooLarge, "more than %d files once links are replaced by what they name", skill.DefaultLimits.Files)
	}
	return nil
}

// below returns the entries at any depth below the directory real.
func (m *materialiser) below(real string) []entry {
	if real == "" {
		return m.files
	}
	from, _ := slices.BinarySearchFunc(m.files, real+"/", comparePath)
	to, _ := slices.BinarySearchFunc(m.files, real+"0", comparePath) // '0' follows '/'
	return m.files[from:to]
}

func comparePath(e entry, p string) int { return strings.Compare(e.path, p) }
