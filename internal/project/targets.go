package project

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/skill"
)

// defaultTarget is the directory that most agents scan; the content lies here
// and other targets link to it.
const defaultTarget = ".agents/skills"

// targets lists the directories skills are installed into, as the lock has
// them: the default first, then those of the agents, then explicit ones.
func (p *Project) targets() []string {
	var out []string
	add := func(dir string) {
		dir = strings.TrimSuffix(filepath.ToSlash(dir), "/")
		if dir != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	in := p.config.Install
	if len(in.Agents) == 0 && len(in.Targets) > 0 {
		for _, t := range in.Targets {
			add(t)
		}
		return out
	}
	if p.opt.Global {
		add("~/" + defaultTarget)
	} else {
		add(defaultTarget)
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

// retarget returns the manifest's bytes with the agents and targets of opt added,
// nil where there is nothing to add. Where skills go is part of what is
// recorded, so a run that only reads the lock cannot change it.
func (p *Project) retarget(opt InstallOptions) ([]byte, error) {
	if len(opt.Agents) == 0 && len(opt.Targets) == 0 {
		return nil, nil
	}
	if opt.Frozen || opt.NoManifest {
		return nil, usage("--agent and --target change skills.toml, which this run only reads")
	}
	if err := checkAgents(opt.Agents); err != nil {
		return nil, err
	}
	edit, err := manifest.NewEdit(p.manifestData)
	if err != nil {
		return nil, err
	}
	in := p.manifest.Install
	if ids := union(in.Agents, opt.Agents); len(ids) > len(in.Agents) {
		if err := edit.SetAgents(ids); err != nil {
			return nil, err
		}
	}
	if dirs := union(in.Targets, opt.Targets); len(dirs) > len(in.Targets) {
		if err := edit.SetTargets(dirs); err != nil {
			return nil, err
		}
	}
	return edit.Bytes()
}

// union appends to a what of b it does not hold.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
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
	if !p.opt.Global {
		return a.ProjectDir, true
	}
	dir, ok := a.UserPath(p.opt.Home, p.getenv)
	if !ok {
		return "", false
	}
	if rel, err := filepath.Rel(p.opt.Home, dir); err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel), true
	}
	return "", false
}

// homeTargets turns "~/x" into paths below the home directory.
func homeTargets(targets []string) []string {
	out := make([]string, len(targets))
	for i, t := range targets {
		out[i] = strings.TrimPrefix(t, "~/")
	}
	return out
}

// itemPath turns a lock's path into what install expects.
func (p *Project) itemPath(path string) string {
	if p.opt.Global {
		return filepath.ToSlash(p.pathDir(path))
	}
	dir := p.pathDir(path)
	if rel, err := filepath.Rel(p.Root, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}

// relativePath turns a path source as the user typed it, relative to where they
// are, into one relative to the project.
func (p *Project) relativePath(src skill.Source) (skill.Source, error) {
	dir := filepath.FromSlash(src.Path())
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.opt.Dir, dir)
	}
	rel, err := filepath.Rel(p.Root, dir)
	if err != nil {
		return src, diag.New(diag.SourceNotAllowed, "%s lies outside the project", dir).WithCause(err)
	}
	out, err := skill.ParseSource("path:" + filepath.ToSlash(rel))
	if err != nil {
		return src, err
	}
	return out, p.checkPathSource(out)
}
