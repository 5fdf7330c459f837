package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
)

// DefaultTarget is the directory that most agents scan; the content lies here
// and other targets link to it.
const DefaultTarget = ".agents/skills"

// Targets lists the directories skills are installed into, as the lock has
// them: the default first, then those of the agents, then explicit ones.
func (p *Project) Targets() []string {
	var out []string
	add := func(dir string) {
		dir = strings.TrimSuffix(filepath.ToSlash(dir), "/")
		if dir != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	in := p.Config.Install
	if len(in.Agents) == 0 && len(in.Targets) > 0 {
		for _, t := range in.Targets {
			add(t)
		}
		return out
	}
	if p.Opt.Global {
		add("~/" + DefaultTarget)
	} else {
		add(DefaultTarget)
	}
	for _, id := range in.Agents {
		if dir, ok := p.agentDir(id); ok {
			add(dir)
		}
	}
	for _, t := range in.Targets {
		add(t)
	}
	return out
}

// knownAgent answers manifest.CheckAgents from the table of agents.
func knownAgent(id string) (known bool, similar []string) {
	_, known = agents.Get(id)
	return known, similarAgents(id)
}

// agentDir returns the directory of an agent in this scope.
func (p *Project) agentDir(id string) (string, bool) {
	a, ok := agents.Get(id)
	if !ok {
		return "", false
	}
	if !p.Opt.Global {
		return a.ProjectDir, true
	}
	dir, ok := a.UserPath(p.Opt.Home, p.Getenv)
	if !ok {
		return "", false
	}
	if rel, err := filepath.Rel(p.Opt.Home, dir); err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel), true
	}
	return "", false
}

// HomeTargets turns "~/x" into paths below the home directory.
func HomeTargets(targets []string) []string {
	out := make([]string, len(targets))
	for i, t := range targets {
		out[i] = strings.TrimPrefix(t, "~/")
	}
	return out
}

// ItemPath turns a lock's path into what install expects.
func (p *Project) ItemPath(path string) string {
	if p.Opt.Global {
		return filepath.ToSlash(p.PathDir(path))
	}
	dir := p.PathDir(path)
	if rel, err := filepath.Rel(p.Root, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}

// CheckAgents refuses ids that no agent has.
func CheckAgents(ids []string) error {
	var list diag.List
	for _, id := range ids {
		if _, ok := agents.Get(id); ok {
			continue
		}
		e := Usage("`%s` is no known agent", id).WithHint("ids are claude-code, codex, cursor and the like; --target takes any directory")
		if near := similarAgents(id); len(near) > 0 {
			e.Hint = "did you mean " + strings.Join(near, ", ") + "?"
		}
		list = append(list, e)
	}
	return list.Err()
}

// similarAgents returns the ids that may have been meant.
func similarAgents(id string) []string {
	if near := agents.Similar(id); len(near) > 0 {
		return near
	}
	var ids []string
	for _, a := range agents.All() {
		ids = append(ids, a.ID)
	}
	if near := Nearest(id, ids); near != "" {
		return []string{near}
	}
	return nil
}

// Place returns the slash path of an installed skill below the layout's root;
// without a lock, where it would be.
func (p *Project) Place(l *lockfile.Lock, e *lockfile.Entry) string {
	if l == nil {
		return DefaultTarget + "/" + e.Key
	}
	if _, direct := l.Root.Requires[e.Key]; !direct && p.Config.Install.Expose == "direct" {
		return StateDir + "/skills/" + e.Key
	}
	targets := l.Targets
	if p.Opt.Global {
		targets = HomeTargets(targets)
	}
	if len(targets) == 0 {
		return DefaultTarget + "/" + e.Key
	}
	return targets[0] + "/" + e.Key
}

// PathDir returns the directory of a path source.
func (p *Project) PathDir(rel string) string {
	if filepath.IsAbs(filepath.FromSlash(rel)) {
		return filepath.FromSlash(rel)
	}
	return filepath.Join(p.Root, filepath.FromSlash(rel))
}

// GitTop returns the git work tree that holds dir.
func GitTop(dir string) (string, bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
