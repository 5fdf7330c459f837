package world

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/gitrules"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill/parse"
)

// maxRuleFile bounds a .gitignore or .gitattributes file that is read.
const maxRuleFile = 256 << 10

// GitRules judges what a commit of the installed skills would make of them.
type GitRules struct {
	p    *workspace.Project
	lock *lockfile.Lock
	// top is the root of the git work tree, "" where there is none.
	top string
}

// NewGitRules is for skills of one lock. The user's own skills are not committed
// with a project, and nothing is said of them.
func NewGitRules(p *workspace.Project, l *lockfile.Lock) *GitRules {
	g := &GitRules{p: p, lock: l}
	if !p.Opt.Global {
		g.top, _ = workspace.GitTop(p.Root)
	}
	return g
}

// Of says that a skill which lies in the git work tree, and is not kept out of it,
// has a .gitignore or .gitattributes by which another clone would get other bytes.
// It is nil for all others, and where the skill's bytes cannot be read.
func (g *GitRules) Of(e *lockfile.Entry, c Content) *diag.Error {
	if g.top == "" || e.Source.Type == lockfile.TypePath {
		return nil
	}
	files := ruleFiles(c)
	place := g.p.Place(g.lock, e)
	if len(files) == 0 || g.leftOut(place) {
		return nil
	}
	rules := gitrules.Read(files)
	var ignored, converted []string
	for _, f := range c.Tree.Files() {
		switch {
		case rules.Ignores(f.Path):
			ignored = append(ignored, f.Path)
		case rules.Converts(f.Path):
			converted = append(converted, f.Path)
		}
	}
	if len(ignored)+len(converted) == 0 {
		return nil
	}
	out := diag.Warn(diag.SkillGitRules, "`%s` has git files of its own, by which another clone would not get what is installed here", e.Key).At(place, 0, 0)
	if len(ignored) > 0 {
		out.WithDetail("%s leaves out %s", gitrules.IgnoreFile, workspace.FirstNames(ignored))
	}
	if len(converted) > 0 {
		out.WithDetail("%s can change line ends or content of %s", gitrules.AttributesFile, workspace.FirstNames(converted))
		return out.WithHint("put /%s/ into .gitignore; `skillpm install` brings it to every clone", place)
	}
	return out.WithHint("`git add --force %s` commits it whole; or put /%s/ into .gitignore, and `skillpm install` brings it to every clone", place, place)
}

func ruleFiles(c Content) map[string][]byte {
	files := map[string][]byte{}
	for _, f := range c.Tree.Files() {
		if !gitrules.IsRuleFile(f.Path) || f.Size > maxRuleFile {
			continue
		}
		if data, err := c.Read(f.Path); err == nil {
			files[f.Path] = data
		}
	}
	return files
}

// leftOut reports whether the work tree's own rules keep a place out of git.
func (g *GitRules) leftOut(place string) bool {
	return g.rulesAbove(place).Ignores(g.fromTop(place) + "/" + parse.FileName)
}

func (g *GitRules) fromTop(place string) string {
	rel, err := filepath.Rel(g.top, filepath.Join(g.p.Layout().Root, filepath.FromSlash(place)))
	if err != nil {
		return place
	}
	return filepath.ToSlash(rel)
}

// rulesAbove reads the ignore files of the work tree from its top to the directory
// that holds place, and the one that is for this clone alone.
func (g *GitRules) rulesAbove(place string) *gitrules.Rules {
	files := map[string][]byte{}
	if data, err := workspace.ReadBounded(filepath.Join(g.top, ".git", "info", "exclude")); err == nil {
		files[gitrules.IgnoreFile] = append(data, '\n')
	}
	dirs := strings.Split(path.Dir(g.fromTop(place)), "/")
	for i := range len(dirs) + 1 {
		name := path.Join(append(slices.Clone(dirs[:i]), gitrules.IgnoreFile)...)
		if data, err := workspace.ReadBounded(filepath.Join(g.top, filepath.FromSlash(name))); err == nil {
			files[name] = append(files[name], data...)
		}
	}
	return gitrules.Read(files)
}

// Report says of every skill of the lock that the store holds what Of says. It
// opens no installed skill, and changes nothing in the store.
func (g *GitRules) Report(p *Local) {
	if g.top == "" {
		return
	}
	for _, e := range g.lock.Skills {
		if c, ok := p.peek(e.Digest); ok {
			g.Gather(e, c)
		}
	}
	p.ReportGathered()
}

// Gather keeps what Of says for the end of the run.
func (g *GitRules) Gather(e *lockfile.Entry, c Content) {
	if found := g.Of(e, c); found != nil {
		g.p.Gather(found.Code, e.Key, found)
	}
}
