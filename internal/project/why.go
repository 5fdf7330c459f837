package project

import (
	"context"

	"github.com/skillpm/skillpm/fetch"
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
func (p *Project) Tree() ([]TreeLine, error) {
	g, err := p.Graph()
	if err != nil {
		return nil, err
	}
	lines := []TreeLine{}
	for _, l := range g.Tree() {
		lines = append(lines, TreeLine{
			Depth: l.Depth, Name: string(l.Name), Version: g.Nodes[l.Name].Version.String(),
			Requirement: edgeText(l.Edge), Chain: l.Edge.Chain, Repeated: l.Repeated, Last: l.Last,
		})
	}
	return lines, nil
}

func edgeText(e resolver.Edge) string {
	if e.Ref != "" {
		return "ref:" + e.Ref
	}
	return rangeOr(e.Range, "*")
}

// WhyStep is one element of a path from the project to a skill.
type WhyStep struct {
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Requires string `json:"requires,omitempty"` // what it demands of the next step
	Chain    bool   `json:"chain,omitempty"`
}

// Why returns every shortest path from the project to a locked skill.
func (p *Project) Why(key string) ([][]WhyStep, error) {
	if _, err := p.entry(key); err != nil {
		return nil, err
	}
	return steps(p.graph(p.lock).Why(skill.Key(key))), nil
}

// WhyNot returns the requirements that keep versions of a range out. It lists
// the source's tags.
func (p *Project) WhyNot(ctx context.Context, key, rng string) ([][]WhyStep, error) {
	e, err := p.entry(key)
	if err != nil {
		return nil, err
	}
	if err := resolver.CheckRange(rng); err != nil || rng == "" {
		return nil, usage("`%s` is no version range; write NAME@RANGE", rng)
	}
	var versions []skill.Version
	if src := mustSource(e); src.Kind() == skill.SourceGit {
		refs, err := p.listing(ctx, src)
		if err != nil {
			return nil, err
		}
		for _, c := range fetch.Versions(refs, fetch.PlaceOf(src)).Candidates {
			versions = append(versions, c.Version)
		}
	}
	return steps(p.graph(p.lock).WhyNot(skill.Key(key), rng, versions)), nil
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
