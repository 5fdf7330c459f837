package views

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
)

// LayersOptions tune Layers.
type LayersOptions struct {
	// Runtime looks with the eyes of one runtime: its directories in its order.
	Runtime string
	// Packaged are directories of skills that came with the environment, such as
	// share/agent-skills of a development shell. None is guessed.
	Packaged []string
}

// The states of a LayerSkill. Without a runtime a skill is found or refused:
// which of two wins is the runtimes' affair, and Conflicts says it.
const (
	stateFound    = "found"
	StateShadowed = "shadowed" // another of that name is loaded instead
	StateRefused  = "refused"  // no skill can be read there
	StateSame     = "same"     // a link to one already listed
	StateUnclear  = "unclear"  // the runtime may load this one or another
)

// LayerSkill is one directory with a SKILL.md, or one that should have it.
type LayerSkill struct {
	Name        string       `json:"name"`
	Path        string       `json:"path"`
	Description string       `json:"description,omitempty"`
	Digest      skill.Digest `json:"digest,omitempty"` // as locked; nothing is hashed
	Locked      bool         `json:"locked"`
	State       string       `json:"state"`
	// By is the path of the skill that shadows this one, or that it links to.
	By string `json:"by,omitempty"`
	// Code and Reason say why it is refused.
	Code   diag.Code `json:"code,omitempty"`
	Reason string    `json:"reason,omitempty"`
	// PastCap: more skills stand before it than some runtimes show.
	PastCap bool `json:"pastCap,omitempty"`

	real    string // with links followed
	link    bool
	direct  bool   // no link leads here
	dir     string // the directory's own name
	tokens  int
	prompt  bool
	outside bool // a link out of the project
}

// LayerDir is one directory of a layer.
type LayerDir struct {
	// Layer is operator (the person's own), project or packaged.
	Layer string `json:"layer"`
	Path  string `json:"path"`
	// Target: skillpm installs here.
	Target bool         `json:"target,omitempty"`
	Skills []LayerSkill `json:"skills"`
	// Fault says why the directory cannot be read, or that it was read in part.
	Fault string `json:"fault,omitempty"`

	abs   string
	real  string // with links followed
	scope agents.Scope
}

// LayersResult is what Layers found. Every slice is in a fixed order.
type LayersResult struct {
	Runtime  string     `json:"runtime,omitempty"`
	Layers   []LayerDir `json:"layers"`
	Found    int        `json:"found"`
	Shadowed int        `json:"shadowed"`
	Refused  int        `json:"refused"`
	// PastCap are the names past the 32nd, in the order of the layers.
	PastCap       []string   `json:"pastCap"`
	CatalogTokens int        `json:"catalogTokens"`
	Conflicts     []Conflict `json:"conflicts"`
}

// Conflict is a name that stands in more than one place.
type Conflict struct {
	Name     string   `json:"name"`
	Places   []string `json:"places"`
	Runtimes []Choice `json:"runtimes"`
}

// Choice is what one runtime loads for a name: one place, or several where its
// rule is all or undetermined.
type Choice struct {
	Runtime string      `json:"runtime"`
	Rule    agents.Rule `json:"rule"`
	Loads   []string    `json:"loads"`
}

// Layers lists the directories that agents read and what each runtime would
// load. It opens no body: locked skills are told by the lock, others by the
// frontmatter alone. It writes nothing and uses no network.
func Layers(ctx context.Context, p *workspace.Project, opt LayersOptions) (*LayersResult, error) {
	r := &LayersResult{Runtime: opt.Runtime, PastCap: []string{}, Conflicts: []Conflict{}}
	var loader agents.Loader
	if opt.Runtime != "" {
		var ok bool
		if loader, ok = agents.LoaderOf(opt.Runtime); !ok {
			return nil, unknownRuntime(opt.Runtime)
		}
		r.Layers = loaderDirs(p, loader, opt.Packaged)
	} else {
		r.Layers = everyDir(p, opt.Packaged)
	}
	for i := range r.Layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		scan(p, &r.Layers[i])
	}
	r.markSame()
	r.Conflicts = conflicts(p, r.Layers)
	limit := catalogCap
	if opt.Runtime != "" {
		r.judge(loader)
		if loader.Cap > 0 {
			limit = loader.Cap
		}
	}
	r.count(limit)
	return r, nil
}

func unknownRuntime(id string) *diag.Error {
	e := workspace.Usage("`%s` is no runtime that skillpm knows", id)
	if near := agents.Similar(id); len(near) > 0 {
		return e.WithHint("did you mean `%s`?", near[0])
	}
	var known []string
	for _, l := range agents.Loaders() {
		known = append(known, l.ID)
	}
	return e.WithHint("known best: %s; any agent of `skillpm init --agent` works too", strings.Join(known, ", "))
}

// everyDir lists each directory that some agent reads and that exists here, the
// targets first.
func everyDir(p *workspace.Project, packaged []string) []LayerDir {
	var dirs dirList
	for _, t := range lockTargets(p) {
		dirs.add(layerDir(p, ownScope(p), t, true))
	}
	if p.Config.Install.Expose == "direct" {
		dirs.add(layerDir(p, ownScope(p), workspace.StateDir+"/skills", true))
	}
	for _, l := range agents.Loaders() {
		for _, d := range loaderDirs(p, l, nil) {
			dirs.addExisting(d)
		}
	}
	for _, a := range agents.All() {
		l, _ := agents.LoaderOf(a.ID)
		for _, d := range loaderDirs(p, l, nil) {
			// A plain folder such as skills/ is a project's own unless it is a target.
			if d.scope != agents.ScopeProject || strings.HasPrefix(d.Path, ".") {
				dirs.addExisting(d)
			}
		}
	}
	for _, dir := range packaged {
		dirs.add(layerDir(p, agents.ScopeSystem, dir, false))
	}
	slices.SortStableFunc(dirs.list, func(a, b LayerDir) int { return layerRank(a.Layer) - layerRank(b.Layer) })
	return dirs.list
}

func layerRank(layer string) int {
	return slices.Index([]string{string(derive.LayerOperator), string(derive.LayerProject), string(derive.LayerPackaged)}, layer)
}

// loaderDirs lists the existing directories of one runtime by precedence.
func loaderDirs(p *workspace.Project, l agents.Loader, packaged []string) []LayerDir {
	var dirs dirList
	for _, root := range l.Roots {
		switch root.Scope {
		case agents.ScopeProject:
			for _, dir := range upward(p, root) {
				dirs.addExisting(dir)
			}
		case agents.ScopeUser:
			dirs.addExisting(layerDir(p, root.Scope, l.UserDir(root.Dir, p.Opt.Home, p.Getenv), false))
		default:
			dirs.addExisting(layerDir(p, root.Scope, root.Dir, false))
		}
	}
	for _, dir := range packaged {
		dirs.add(layerDir(p, agents.ScopeSystem, dir, false))
	}
	return dirs.list
}

// upward returns a project directory and, where the runtime reads those of the
// parents, these too, nearest first.
func upward(p *workspace.Project, root agents.Root) []LayerDir {
	if p.Opt.Global {
		return nil
	}
	list := []LayerDir{layerDir(p, agents.ScopeProject, root.Dir, false)}
	top, ok := workspace.GitTop(p.Root)
	if !root.Up || !ok {
		return list
	}
	for dir := p.Root; dir != top; {
		dir = filepath.Dir(dir)
		list = append(list, layerDir(p, agents.ScopeProject, filepath.Join(dir, filepath.FromSlash(root.Dir)), false))
	}
	return list
}

func ownScope(p *workspace.Project) agents.Scope {
	if p.Opt.Global {
		return agents.ScopeUser
	}
	return agents.ScopeProject
}

func lockTargets(p *workspace.Project) []string {
	if p.Lock == nil {
		return p.Targets()
	}
	return p.Lock.Targets
}

// layerDir describes a directory: relative to the project, "~/…" or absolute.
func layerDir(p *workspace.Project, scope agents.Scope, dir string, target bool) LayerDir {
	d := LayerDir{Path: filepath.ToSlash(dir), Target: target, scope: scope, Skills: []LayerSkill{}}
	switch {
	case strings.HasPrefix(dir, "~/"):
		d.abs = filepath.Join(p.Opt.Home, filepath.FromSlash(dir[2:]))
	case filepath.IsAbs(dir):
		d.abs = filepath.Clean(dir)
	case scope == agents.ScopeSystem: // from the command line
		d.abs = filepath.Join(p.Opt.Dir, filepath.FromSlash(dir))
	default:
		d.abs = filepath.Join(p.Root, filepath.FromSlash(dir))
	}
	d.Path = shown(p, d.abs)
	switch scope {
	case agents.ScopeUser:
		d.Layer = string(derive.LayerOperator)
	case agents.ScopeProject:
		d.Layer = string(derive.LayerProject)
	default:
		d.Layer = string(derive.LayerPackaged)
	}
	return d
}

// shown returns a path as results name it: relative to the project, below the
// home directory as "~/…", else absolute.
func shown(p *workspace.Project, path string) string {
	if rel, err := filepath.Rel(p.Root, path); err == nil && filepath.IsLocal(rel) && !p.Opt.Global {
		return filepath.ToSlash(rel)
	}
	if rel, err := filepath.Rel(p.Opt.Home, path); p.Opt.Home != "" && err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// count fills the totals. A skill counts once, by its place in the layers.
func (r *LayersResult) count(limit int) {
	shown := 0
	for i := range r.Layers {
		for k := range r.Layers[i].Skills {
			s := &r.Layers[i].Skills[k]
			switch s.State {
			case StateShadowed:
				r.Shadowed++
			case StateRefused:
				r.Refused++
			case stateFound, StateUnclear:
				r.Found++
				if !s.prompt {
					continue
				}
				r.CatalogTokens += s.tokens
				if shown++; shown > limit {
					s.PastCap = true
					r.PastCap = append(r.PastCap, s.Name)
				}
			}
		}
	}
}
