package resolver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// place is where candidates of a name come from: a source, or one ref of it.
type place struct{ source, ref string }

// list is the finite list of candidates of one name, best version first.
type list struct {
	name    skill.Key
	cands   []Candidate
	blocked []string      // per candidate: the repository that needs consent, "" for a real candidate
	at      map[place]int // refs and commits → candidate index, -1 for none
	locked  int           // index of the locked candidate, or -1
	local   int           // index of a path skill, or -1

	retracted, hidden, offline set // candidates that may not be used; nil for none

	// untagged and notFound are facts about the places, for the report.
	untagged bool
	notFound string
	// unavailable says that a place could not be asked, offline.
	unavailable bool
}

func (l *list) size() int { return len(l.cands) + 1 }

// sameCandidate is the identity of candidates within a name: source and
// version, build metadata aside, or source and commit for a pseudo-version.
func sameCandidate(a, b *Candidate) bool {
	if a.Source != b.Source {
		return false
	}
	ap, bp := a.Version.IsPseudo(), b.Version.IsPseudo()
	if ap || bp {
		return ap && bp && a.Commit == b.Commit
	}
	if a.Version.IsZero() || b.Version.IsZero() {
		return a.Version.IsZero() && b.Version.IsZero()
	}
	return a.Version.Compare(b.Version) == 0
}

// rank orders candidates: stable high to low, pre-release high to low, then the
// rest of the identity so that no order depends on the caller's.
func rank(a, b *Candidate) int {
	if ap, bp := a.Version.Prerelease() != "", b.Version.Prerelease() != ""; ap != bp {
		if ap {
			return 1
		}
		return -1
	}
	if c := b.Version.Compare(a.Version); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Commit, b.Commit),
		strings.Compare(a.Version.String(), b.Version.String()))
}

// heldList is the list of a name that is held at its locked candidate.
func (s *session) heldList(name skill.Key) *list {
	return &list{name: name, cands: []Candidate{s.locked[name].Candidate}, locked: 0, local: -1}
}

// buildList makes the list of name from its places, or notes what is not loaded
// and returns nil.
func (s *session) buildList(name skill.Key) *list {
	b := listBuilder{session: s, list: &list{name: name, locked: -1, local: -1}, lock: s.locked[name]}
	for _, p := range s.places[name] {
		if p.ref != "" {
			b.addRef(p)
		} else {
			b.addVersions(p)
		}
	}
	if b.missing {
		return nil
	}
	b.order()
	b.index()
	s.markUnusable(b.list)
	return b.list
}

// listBuilder gathers what the places of a name hold.
type listBuilder struct {
	*session
	*list
	lock         *Locked
	refs         []refCandidate
	placeholders []Candidate // for sources that need consent
	repositories []string    // of placeholders
	missing      bool
}

type refCandidate struct {
	place place
	c     Candidate
}

func (b *listBuilder) addRef(p place) {
	if b.lock.isAt(p.source, p.ref) {
		b.refs = append(b.refs, refCandidate{p, b.lock.Candidate})
		return
	}
	c, state := b.u.At(b.name, p.source, p.ref)
	switch state {
	case NotLoaded:
		b.need.At = append(b.need.At, Wanted{Name: b.name, Source: p.source, Ref: p.ref})
		b.missing = true
	case NotApproved:
		b.addPlaceholder(p, b.u.Versions(b.name, p.source).Repository)
	case Unavailable:
		b.unavailable = true
	case Loaded:
		switch {
		case c.Name != "":
			b.refs = append(b.refs, refCandidate{p, c})
			b.cands = append(b.cands, c)
		case b.notFound == "":
			b.notFound = "there is no `" + p.ref + "` in " + p.source
		}
	}
}

func (b *listBuilder) addVersions(p place) {
	v := b.u.Versions(b.name, p.source)
	switch v.State {
	case NotLoaded:
		b.need.Versions = append(b.need.Versions, Wanted{Name: b.name, Source: p.source})
		b.missing = true
	case NotApproved:
		b.addPlaceholder(p, v.Repository)
	case Unavailable:
		b.unavailable = true
	case Loaded:
		if b.cands == nil {
			b.cands = v.List[:len(v.List):len(v.List)] // the Universe's own: any change copies
		} else {
			b.cands = append(b.cands, v.List...)
		}
		b.untagged = b.untagged || v.Untagged
		if b.notFound == "" {
			b.notFound = v.NotFound
		}
	}
}

func (b *listBuilder) addPlaceholder(p place, repository string) {
	b.placeholders = append(b.placeholders, Candidate{Name: b.name, Source: p.source})
	b.repositories = append(b.repositories, cmp.Or(repository, p.source))
}

// order adds the locked candidate and brings all into their order.
func (b *listBuilder) order() {
	if b.lock != nil {
		b.cands = slices.DeleteFunc(slices.Clone(b.cands), func(c Candidate) bool { return sameCandidate(&c, &b.lock.Candidate) })
		b.cands = append(b.cands, b.lock.Candidate)
	}
	if !inOrder(b.cands) {
		b.cands = slices.Clone(b.cands)
		slices.SortFunc(b.cands, func(x, y Candidate) int { return rank(&x, &y) })
		b.cands = slices.CompactFunc(b.cands, func(x, y Candidate) bool { return sameCandidate(&x, &y) })
	}
	if len(b.placeholders) > 0 {
		b.blocked = append(make([]string, len(b.cands)), b.repositories...)
		b.cands = append(b.cands[:len(b.cands):len(b.cands)], b.placeholders...)
	}
}

// index finds the candidates that are known by more than their version.
func (b *listBuilder) index() {
	for i := range b.cands {
		c := &b.cands[i]
		if b.lock != nil && b.list.locked < 0 && sameCandidate(c, &b.lock.Candidate) {
			b.list.locked = i
		}
		if c.Local && b.local < 0 {
			b.local = i
		}
	}
	if len(b.refs) > 0 {
		b.at = make(map[place]int, len(b.refs))
	}
	for _, r := range b.refs {
		b.at[r.place] = slices.IndexFunc(b.cands, func(c Candidate) bool { return sameCandidate(&c, &r.c) })
	}
}

// markUnusable finds the candidates that S8, min_age and offline take away.
func (s *session) markUnusable(l *list) {
	for i := range l.cands {
		c := &l.cands[i]
		if i == l.locked || l.needsConsent(i) {
			continue
		}
		var where *set
		switch {
		case c.Retracted && !s.namedExactly(*c):
			where = &l.retracted
		case c.Local:
			continue
		case c.Hidden != "":
			where = &l.hidden
		case s.in.Offline && !c.Cached:
			where = &l.offline
		default:
			continue
		}
		if *where == nil {
			*where = make(set, wordsFor(l.size()))
		}
		where.add(i + 1)
	}
}

// inOrder says whether the candidates are sorted by rank and all different.
func inOrder(cands []Candidate) bool {
	for i := 1; i < len(cands); i++ {
		if a, b := &cands[i-1], &cands[i]; rank(a, b) > 0 || sameCandidate(a, b) {
			return false
		}
	}
	return true
}

// needsConsent says whether candidate i stands for a source that may not be
// asked yet.
func (l *list) needsConsent(i int) bool { return l.blocked != nil && l.blocked[i] != "" }

// repository is what consent is needed for, "" for a real candidate.
func (l *list) repository(i int) string {
	if l.blocked == nil {
		return ""
	}
	return l.blocked[i]
}

// unusable returns the union of what markUnusable found.
func (l *list) unusable(i int) bool {
	for _, s := range []set{l.retracted, l.hidden, l.offline} {
		if s != nil && s.has(i+1) {
			return true
		}
	}
	return false
}

// admitted returns the candidates that e admits, as a set without bit 0.
func (s *session) admitted(l *list, e *edge) set {
	in := make(set, wordsFor(l.size()))
	s.allowed(l, e, in)
	return in
}

// allowed adds the candidates that e admits to in.
func (s *session) allowed(l *list, e *edge, in set) {
	lock := s.locked[l.name]
	holds := func(i int) bool { return i == l.locked && lock != nil }
	var r *versionRange
	byRange := e.Ref == "" && e.Exact == ""
	if byRange || e.Exact != "" && !isAny(e.Range) {
		r = s.parsed(e.Range)
	}
	for i := range l.cands {
		c := &l.cands[i]
		if !slices.Contains(e.Sources, c.Source) && !(e.OrLocked && holds(i)) {
			continue
		}
		var ok bool
		switch {
		case l.needsConsent(i):
			ok = true // known after consent; S6 has it decided then
		case e.Ref != "":
			ok = holds(i) && (lock.isAt(c.Source, e.Ref) || slices.Contains(lock.Refs, e.Ref)) || s.isAt(l, i, e.Sources, e.Ref)
		case e.Exact != "" && isAny(e.Range):
			ok = holds(i) && lock.isAt(c.Source, e.Exact) || s.isAt(l, i, e.Sources, e.Exact)
		case e.Exact != "":
			ok = false // a range on an untagged sibling: no_versions
		case r.any:
			ok = r.allows(c.Version) || c.Local && len(e.Sources) == 1
		default:
			ok = r.allows(c.Version)
		}
		if ok {
			in.add(i + 1)
		}
	}
	if e.OrRoot && byRange && isAny(e.Range) {
		if root := s.rootEdge[l.name]; root != nil && root != e {
			s.allowed(l, root, in)
		}
	}
}

// isAt says whether the entry is what source has at a full commit: a
// pseudo-version, since a commit, named as such, never gives another version.
func (l *Locked) isAt(source, commit string) bool {
	return l != nil && l.Source == source && l.Commit == commit && l.Version.IsPseudo()
}

func (s *session) isAt(l *list, i int, sources []string, ref string) bool {
	for _, source := range sources {
		if at, ok := l.at[place{source, ref}]; ok && at == i {
			return true
		}
	}
	return false
}
