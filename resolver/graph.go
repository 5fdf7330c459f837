package resolver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

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

func (s *session) graphOf(r *answer) Graph {
	g := Graph{Project: s.in.Project, Nodes: make(map[skill.Key]Node, len(r.chosen))}
	for _, e := range s.root {
		g.Root = append(g.Root, e.Edge)
	}
	for _, d := range r.chosen {
		g.Nodes[d.cand.Name] = Node{Version: d.cand.Version, Source: d.cand.Source, Edges: plainEdges(d.edges)}
	}
	return g
}

func plainEdges(list []*edge) []Edge {
	edges := make([]Edge, len(list))
	for i, e := range list {
		edges[i] = e.Edge
	}
	return edges
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

// firstCycle walks depth first, edges by name, and returns the path to the first
// edge that leads back onto the path, and where the circle begins; nil if there
// is none. root is the root's own name, or "".
func (g Graph) firstCycle(root skill.Key) (Path, int) {
	on := map[skill.Key]int{}
	done := map[skill.Key]bool{}
	path := Path{g.rootStep()}
	if root != "" {
		path[0].Name = string(root)
		on[root] = 0
	}
	var walk func(edges []Edge) (Path, int)
	walk = func(edges []Edge) (Path, int) {
		for _, e := range sortedEdges(edges) {
			here := len(path) - 1
			path[here].Requires, path[here].Chain = e.text(), e.Chain
			if at, ok := on[e.Name]; ok {
				end := path[at]
				end.Requires, end.Chain = "", false
				return append(slices.Clone(path), end), at
			}
			n, ok := g.Nodes[e.Name]
			if !ok || done[e.Name] {
				continue
			}
			on[e.Name] = len(path)
			path = append(path, g.step(e.Name))
			if p, at := walk(n.Edges); p != nil {
				return p, at
			}
			path = path[:len(path)-1]
			delete(on, e.Name)
			done[e.Name] = true
		}
		return nil, 0
	}
	return walk(g.Root)
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
