package lockfile

import (
	"maps"
	"slices"

	"github.com/skillpm/skillpm/skill"
)

// Edge is one dependency.
type Edge struct {
	// From and To are keys; From is "" for the project itself.
	From, To string
	// Requirement is the canonical spelling, "*" for a member of a chain.
	Requirement string
	// Chain is set if To is a member of From's chain and not required otherwise.
	Chain bool
}

// Order returns the keys in the order of l.Skills: by key, unless Sort was given
// another.
func (l *Lock) Order() []string {
	keys := make([]string, len(l.Skills))
	for i, e := range l.Skills {
		keys[i] = e.Key
	}
	return keys
}

// Edges returns every edge: the project's by key, then each entry's in the
// order of l.Skills, by key.
func (l *Lock) Edges() []Edge {
	var edges []Edge
	for _, key := range slices.Sorted(maps.Keys(l.Root.Requires)) {
		edges = append(edges, Edge{To: key, Requirement: l.Root.Requires[key]})
	}
	for _, e := range l.Skills {
		edges = append(edges, e.edges()...)
	}
	return edges
}

// edges are what an entry depends on, declared or resolved: an edge that stands
// only in requires is reported too, so that a gap in dependencies shows.
func (e *Entry) edges() []Edge {
	keys := slices.Concat(e.Dependencies, slices.Collect(maps.Keys(e.Requires)))
	if e.Chain != nil {
		keys = append(keys, e.Chain.Steps...)
	}
	var edges []Edge
	for _, key := range sortedSet(keys) {
		edge := Edge{From: e.Key, To: key, Requirement: "*"}
		if r, ok := e.Requires[key]; ok {
			edge.Requirement = r
		} else {
			edge.Chain = e.Chain != nil && slices.Contains(e.Chain.Steps, key)
		}
		edges = append(edges, edge)
	}
	return edges
}

func (l *Lock) index() map[string]*Entry {
	m := make(map[string]*Entry, len(l.Skills))
	for _, e := range l.Skills {
		m[e.Key] = e
	}
	return m
}

// Open returns the edges that lead to no entry: a lock that was merged badly or
// edited by hand.
func (l *Lock) Open() []Edge {
	entries := l.index()
	return slices.DeleteFunc(l.Edges(), func(e Edge) bool { return entries[e.To] != nil })
}

// Unreachable returns the keys, in the lock's order, that nothing the project
// requires leads to.
func (l *Lock) Unreachable() []string {
	entries := l.index()
	reached := map[string]bool{}
	queue := slices.Collect(maps.Keys(l.Root.Requires))
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		if reached[key] || entries[key] == nil {
			continue
		}
		reached[key] = true
		for _, edge := range entries[key].edges() {
			queue = append(queue, edge.To)
		}
	}
	return slices.DeleteFunc(l.Order(), func(key string) bool { return reached[key] })
}

// Cycle returns the keys of one circle of dependencies, the first repeated at
// the end, or nil. Which one is found depends on the lock's content alone.
func (l *Lock) Cycle() []string {
	w := &cycleWalk{entries: l.index(), done: map[string]bool{}}
	for _, e := range l.Skills {
		if circle := w.visit(e.Key); circle != nil {
			return circle
		}
	}
	return nil
}

type cycleWalk struct {
	entries map[string]*Entry
	done    map[string]bool
	path    []string
}

// visit recurses no deeper than the number of entries.
func (w *cycleWalk) visit(key string) []string {
	if at := slices.Index(w.path, key); at >= 0 {
		return append(slices.Clone(w.path[at:]), key)
	}
	e := w.entries[key]
	if e == nil || w.done[key] {
		return nil
	}
	w.path = append(w.path, key)
	for _, edge := range e.edges() {
		if circle := w.visit(edge.To); circle != nil {
			return circle
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.done[key] = true
	return nil
}

// Parent is one resolved dependency. The word is that of skillerr's RFC 0004:
// the packages that a package was made from.
type Parent struct {
	Name   string       `json:"name"`
	Digest skill.Digest `json:"digest,omitempty"`
}

// Parents returns what key depends on directly, with digests, by key; nil if
// there is no such entry. It is derived, not stored.
func (l *Lock) Parents(key string) []Parent {
	e := l.Get(key)
	if e == nil {
		return nil
	}
	entries := l.index()
	var parents []Parent
	for _, name := range sortedSet(e.Dependencies) {
		p := Parent{Name: name}
		if dep := entries[name]; dep != nil {
			p.Digest = dep.Digest
		}
		parents = append(parents, p)
	}
	return parents
}

// Dependents returns the keys of the entries that depend on key directly, in
// the lock's order. The project itself is not among them.
func (l *Lock) Dependents(key string) []string {
	var keys []string
	for _, e := range l.Skills {
		if slices.ContainsFunc(e.edges(), func(edge Edge) bool { return edge.To == key }) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}
