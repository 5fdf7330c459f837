package fetch

import (
	"context"
	"errors"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// expander lists the files of a skill's directory with links replaced by what
// they name. It reads directories only; contents come later.
type expander struct {
	v      *view
	ctx    context.Context
	place  place
	limits skill.Limits

	gitTree   ID
	skillFile string
	planned   []plannedFile
	nodes     int
	open      map[string]bool // real directories being expanded
	findings  diag.List
}

type plannedFile struct {
	path string
	exec bool
	id   ID
}

// maxFindings is how many faults of one skill are told one by one.
const maxFindings = 20

// maxNodesPerFile bounds directories in proportion to the files that are
// allowed: links can unfold into empty directories without end, which no limit
// on files would notice.
const maxNodesPerFile = 4

func (x *expander) run(at node) error {
	x.gitTree = at.entry.ID
	name, _, err := x.place.skillFile(x.v, at)
	if err != nil {
		return err
	}
	x.skillFile, x.open = name, map[string]bool{}
	return x.dir("", at.at)
}

// dir expands the real directory at under the skill-relative path rel.
func (x *expander) dir(rel string, at []frame) error {
	if x.ctx.Err() != nil {
		return context.Cause(x.ctx)
	}
	list, err := x.v.dir(at[len(at)-1].tree)
	if err != nil {
		return err
	}
	real := realPath(at)
	x.open[real] = true
	defer delete(x.open, real)
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		if x.nodes++; x.nodes > maxNodesPerFile*(x.limits.Files+1) {
			return x.tooLarge("more than %d files and directories", maxNodesPerFile*x.limits.Files)
		}
		below := joinPath(rel, e.Name)
		if seen[e.Name] {
			x.finding(diag.PathUnsafe, below, "`%s` stands twice in one directory", "")
			continue
		}
		seen[e.Name] = true
		if strings.Contains(e.Name, "/") { // git never writes one: it would stand for a file elsewhere
			x.finding(diag.PathUnsafe, below, "`%s` is one name with a slash in it", "")
			continue
		}
		if err := skill.CheckPath(below); err != nil {
			x.fault(diag.PathUnsafe, below, err.Error(), "the author has to rename it")
			continue
		}
		if err := x.entry(below, e, at); err != nil {
			return err
		}
	}
	return nil
}

func (x *expander) entry(rel string, e Entry, at []frame) error {
	switch {
	case e.IsDir():
		return x.subdir(rel, append(at[:len(at):len(at)], frame{e.Name, e.ID}))
	case e.IsFile():
		return x.file(rel, e)
	case e.IsSubmodule():
		x.finding(diag.SubmoduleInSkill, rel, "`%s` is a submodule: that part of the skill is in another repository", "install the skill from a repository that holds all of it")
		return nil
	case !e.IsLink():
		x.finding(diag.PathUnsafe, rel, "`%s` is neither file, directory nor link", "")
		return nil
	}
	n, err := x.v.walk(at, e.Name)
	switch {
	case errors.Is(err, errNeed):
		return nil // noted; the next round comes past here again
	case isLinkFault(err):
		x.finding(linkCode(err), rel, "the link `%s` "+err.Error(), "")
		return nil
	case err != nil:
		return err
	case n.entry.IsFile():
		return x.file(rel, n.entry)
	case isAbove(n.real(), realPath(at)):
		x.finding(diag.SymlinkLoop, rel, "the link `%s` leads to a directory that contains it", "")
		return nil
	}
	return x.subdir(rel, n.at)
}

// isAbove reports whether directory dir is below or p itself.
func isAbove(p, dir string) bool {
	return p == "" || p == dir || strings.HasPrefix(dir, p+"/")
}

func (x *expander) subdir(rel string, at []frame) error {
	if x.open[realPath(at)] { // links that lead to each other's directories
		x.finding(diag.SymlinkLoop, rel, "`%s` unfolds into a directory that contains it", "")
		return nil
	}
	if hasSignatureName(rel) {
		x.finding(diag.PathUnsafe, rel, "`%s` must be a file, the signature", "")
		return nil
	}
	return x.dir(rel, at)
}

func (x *expander) file(rel string, e Entry) error {
	if hasSignatureName(rel) && rel != skill.SignatureFile {
		x.finding(diag.PathUnsafe, rel, "`%s` is the signature's name in another case", "")
		return nil
	}
	if x.planned = append(x.planned, plannedFile{rel, e.IsExec(), e.ID}); len(x.planned) > x.limits.Files+1 { // and the signature
		return x.tooLarge("more than %d files", x.limits.Files)
	}
	return nil
}

func (x *expander) tooLarge(format string, args ...any) error {
	e := diag.New(diag.TreeTooLarge, format, args...)
	e.Message = x.place.String() + ": " + e.Message
	return e.WithHint("the limits can be raised in the configuration")
}

// finding notes a fault of one path. format has one %s, the path.
func (x *expander) finding(code diag.Code, rel, format, hint string) {
	e := diag.New(code, format, diag.Escape(rel))
	x.fault(code, rel, e.Message, hint)
}

func (x *expander) fault(code diag.Code, rel, message, hint string) {
	if len(x.findings) >= maxFindings {
		return
	}
	e := diag.New(code, "%s: %s", x.place, message)
	if hint != "" {
		e.WithHint("%s", hint)
	}
	x.findings = append(x.findings, e.At(joinPath(x.place.path, rel), 0, 0))
}

// hasSignatureName reports whether name is the signature's in some spelling.
func hasSignatureName(name string) bool {
	return strings.EqualFold(name, skill.SignatureFile) || skill.FoldPath(name) == skill.SignatureFile
}
