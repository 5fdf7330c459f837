package resolver

import "github.com/skillpm/skillpm/skill"

// checkPins compares digests where p's candidate i would meet a pin: those of
// decided skills on p, and i's own on decided skills. It returns false if one
// differs, which is then an incompatibility. Only candidates that are about to
// be chosen are asked for a digest.
func (s *search) checkPins(p *pkg, i int) (bool, error) {
	ok, missing := true, false
	check := func(parent *pkg, g *group, at int) error {
		if g.edge.Digest == "" {
			return nil
		}
		if s.cfg.relaxed {
			broken, err := s.isBroken(g)
			if err != nil || broken {
				return err
			}
		}
		d, state := s.digestOf(g.target.list.cands[at])
		switch {
		case state == NotLoaded:
			missing = true
		case state != Loaded || d != g.edge.Digest:
			s.pinFails(parent, g, at, state != Loaded)
			ok = false
		}
		return nil
	}
	for _, in := range p.into {
		if err := check(in.parent, in.group, i); err != nil {
			return false, err
		}
	}
	for _, g := range p.deps(i) {
		if g.target.decided >= 0 {
			if err := check(p, g, g.target.decided); err != nil {
				return false, err
			}
		}
	}
	if missing {
		return false, errNeed
	}
	return ok, nil
}

// pinFails records that candidate at of g's target does not have g's digest.
func (s *search) pinFails(parent *pkg, g *group, at int, offline bool) {
	s.pinMiss = true
	if g.pin == nil {
		g.pin = &incompat{kind: kindPin, parent: parent, edge: g.edge, target: g.target}
		if parent != nil {
			// The set is shared: what holds of one candidate with this edge holds of all.
			g.pin.terms = append(g.pin.terms, term{parent, g.inc.terms[0].in})
		}
		g.pin.terms = append(g.pin.terms, term{g.target, make(set, len(g.target.all))})
		for _, t := range g.pin.terms {
			t.pkg.incs = append(t.pkg.incs, g.pin)
		}
	}
	g.pin.offlinePin = g.pin.offlinePin || offline
	g.pin.terms[len(g.pin.terms)-1].in.add(at + 1)
	s.enqueue(g.target)
}

// isBroken says whether g's pin is broken (S10): versions are in its range, and
// none of them has the digest.
func (s *search) isBroken(g *group) (bool, error) {
	if g.broken == 0 {
		broken, err := s.brokenPin(g.edge)
		if err != nil {
			return false, err
		}
		g.broken = -1
		if broken {
			g.broken = 1
		}
	}
	return g.broken > 0, nil
}

// brokenPin looks at all versions there are, also while a search holds the name
// at its locked one. Digests are asked for newest first, a few a round.
func (s *session) brokenPin(e *edge) (bool, error) {
	l := s.listOf(e.Name)
	if l == nil {
		return false, errNeed
	}
	in := s.admitted(l, e)
	found, missing := false, 0
	for b := in.first(1); b > 0; b = in.first(b + 1) {
		if l.needsConsent(b - 1) {
			continue
		}
		// Versions that cannot be used count too: a pin on what was retracted is
		// not broken, its content is what it was.
		found = true
		d, state := s.digestOf(l.cands[b-1])
		if state == NotLoaded {
			if missing++; missing == batch {
				break
			}
			continue
		}
		if state != Loaded || d == e.Digest {
			return false, nil
		}
	}
	if missing > 0 {
		return false, errNeed
	}
	return found, nil
}

// brokenPins lists the edges of a solution whose pins are broken and differ from
// what was chosen, for the report of digest_mismatch.
func (s *session) brokenPins(r *answer) []pinFault {
	var list []pinFault
	see := func(parent *Candidate, e *edge) {
		name := skill.Key("")
		if parent != nil {
			name = parent.Name
		}
		at, ok := r.index[e.Name]
		if !ok || e.Digest == "" || !s.constrains(e, name) {
			return
		}
		c := r.chosen[at].cand
		d, state := s.digestOf(c)
		if state == Loaded && d != e.Digest {
			list = append(list, pinFault{parent, e, c, d})
		}
	}
	for _, e := range s.root {
		see(nil, e)
	}
	for i := range r.chosen {
		for _, e := range r.chosen[i].edges {
			see(&r.chosen[i].cand, e)
		}
	}
	return list
}

type pinFault struct {
	parent *Candidate // nil for the root
	edge   *edge
	cand   Candidate
	found  skill.Digest
}
