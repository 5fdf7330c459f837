package decide

import (
	"cmp"

	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// Explanation says why one skill has the version it has.
type Explanation struct {
	Key     string `json:"key"`
	Version string `json:"version,omitempty"`
	// Demands are all requirements on the skill, the project's own first.
	Demands []Demand `json:"demands"`
	// Overridden says that an override of the project replaced their ranges.
	Overridden string `json:"overridden,omitempty"`
	// Newest is a newer version that every demand allows and that was passed over,
	// because of the skills in Because, or of the lock where there are none.
	Newest  string   `json:"newest,omitempty"`
	Because []string `json:"because,omitempty"`
}

// Demand is one requirement on a skill.
type Demand struct {
	By      string `json:"by"` // "project", or a skill's key
	Version string `json:"version,omitempty"`
	Demands string `json:"requires"`
	Chain   bool   `json:"chain,omitempty"`
}

// Explain lists, in the lock's order, what led to each version.
func Explain(p *world.World, l *lockfile.Lock, behind []Behind) []Explanation {
	g := Graph(p, l)
	demands := map[skill.Key][]Demand{}
	add := func(by, version string, edges []resolver.Edge) {
		for _, e := range edges {
			demands[e.Name] = append(demands[e.Name], Demand{by, version, EdgeText(e), e.Chain})
		}
	}
	add("project", "", g.Root)
	for _, e := range l.Skills {
		node := g.Nodes[skill.Key(e.Key)]
		add(e.Key, e.Version, node.Edges)
	}
	passed := map[string]Behind{}
	for _, b := range behind {
		passed[b.Key] = b
	}
	out := make([]Explanation, len(l.Skills))
	for i, e := range l.Skills {
		b := passed[e.Key]
		out[i] = Explanation{
			Key: e.Key, Version: e.Version, Demands: demands[skill.Key(e.Key)],
			Overridden: l.Root.Overrides[e.Key], Newest: b.Newest, Because: b.Because,
		}
	}
	return out
}

// EdgeText returns a requirement as people write it.
func EdgeText(e resolver.Edge) string {
	if e.Ref != "" {
		return "ref:" + e.Ref
	}
	return cmp.Or(e.Range, "*")
}

// Graph is the lock as the solver's reports read it.
func Graph(p *world.World, l *lockfile.Lock) resolver.Graph {
	u := NewProvider(p)
	g := resolver.Graph{Nodes: map[skill.Key]resolver.Node{}}
	for _, key := range workspace.RootKeys(l) {
		r, err := skill.ParseRequirement(l.Root.Requires[key], nil)
		if err != nil {
			continue
		}
		g.Root = append(g.Root, resolver.Edge{Name: skill.Key(key), Range: r.Range, Ref: r.Ref, Digest: r.Digest})
	}
	for _, e := range l.Skills {
		src := workspace.MustSource(e)
		v, _ := skill.ParseVersion(e.Version)
		g.Nodes[skill.Key(e.Key)] = resolver.Node{Version: v, Source: src.Identity(), Edges: lockedEdges(l, e, src, u)}
	}
	return g
}
