package resolver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Graph is a solved project as plain data, from a solved session or from a lock.
type Graph struct {
	// Project is how paths call the root; "" means "project".
	Project string
	Root    []Edge
	Nodes   map[skill.Key]Node
}

// Node is one skill of a Graph.
type Node struct {
	Version skill.Version
	Source  string
	Edges   []Edge
}

func (s *session) graphOf(r *answer) Graph {
	if r.graph != nil {
		return *r.graph
	}
	g := Graph{Project: s.in.Project, Nodes: make(map[skill.Key]Node, len(r.chosen))}
	for _, e := range s.root {
		g.Root = append(g.Root, e.Edge)
	}
	for i := range r.chosen {
		d := &r.chosen[i]
		g.Nodes[d.cand.Name] = Node{Version: d.cand.Version, Source: d.cand.Source, Edges: d.plainEdges()}
	}
	r.graph = &g
	return g
}

func (g Graph) rootStep() Step { return Step{Name: cmp.Or(g.Project, "project")} }

func (g Graph) step(name skill.Key) Step {
	n := g.Nodes[name]
	return Step{Name: string(name), Version: n.Version.String(), Source: n.Source}
}

// Title returns name and version.
func (s Step) Title() string {
	if s.Version == "" {
		return s.Name
	}
	return s.Name + " " + s.Version
}

// String returns the path on one line: "project > review 1.2.0 > style-guide
// <=2.0.0". An end without version shows what is required of it.
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		if i > 0 {
			b.WriteString(" > ")
		}
		b.WriteString(step.Title())
		if i == len(p)-1 && i > 0 && step.Version == "" && p[i-1].Requires != "" {
			b.WriteString(" " + p[i-1].Requires)
		}
	}
	return b.String()
}

// sortedEdges returns the edges by name, requirements before chain members.
func sortedEdges(list []Edge) []Edge {
	order := func(a, b Edge) int {
		if c := compareNames(a.Name, b.Name); c != 0 {
			return c
		}
		switch {
		case a.Chain == b.Chain:
			return 0
		case a.Chain:
			return 1
		}
		return -1
	}
	if slices.IsSortedFunc(list, order) {
		return list
	}
	return slices.SortedStableFunc(slices.Values(list), order)
}

// TreeLine is one line of a tree.
type TreeLine struct {
	Depth int // 1 for the root's own requirements
	Name  skill.Key
	// Edge is the requirement that leads here.
	Edge Edge
	// Repeated says that the skill was shown above, so its children are not.
	Repeated bool
	// Last says that no sibling follows, for drawing.
	Last bool
}

// Tree returns the graph depth first, children by name. A skill's children are
// shown where it appears first.
func (g Graph) Tree() []TreeLine {
	var lines []TreeLine
	shown := map[skill.Key]bool{}
	var walk func(edges []Edge, depth int)
	walk = func(edges []Edge, depth int) {
		list := slices.CompactFunc(slices.Clone(sortedEdges(edges)), func(a, b Edge) bool { return a.Name == b.Name })
		for i, e := range list {
			line := TreeLine{Depth: depth, Name: e.Name, Edge: e, Last: i == len(list)-1}
			children := g.Nodes[e.Name].Edges
			line.Repeated = shown[e.Name] && len(children) > 0
			lines = append(lines, line)
			if !shown[e.Name] {
				shown[e.Name] = true
				walk(children, depth+1)
			}
		}
	}
	walk(g.Root, 1)
	return lines
}
