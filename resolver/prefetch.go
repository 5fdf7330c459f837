package resolver

import (
	"slices"

	"github.com/skillpm/skillpm/skill"
)

// batch is how many versions of one name are asked for in a round.
const batch = 8

// prefetch adds to need what the search will probably ask for next. It walks
// from the root along the candidates that would be tried first, conflicts
// ignored, and notes whatever is not loaded on the way; so one round serves the
// whole frontier. It has no influence on the answer.
func (s *session) prefetch() {
	type wanted struct {
		name skill.Key
		edge *edge
	}
	seen := map[skill.Key]bool{}
	var queue []wanted
	for _, e := range s.root {
		if s.constrains(e, "") {
			queue = append(queue, wanted{e.Name, e})
		}
	}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		if seen[w.name] {
			continue
		}
		seen[w.name] = true
		s.addPlaces(w.edge)
		l := s.prefetchList(w.name)
		if l == nil {
			continue
		}
		in := s.admitted(l, w.edge)
		follow := s.last.firstIn(w.name, l, in)
		if follow < 0 {
			continue
		}
		c := &l.cands[follow]
		s.batchStart = len(s.need.Requirements)
		edges, unreadable, offline, loaded := s.requirementsOf(c)
		if !loaded {
			s.prefetchOlder(l, in, follow)
		}
		if unreadable != "" || offline {
			s.prefetchOlder(l, in, follow)
			continue
		}
		for _, e := range edges {
			if s.constrains(e, c.Name) {
				queue = append(queue, wanted{e.Name, e})
			}
		}
	}
}

// prefetchList returns the list that the search uses for name. Before the first
// search that is the locked candidate alone of what a lock holds: what nobody
// asks about is not to be contacted.
func (s *session) prefetchList(name skill.Key) *list {
	if s.last == nil && s.held[name] || s.last != nil && s.last.cfg.fixed[name] {
		return s.fixedList(name)
	}
	return s.listOf(name)
}

// firstIn returns the candidate that the search has decided for name or would
// try first, by index in l, or -1.
func (s *search) firstIn(name skill.Key, l *list, in set) int {
	if s != nil {
		if p := s.pkgs[name]; p != nil && p.list == l {
			if p.decided >= 0 {
				return p.decided
			}
			if p.dom.meets(in) {
				in = p.dom.clone().clip(in)
			}
		}
	}
	if l.locked >= 0 && in.has(l.locked+1) {
		return l.locked
	}
	if l.local >= 0 && in.has(l.local+1) {
		return l.local
	}
	for b := in.first(1); b > 0; b = in.first(b + 1) {
		if !l.unusable(b-1) && !l.needsConsent(b-1) {
			return b - 1
		}
	}
	return -1
}

// prefetchOlder asks for the versions that come after the candidate at from, so
// that a batch of them is there if it fails.
func (s *session) prefetchOlder(l *list, in set, from int) {
	start := from + 2
	if from == l.locked || from == l.local {
		start = 1
	}
	for b := in.first(start); b > 0; b = in.first(b + 1) {
		if b-1 == from || l.unusable(b-1) || l.needsConsent(b-1) {
			continue
		}
		if s.requirementsOf(&l.cands[b-1]); len(s.need.Requirements)-s.batchStart >= batch {
			return
		}
	}
}

// tidy drops what is listed twice and keeps the order.
func (n *Need) tidy() *Need {
	for _, list := range []*[]Wanted{&n.Versions, &n.At, &n.Requirements, &n.Digests} {
		type id struct {
			name           skill.Key
			source, ref    string
			version, other string
		}
		seen := map[id]bool{}
		*list = slices.DeleteFunc(*list, func(w Wanted) bool {
			k := id{w.Name, w.Source, w.Ref, w.Candidate.Version.String(), w.Candidate.Commit}
			dup := seen[k]
			seen[k] = true
			return dup
		})
	}
	return n
}
