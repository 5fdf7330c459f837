package views

import (
	"context"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// TreeLine is one line of Tree.
type TreeLine struct {
	Depth       int    `json:"depth"` // 1 for what skills.toml names
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Requirement string `json:"requirement"`
	Chain       bool   `json:"chain,omitempty"`
	Repeated    bool   `json:"repeated,omitempty"`
	Last        bool   `json:"-"`
}

// Tree returns the lock's graph depth first.
func Tree(p *world.World) ([]TreeLine, error) {
	g, err := Graph(p)
	if err != nil {
		return nil, err
	}
	lines := []TreeLine{}
	for _, l := range g.Tree() {
		lines = append(lines, TreeLine{
			Depth: l.Depth, Name: string(l.Name), Version: g.Nodes[l.Name].Version.String(),
			Requirement: decide.EdgeText(l.Edge), Chain: l.Edge.Chain, Repeated: l.Repeated, Last: l.Last,
		})
	}
	return lines, nil
}

// WhyStep is one element of a path from the project to a skill.
type WhyStep struct {
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Requires string `json:"requires,omitempty"` // what it demands of the next step
	Chain    bool   `json:"chain,omitempty"`
}

// Why returns every shortest path from the project to a locked skill.
func Why(p *world.World, key string) ([][]WhyStep, error) {
	if _, err := p.Entry(key); err != nil {
		return nil, err
	}
	return steps(decide.Graph(p, p.Lock).Why(skill.Key(key))), nil
}

// WhyNot returns the requirements that keep versions of a range out. It lists
// the source's tags.
func WhyNot(ctx context.Context, p *world.World, key, rng string) ([][]WhyStep, error) {
	e, err := p.Entry(key)
	if err != nil {
		return nil, err
	}
	if err := resolver.CheckRange(rng); err != nil || rng == "" {
		return nil, workspace.Usage("`%s` is no version range; write NAME@RANGE", rng)
	}
	var versions []skill.Version
	if src := workspace.MustSource(e); src.Kind() == skill.SourceGit {
		refs, err := p.Listing(ctx, src)
		if err != nil {
			return nil, err
		}
		for _, c := range fetch.Versions(refs, fetch.PlaceOf(src)).Candidates {
			versions = append(versions, c.Version)
		}
	}
	return steps(decide.Graph(p, p.Lock).WhyNot(skill.Key(key), rng, versions)), nil
}

func steps(paths []resolver.Path) [][]WhyStep {
	out := [][]WhyStep{}
	for _, path := range paths {
		row := make([]WhyStep, len(path))
		for i, s := range path {
			row[i] = WhyStep{Name: s.Name, Version: s.Version, Requires: s.Requires, Chain: s.Chain}
		}
		out = append(out, row)
	}
	return out
}
