package resolver

import "github.com/skillpm/skillpm/skill"

// Graph is a solved project as plain data, from a Solution or from a lock.
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

// Graph returns the solution as a graph; root are the effective root edges.
func (s *Solution) Graph(in Input) Graph { return Graph{} }

// Why returns every shortest path from the root to name, ordered by the names
// on it; none if name is not in the graph.
func (g Graph) Why(name skill.Key) []Path { return nil }

// WhyNot returns the requirements in the graph that exclude v of name, each as
// a shortest path that ends in the requirement; none if nothing excludes it.
func (g Graph) WhyNot(name skill.Key, rng string, versions []skill.Version) []Path { return nil }

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
func (g Graph) Tree() []TreeLine { return nil }
