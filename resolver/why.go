package resolver

import (
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// maxPaths bounds the paths that one question lists: their number can grow
// exponentially with the graph's depth.
const maxPaths = 100

// Why returns the shortest paths from the root to name, ordered by the names on
// them, at most 100; none if name is not in the graph.
func (g Graph) Why(name skill.Key) []Path {
	dist := g.distances()
	if dist[name] == 0 {
		return nil
	}
	if _, ok := g.Nodes[name]; !ok {
		return nil
	}
	return g.pathsTo(dist, name, g.step(name))
}

// distances returns for every reachable name its distance from the root.
func (g Graph) distances() map[skill.Key]int {
	dist := map[skill.Key]int{}
	queue := []skill.Key{}
	see := func(edges []Edge, d int) {
		for _, e := range sortedEdges(edges) {
			if dist[e.Name] == 0 {
				dist[e.Name] = d
				queue = append(queue, e.Name)
			}
		}
	}
	see(g.Root, 1)
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		see(g.Nodes[name].Edges, dist[name]+1)
	}
	return dist
}

// pathsTo walks backwards from name along edges that shorten the distance. end
// is the last step.
func (g Graph) pathsTo(dist map[skill.Key]int, name skill.Key, end Step) []Path {
	parents := g.parents()
	var paths []Path
	var back func(at skill.Key, tail Path)
	back = func(at skill.Key, tail Path) {
		if len(paths) >= maxPaths {
			return
		}
		if dist[at] == 1 {
			for _, e := range sortedEdges(g.Root) {
				if e.Name == at {
					step := g.rootStep()
					step.Requires, step.Chain = e.text(), e.Chain
					paths = append(paths, append(Path{step}, reversed(tail)...))
					break
				}
			}
			return
		}
		for _, p := range parents[at] {
			if dist[p.name]+1 != dist[at] {
				continue
			}
			step := g.step(p.name)
			step.Requires, step.Chain = p.edge.text(), p.edge.Chain
			back(p.name, append(slices.Clone(tail), step))
		}
	}
	back(name, Path{end})
	slices.SortStableFunc(paths, func(a, b Path) int {
		return slices.CompareFunc(a, b, func(x, y Step) int { return strings.Compare(x.Name, y.Name) })
	})
	return paths
}

func reversed(p Path) Path {
	r := slices.Clone(p)
	slices.Reverse(r)
	return r
}

type parentEdge struct {
	name skill.Key
	edge Edge
}

// parents inverts the graph's edges, one edge a pair of skills.
func (g Graph) parents() map[skill.Key][]parentEdge {
	m := map[skill.Key][]parentEdge{}
	names := make([]skill.Key, 0, len(g.Nodes))
	for name := range g.Nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		last := skill.Key("")
		for _, e := range sortedEdges(g.Nodes[name].Edges) {
			if e.Name != last && e.Name != name {
				m[e.Name] = append(m[e.Name], parentEdge{name, e})
			}
			last = e.Name
		}
	}
	return m
}

// WhyNot returns the requirements in the graph that exclude every one of
// versions that text, a range, matches: each as a shortest path that ends with
// what is required of name. It is empty if some version is excluded by nothing,
// or if no version matches text at all.
func (g Graph) WhyNot(name skill.Key, text string, versions []skill.Version) []Path {
	var asked []skill.Version
	for _, v := range versions {
		if Match(text, v) {
			asked = append(asked, v)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	excludes := func(e Edge) bool {
		return e.Name == name && slices.ContainsFunc(asked, func(v skill.Version) bool {
			return e.Ref != "" || e.Exact != "" || !Match(e.Range, v)
		})
	}
	for _, v := range asked {
		if !g.anyEdge(func(e Edge) bool {
			return e.Name == name && (e.Ref != "" || e.Exact != "" || !Match(e.Range, v))
		}) {
			return nil
		}
	}
	var paths []Path
	for _, e := range g.Root {
		if excludes(e) {
			paths = append(paths, g.rootPath(e))
		}
	}
	dist := g.distances()
	for _, p := range g.parents()[name] {
		if dist[p.name] > 0 && excludes(p.edge) {
			paths = append(paths, g.toEdgeOf(dist, p.name, p.edge)...)
		}
	}
	return paths
}

func (g Graph) anyEdge(is func(Edge) bool) bool {
	if slices.ContainsFunc(g.Root, is) {
		return true
	}
	for _, n := range g.Nodes {
		if slices.ContainsFunc(n.Edges, is) {
			return true
		}
	}
	return false
}

func (g Graph) rootPath(e Edge) Path {
	step := g.rootStep()
	step.Requires, step.Chain = e.text(), e.Chain
	return Path{step, {Name: string(e.Name)}}
}

// toEdgeOf returns the first shortest path to parent, with e as its end.
func (g Graph) toEdgeOf(dist map[skill.Key]int, parent skill.Key, e Edge) []Path {
	paths := g.pathsTo(dist, parent, g.step(parent))
	if len(paths) == 0 {
		return nil
	}
	p := paths[0]
	p[len(p)-1].Requires, p[len(p)-1].Chain = e.text(), e.Chain
	return []Path{append(p, Step{Name: string(e.Name)})}
}

// toEdge is toEdgeOf for the first edge of parent ("" is the root) on name.
func (g Graph) toEdge(parent, name skill.Key) []Path {
	edges := g.Root
	if parent != "" {
		edges = g.Nodes[parent].Edges
	}
	for _, e := range sortedEdges(edges) {
		if e.Name != name {
			continue
		}
		if parent == "" {
			return []Path{g.rootPath(e)}
		}
		return g.toEdgeOf(g.distances(), parent, e)
	}
	return nil
}
