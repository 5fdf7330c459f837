package resolver

import "github.com/skillpm/skillpm/skill"

// Graph returns the solution as a graph. in is the Input that was solved; its
// overrides are applied to the root's edges.
func (s *Solution) Graph(in Input) Graph {
	g := Graph{Project: in.Project, Nodes: make(map[skill.Key]Node, len(s.Chosen))}
	for _, e := range s.root {
		g.Root = append(g.Root, e.Edge)
	}
	for _, c := range s.Chosen {
		g.Nodes[c.Name] = Node{Version: c.Version, Source: c.Source, Edges: c.Edges}
	}
	return g
}
