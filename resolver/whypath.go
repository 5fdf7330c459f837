package resolver

import (
	"slices"

	"github.com/skillpm/skillpm/skill"
)

// whyPath returns a way from the root to a requirement over what the failed
// search has seen: shortest first, newest versions.
func (p *prover) whyPath(c *incompat) Path {
	end := Step{Name: string(c.target.name)}
	if c.parent == nil {
		return Path{{Name: p.project(), Requires: c.edge.text(), Chain: c.edge.Chain}, end}
	}
	cand := c.terms[0].in.first(1) - 1
	path := p.pathToCandidate(c.parent.name, cand)
	last := &path[len(path)-1]
	last.Requires, last.Chain = c.edge.text(), c.edge.Chain
	return append(path, end)
}

// pathToCandidate searches breadth first, from the root, along compiled edges
// that admit the candidate each step names.
func (p *prover) pathToCandidate(name skill.Key, cand int) Path {
	type node struct {
		pkg  *pkg
		cand int
		from int
		edge *edge
	}
	var queue []node
	seen := map[*pkg]bool{}
	visit := func(from int, g *group) {
		at := g.target
		if at.name == name {
			if g.allows.has(cand + 1) {
				queue = append(queue, node{at, cand, from, g.edge})
			}
			return
		}
		if seen[at] {
			return
		}
		for b := g.allows.first(1); b > 0; b = g.allows.first(b + 1) {
			if len(at.deps(b-1)) > 0 {
				seen[at] = true
				queue = append(queue, node{at, b - 1, from, g.edge})
			}
		}
	}
	for _, g := range p.roots {
		visit(-1, g)
	}
	for i := 0; i < len(queue); i++ {
		n := queue[i]
		if n.pkg.name != name {
			for _, g := range n.pkg.deps(n.cand) {
				visit(i, g)
			}
			continue
		}
		var path Path // backwards: what a step requires is on the edge of the one before
		var out *edge
		step := func(s Step) {
			if out != nil {
				s.Requires, s.Chain = out.text(), out.Chain
			}
			path = append(path, s)
		}
		for j := i; j >= 0; j = queue[j].from {
			c := queue[j].pkg.list.cands[queue[j].cand]
			step(Step{Name: string(c.Name), Version: c.Version.String(), Source: c.Source})
			out = queue[j].edge
		}
		step(Step{Name: p.project()})
		slices.Reverse(path)
		return path
	}
	c := p.pkgs[name].list.cands[cand]
	return Path{{Name: p.project()}, {Name: string(name), Version: c.Version.String(), Source: c.Source}}
}

func uniquePaths(list []Path) []Path {
	var out []Path
	seen := map[string]bool{}
	for _, p := range list {
		key := p.String() + "\n" + lastRequires(p)
		if !seen[key] {
			seen[key] = true
			out = append(out, p)
		}
	}
	return out
}

func lastRequires(p Path) string {
	if len(p) < 2 {
		return ""
	}
	return p[len(p)-2].Requires
}
