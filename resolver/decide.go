package resolver

import (
	"container/heap"
)

// addRoot makes the root's requirements facts and reaches their names.
func (s *search) addRoot() error {
	missing := false
	for _, e := range s.root {
		if !s.constrains(e, "") {
			continue
		}
		if err := s.pulse(); err != nil {
			return err
		}
		if s.packageOf(e.Name) == nil {
			missing = true
		}
	}
	if missing {
		return errNeed
	}
	for _, e := range s.root {
		if !s.constrains(e, "") {
			continue
		}
		g := s.newGroup(nil, e, s.pkgs[e.Name])
		s.roots = append(s.roots, g)
		s.link(nil, 0, g)
		s.reach(g.target, 1)
	}
	return nil
}

// newGroup compiles e: its incompatibility excludes what e does not admit of the
// target's domain, absence too. Groups are most of what a search allocates, so
// each comes in two pieces.
func (s *search) newGroup(parent *pkg, e *edge, target *pkg) *group {
	block := new(struct {
		group group
		inc   incompat
		terms [2]term
	})
	n := len(target.all)
	words := 2 * n
	if parent != nil {
		words += len(parent.all)
	}
	bits := make(set, words)
	g := &block.group
	g.edge, g.target, g.allows, g.inc = e, target, bits[:n:n], &block.inc
	s.allowed(target.list, e, g.allows)
	outside := bits[n : 2*n : 2*n]
	for i, w := range target.all {
		outside[i] = w &^ g.allows[i]
	}
	block.inc = incompat{kind: kindRequires, parent: parent, edge: e, target: target, terms: block.terms[:0]}
	if parent != nil {
		g.inc.terms = append(g.inc.terms, term{parent, bits[2*n:]})
	}
	g.inc.terms = append(g.inc.terms, term{target, outside})
	s.add(g.inc)
	return g
}

func (s *search) link(parent *pkg, cand int, g *group) {
	g.target.into = append(g.target.into, link{parent, cand, g})
	s.links = append(s.links, g.target)
}

func (s *search) reach(p *pkg, depth int) {
	if p.depth == 0 {
		p.depth = depth
		s.reached = append(s.reached, p)
		heap.Push(&s.heap, entry{depth, p})
	}
}

// decide gives p its first candidate, unless what is known of that candidate
// forbids it; then the search only learns so, and p comes up again.
func (s *search) decide(p *pkg) error {
	if err := s.pulse(); err != nil {
		return err
	}
	i := s.choose(p)
	if p.list.needsConsent(i) {
		return errConsent
	}
	ok, err := s.compile(p, i)
	if err != nil {
		return err
	}
	if ok {
		ok, err = s.checkPins(p, i)
		if err != nil {
			return err
		}
	}
	if !ok {
		heap.Push(&s.heap, entry{p.depth, p})
		s.enqueue(p)
		return nil
	}
	s.marks = append(s.marks, mark{trail: len(s.trail), links: len(s.links), reached: len(s.reached)})
	only := s.store(p.dom, p.dom)
	only.add(i + 1)
	s.assign(p, nil, only)
	p.decided = i
	for _, g := range p.deps(i) {
		s.link(p, i, g)
		s.reach(g.target, p.depth+1)
	}
	s.enqueue(p)
	return nil
}

// choose returns the candidate of p that S6 tries first among those left.
func (s *search) choose(p *pkg) int {
	l := p.list
	if l.locked >= 0 && p.dom.has(l.locked+1) {
		return l.locked
	}
	if l.local >= 0 && p.dom.has(l.local+1) {
		return l.local
	}
	for _, in := range p.into {
		if in.parent == nil || !in.group.edge.LookedUp {
			continue
		}
		commit := in.parent.list.cands[in.cand].Commit
		if commit == "" {
			continue
		}
		for i := p.dom.first(1); i > 0; i = p.dom.first(i + 1) {
			if l.cands[i-1].Commit == commit && in.group.allows.has(i) {
				return i - 1
			}
		}
		break // the first decided parent alone counts
	}
	return p.dom.first(1) - 1
}

// compile makes the edges of p's candidate i incompatibilities. It returns false
// if one of them forbids the candidate now, or if it is no candidate at all.
func (s *search) compile(p *pkg, i int) (bool, error) {
	if p.compiled == nil {
		p.compiled = make([]*compiled, len(p.list.cands))
	}
	if p.compiled[i] == nil {
		c, err := s.compileNew(p, i)
		if c == nil {
			return false, err
		}
		p.compiled[i] = c
	}
	for _, g := range p.deps(i) {
		if !g.target.dom.meets(g.allows) {
			return false, nil
		}
	}
	return true, nil
}

// compileNew returns nil without an error if the candidate cannot be used.
func (s *search) compileNew(p *pkg, i int) (*compiled, error) {
	edges, unreadable, offline, loaded := s.requirementsOf(&p.list.cands[i])
	switch {
	case !loaded:
		return nil, errNeed
	case unreadable != "" || offline:
		k := kindUnreadable
		if offline {
			k = kindOffline
		}
		gone := make(set, len(p.all))
		gone.add(i + 1)
		s.take(p, k, gone)
		return nil, nil
	}
	missing, restart := false, false
	for _, e := range edges {
		if !s.constrains(e, p.name) {
			continue
		}
		if s.addPlaces(e) && s.pkgs[e.Name] != nil && !s.cfg.fixed[e.Name] {
			restart = true
		}
	}
	for _, e := range edges {
		if s.constrains(e, p.name) && s.packageOf(e.Name) == nil {
			missing = true
		}
	}
	switch {
	case missing:
		return nil, errNeed
	case restart:
		return nil, errRestart
	}
	c := &compiled{edges: edges, deps: make([]*group, 0, len(edges))}
	for _, e := range edges {
		if !s.constrains(e, p.name) {
			continue
		}
		g := s.groupOf(p, e)
		g.inc.terms[0].in.add(i + 1)
		c.deps = append(c.deps, g)
	}
	return c, nil
}

// groupOf returns the group that e shares with equal edges of p's candidates.
func (s *search) groupOf(p *pkg, e *edge) *group {
	if len(p.list.cands) == 1 {
		return s.newGroup(p, e, s.pkgs[e.Name]) // nobody to share with
	}
	g := p.groups[e.key]
	if g == nil {
		g = s.newGroup(p, e, s.pkgs[e.Name])
		if p.groups == nil {
			p.groups = map[edgeKey]*group{}
		}
		p.groups[e.key] = g
	}
	return g
}
