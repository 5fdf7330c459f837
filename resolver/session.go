package resolver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// session is one call of Solve: the input made ready, and what its several
// searches share.
type session struct {
	stopped   func() error // the context's Err
	in        Input
	u         Universe
	overrides map[skill.Key]Override
	locked    map[skill.Key]*Locked // entries that still hold, unlocked ones left out
	before    map[skill.Key]*Locked // all entries
	lock      []*Locked             // all entries, by name
	lockEdges map[skill.Key][]*edge // of locked, overrides applied
	root      []*edge               // sorted by name
	rootEdge  map[skill.Key]*edge
	exact     map[skill.Key][]skill.Version // versions that the root names exactly
	held      map[skill.Key]bool            // locked names that the root does not exclude

	places map[skill.Key][]place
	lists  map[skill.Key]*list // full lists, made from places
	fixed  map[skill.Key]*list // lists of a locked candidate alone
	ranges map[string]*versionRange
	need   *Need

	batchStart int     // where prefetch's current batch begins in need.Requirements
	last       *search // the latest search
	failed     *search // the latest that found no solution
	pinMissed  bool    // a digest pin took a candidate away in some search

	conflicts int
	blame     map[skill.Key]int // conflicts per name
}

func newSession(stopped func() error, in Input, u Universe) *session {
	names := len(in.Lock) + len(in.Root)
	s := &session{
		stopped: stopped, in: in, u: u,
		overrides: map[skill.Key]Override{}, exact: map[skill.Key][]skill.Version{},
		locked:    make(map[skill.Key]*Locked, len(in.Lock)),
		before:    make(map[skill.Key]*Locked, len(in.Lock)),
		lockEdges: make(map[skill.Key][]*edge, len(in.Lock)),
		held:      make(map[skill.Key]bool, len(in.Lock)),
		fixed:     make(map[skill.Key]*list, len(in.Lock)),
		rootEdge:  make(map[skill.Key]*edge, len(in.Root)),
		places:    make(map[skill.Key][]place, names),
		lists:     make(map[skill.Key]*list, len(in.Root)),
		ranges:    map[string]*versionRange{}, need: &Need{}, blame: map[skill.Key]int{},
	}
	in.Overrides = slices.SortedStableFunc(slices.Values(in.Overrides), func(a, b Override) int { return compareNames(a.Name, b.Name) })
	s.in.Overrides = in.Overrides
	for _, o := range in.Overrides {
		s.overrides[o.Name] = o
		s.nameExactly(o.Name, o.Range, o.Ref)
	}
	s.lock = make([]*Locked, len(in.Lock))
	for i := range in.Lock {
		s.lock[i] = &in.Lock[i]
	}
	slices.SortStableFunc(s.lock, func(a, b *Locked) int { return compareNames(a.Name, b.Name) })
	released := make(map[skill.Key]bool, len(in.Unlock)+len(in.Prefer))
	for _, name := range slices.Concat(in.Unlock, in.Prefer) {
		released[name] = true
	}
	for _, l := range s.lock {
		s.before[l.Name] = l
		if !in.UnlockAll && !released[l.Name] {
			s.locked[l.Name] = l
		}
	}
	s.root = s.effective(in.Root)
	for _, e := range s.root {
		s.rootEdge[e.Name] = e
		s.nameExactly(e.Name, e.Range, e.Ref)
	}
	slices.SortStableFunc(s.root, compareEdges)
	if !in.Frozen { // which searches nothing
		s.addKnownPlaces()
		for name, l := range s.locked {
			s.held[name] = s.rootHolds(l)
		}
	}
	return s
}

func (s *session) nameExactly(name skill.Key, rng, ref string) {
	if ref != "" || isAny(rng) {
		return
	}
	if v := exactly(rng); !v.IsZero() {
		s.exact[name] = append(s.exact[name], v)
	}
}

// namedExactly says whether the root names c's version exactly (S8).
func (s *session) namedExactly(c Candidate) bool {
	return slices.ContainsFunc(s.exact[c.Name], func(v skill.Version) bool { return v.Compare(c.Version) == 0 })
}

// addKnownPlaces registers where the root and the lock point. A place that is
// found later restarts the search, so knowing most of them first saves time.
func (s *session) addKnownPlaces() {
	for _, e := range s.root {
		s.addPlaces(e)
	}
	for _, l := range s.lock {
		if s.locked[l.Name] == nil {
			continue
		}
		edges, _, _, _ := s.requirementsOf(&l.Candidate)
		for _, e := range edges {
			if s.constrains(e, l.Name) {
				s.addPlaces(e)
			}
		}
	}
}

// addPlaces registers where e's candidates are and reports whether any was new.
func (s *session) addPlaces(e *edge) bool {
	added := false
	for _, source := range e.Sources {
		p := place{source: source, ref: e.Ref}
		if e.Ref == "" && e.Exact != "" && isAny(e.Range) {
			p.ref = e.Exact
		}
		list := s.places[e.Name]
		if at, found := slices.BinarySearchFunc(list, p, comparePlaces); !found {
			s.places[e.Name] = slices.Insert(list, at, p)
			delete(s.lists, e.Name)
			added = true
		}
	}
	return added
}

func comparePlaces(a, b place) int {
	return cmp.Or(strings.Compare(a.source, b.source), strings.Compare(a.ref, b.ref))
}

// compareEdges orders the edges of one parent: requirements before chain
// members, then by name and by the rest of the requirement. Only edges that
// differ in nothing that matters are equal, so no order of the caller's shows.
func compareEdges(a, b *edge) int {
	if a.Chain != b.Chain {
		if a.Chain {
			return 1
		}
		return -1
	}
	if c := compareNames(a.Name, b.Name); c != 0 {
		return c // nearly always, and cheap
	}
	return cmp.Or(strings.Compare(a.text(), b.text()), a.key.compare(b.key),
		strings.Compare(a.Delegate, b.Delegate), strings.Compare(a.Missing, b.Missing), strings.Compare(faultText(a), faultText(b)))
}

func faultText(e *edge) string {
	if e.Fault == nil {
		return ""
	}
	return e.Fault.Message
}

// effective returns the edges with overrides applied (S9).
func (s *session) effective(list []Edge) []*edge {
	block := make([]edge, len(list))
	edges := make([]*edge, len(list))
	for i := range list {
		block[i] = s.overridden(list[i])
		edges[i] = &block[i]
	}
	return edges
}

// overridden applies the override on e's name, if there is one.
func (s *session) overridden(e Edge) edge {
	o, ok := s.overrides[e.Name]
	if ok {
		e.Range, e.Ref, e.Exact, e.Digest, e.Delegate, e.OrRoot = o.Range, o.Ref, "", o.Digest, "", false
		if o.Source != "" {
			e.Sources, e.OrLocked, e.Missing = []string{o.Source}, false, ""
		}
		if len(e.Sources) > 0 {
			e.Fault = nil
		}
	}
	sources := ""
	if len(e.Sources) == 1 {
		sources = e.Sources[0]
	} else if len(e.Sources) > 1 {
		sources = strings.Join(e.Sources, "\n")
	}
	var flags uint8
	for i, on := range [...]bool{e.OrLocked, e.OrRoot, ok, e.LookedUp, e.Chain} {
		if on {
			flags |= 1 << i
		}
	}
	return edge{Edge: e, overridden: ok, key: edgeKey{e.Name, e.Range, e.Ref, e.Exact, sources, string(e.Digest), flags}}
}

// constrains says whether e takes part in the search. An edge to oneself or to
// the root is a cycle (S11), one with a fault of its own refuses afterwards.
func (s *session) constrains(e *edge, parent skill.Key) bool {
	return e.Name != parent && (e.Name != s.in.RootName || s.in.RootName == "") && !s.faulty(e, parent)
}

// parsed returns the range text, parsed once.
func (s *session) parsed(text string) *versionRange {
	r, ok := s.ranges[text]
	if !ok {
		r = parseRange(text)
		s.ranges[text] = r
	}
	return r
}

// rootHolds says whether the root's own requirement and override on l's name
// admit the locked candidate (S7).
func (s *session) rootHolds(l *Locked) bool {
	e := s.rootEdge[l.Name]
	if e == nil {
		o, ok := s.overrides[l.Name]
		if !ok {
			return true
		}
		e = &edge{Edge: Edge{Name: l.Name, Range: o.Range, Ref: o.Ref, Digest: o.Digest, Sources: []string{cmp.Or(o.Source, l.Source)}}}
	}
	if e.Digest != "" && l.Digest != "" && e.Digest != l.Digest {
		return false
	}
	return s.admitted(s.fixedList(l.Name), e).has(1)
}

func (s *session) fixedList(name skill.Key) *list {
	l := s.fixed[name]
	if l == nil {
		l = s.heldList(name)
		s.fixed[name] = l
	}
	return l
}

// listOf returns the full list of name, or nil after noting what is missing.
func (s *session) listOf(name skill.Key) *list {
	l := s.lists[name]
	if l == nil {
		if l = s.buildList(name); l != nil {
			s.lists[name] = l
		}
	}
	return l
}

// requirementsOf returns c's edges with overrides applied. ok is false if they
// are not loaded; unreadable is why c is no candidate.
func (s *session) requirementsOf(c *Candidate) (edges []*edge, unreadable string, offline, ok bool) {
	var list []Edge
	l := s.locked[c.Name]
	own := l != nil && sameCandidate(&l.Candidate, c)
	if own {
		if edges, ok := s.lockEdges[c.Name]; ok {
			return edges, "", false, true
		}
		list = l.Edges
	} else {
		r := s.u.Requirements(*c)
		switch {
		case r.State == NotLoaded:
			s.need.Requirements = append(s.need.Requirements, Wanted{Name: c.Name, Source: c.Source, Candidate: *c})
			return nil, "", false, false
		case r.State != Loaded:
			return nil, "", true, true
		case r.Unreadable != "":
			return nil, r.Unreadable, false, true
		}
		list = r.Edges
	}
	edges = s.effective(list)
	if len(edges) > 1 {
		slices.SortStableFunc(edges, compareEdges)
	}
	if own {
		s.lockEdges[c.Name] = edges
	}
	return edges, "", false, true
}

// digestOf returns c's content digest; state is NotLoaded after noting it.
func (s *session) digestOf(c Candidate) (skill.Digest, State) {
	if l := s.locked[c.Name]; l != nil && l.Digest != "" && sameCandidate(&l.Candidate, &c) {
		return l.Digest, Loaded
	}
	d, state := s.u.Digest(c)
	if state == NotLoaded {
		s.need.Digests = append(s.need.Digests, Wanted{Name: c.Name, Source: c.Source, Candidate: c})
	}
	return d, state
}
