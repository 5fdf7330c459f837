package resolver

import "slices"

// emptyReason says why an edge that admits no candidate admits none.
func (p *prover) emptyReason(c *incompat) Reason {
	l, e := c.target.list, c.edge
	if len(e.Sources) == 0 && !e.OrLocked {
		return NotFound
	}
	var own []int
	for i, x := range l.cands {
		if slices.Contains(e.Sources, x.Source) || e.OrLocked && i == l.locked {
			own = append(own, i)
		}
	}
	if len(own) == 0 {
		switch {
		case l.unavailable:
			return Offline
		case l.untagged:
			return NoVersions
		case l.notFound != "" || len(l.cands) == 0:
			return NotFound
		}
		return NameSourceConflict
	}
	if e.Ref != "" {
		if l.unavailable {
			return Offline
		}
		return NotFound
	}
	if e.Exact != "" {
		return NoVersions
	}
	r := p.parsed(e.Range)
	switch {
	case allPseudo(l, own):
		return NoVersions
	case slices.ContainsFunc(own, func(i int) bool { return r.wouldAllow(l.cands[i].Version) }):
		return OnlyPrereleases
	}
	return NoMatchingVersion
}

func allPseudo(l *list, own []int) bool {
	return !slices.ContainsFunc(own, func(i int) bool { return !l.cands[i].Version.IsPseudo() })
}

// contest is a name on which requirements disagree.
type contest struct {
	target  *pkg
	parties []*incompat // the requirements, lowest wanted version first
	reason  Reason
}

// reasonOf finds what the failure is about: a name on which two requirements of
// the proof disagree, or else a requirement that nothing satisfies.
func (p *prover) reasonOf() (Reason, *contest, *incompat) {
	var order []*pkg
	wants := map[*pkg][]*incompat{}
	gone := map[*pkg][]*incompat{}
	for _, f := range p.facts {
		if f.target == nil {
			continue
		}
		switch f.kind {
		case kindRequires, kindPin:
			if wants[f.target] == nil {
				order = append(order, f.target)
			}
			wants[f.target] = append(wants[f.target], f)
		default:
			gone[f.target] = append(gone[f.target], f)
		}
	}
	for _, f := range p.facts {
		if f.kind == kindPin && f.offlinePin {
			return Offline, nil, f
		}
	}
	for _, t := range order {
		if c := p.contestOn(t, wants[t]); c != nil {
			return c.reason, c, nil
		}
	}
	for _, f := range p.facts {
		if f.kind == kindRequires && f.allows().empty() {
			return p.emptyReason(f), nil, f
		}
	}
	for _, t := range order {
		for _, g := range gone[t] {
			for _, f := range wants[t] {
				if f.kind == kindRequires {
					return goneReason(g), nil, f
				}
			}
		}
	}
	for _, f := range p.facts {
		if f.kind == kindRequires {
			return DisjointRanges, nil, f
		}
	}
	return NotFound, nil, nil
}

func goneReason(c *incompat) Reason {
	switch c.kind {
	case kindRetracted:
		return OnlyRetracted
	case kindOffline:
		return Offline
	case kindUnreadable:
		return UnreadableSkill
	}
	return NoMatchingVersion
}

// contestOn returns the contest about t, or nil if no two of its requirements
// exclude each other.
func (p *prover) contestOn(t *pkg, wants []*incompat) *contest {
	var requires, pins []*incompat
	for _, f := range wants {
		switch {
		case f.kind == kindPin:
			pins = append(pins, f)
		case !f.allows().empty() || p.emptyReason(f) == NameSourceConflict:
			requires = append(requires, f)
		}
	}
	if a, b := disagree(requires); a != nil {
		c := &contest{target: t, parties: parties(a, b), reason: DisjointRanges}
		if differentSources(a, b) {
			c.reason = NameSourceConflict
		}
		return c
	}
	if all := parties(requires...); len(all) > 2 && common(t, requires).empty() {
		return &contest{target: t, parties: all, reason: DisjointRanges}
	}
	if len(pins) > 1 || len(pins) == 1 && len(requires) > 1 {
		c := &contest{target: t, reason: DigestConflict, parties: parties(append(slices.Clone(pins), requires...)...)}
		c.parties = c.parties[:min(2, len(c.parties))]
		return c
	}
	return nil
}

// disagree returns the first two requirements without a common candidate.
func disagree(list []*incompat) (*incompat, *incompat) {
	for i, a := range list {
		for _, b := range list[i+1:] {
			if !sameParent(a, b) && !a.allows().meets(b.allows()) {
				return a, b
			}
		}
	}
	return nil, nil
}

func differentSources(a, b *incompat) bool {
	return !slices.ContainsFunc(a.edge.Sources, func(s string) bool { return slices.Contains(b.edge.Sources, s) })
}

// parties orders requirements by the newest version they admit, lowest first,
// then by who requires, each requirer once.
func parties(list ...*incompat) []*incompat {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *incompat) int {
		ab, bb := a.allowsOrAll().first(1), b.allowsOrAll().first(1)
		if ab != bb {
			return bb - ab // lists are newest first
		}
		return compareEdges(a.edge, b.edge)
	})
	var once []*incompat
	for _, f := range list {
		if !slices.ContainsFunc(once, func(g *incompat) bool { return sameParent(f, g) }) {
			once = append(once, f)
		}
	}
	return once
}

func sameParent(a, b *incompat) bool {
	return a.parent == b.parent || a.parent != nil && b.parent != nil && a.parent.name == b.parent.name
}

// common returns what all requirements on t admit.
func common(t *pkg, list []*incompat) set {
	in := t.all.clone()
	for _, f := range list {
		in.clip(f.allows())
	}
	return in
}

func (c *incompat) allowsOrAll() set {
	if c.kind == kindPin {
		return c.target.all
	}
	return c.allows()
}
