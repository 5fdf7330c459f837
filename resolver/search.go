package resolver

import (
	"container/heap"
	"errors"
	"slices"

	"github.com/skillpm/skillpm/skill"
)

// The outcomes of a search that are no answers.
var (
	errNeed       = errors.New("facts are missing")
	errRestart    = errors.New("a name got another source")
	errBudget     = errors.New("the budget is spent")
	errConsent    = errors.New("a repository needs consent")
	errUnsolvable = errors.New("no combination of versions works")
)

// config is what one search is to find.
type config struct {
	fixed   map[skill.Key]bool      // names that have only their locked candidate
	force   map[skill.Key]Candidate // names that have only this candidate
	relaxed bool                    // broken digest pins are ignored (S10)
}

// pkg is a name within a search.
type pkg struct {
	name skill.Key
	list *list
	all  set // the whole domain
	dom  set // what is left of it
	incs []*incompat
	// queued says that it stands in the queue already.
	queued bool
	last   int // position in the trail of its latest step, -1 for none
	// depth is the distance from the root over decided skills, 0 if not reached.
	depth    int
	decided  int         // index of the decided candidate, -1
	compiled []*compiled // by candidate, nil where none was about to be decided
	groups   map[edgeKey]*group
	into     []link // edges of decided skills to here, in the order of deciding
}

// compiled is what a candidate requires.
type compiled struct {
	edges []*edge  // all, also those that constrain nothing
	deps  []*group // those that constrain
}

// deps returns what candidate i requires, as far as it was looked at.
func (p *pkg) deps(i int) []*group {
	if i >= len(p.compiled) || p.compiled[i] == nil {
		return nil
	}
	return p.compiled[i].deps
}

// group are the incompatibilities of equal edges of one name's candidates.
type group struct {
	edge   *edge
	target *pkg
	allows set // of target, without bit 0
	inc    *incompat
	pin    *incompat // nil until a digest differs
	broken int8      // of the pin: 0 unknown, 1 broken, -1 whole
}

type link struct {
	parent *pkg // nil for the root
	cand   int
	group  *group
}

// step is an assignment: dom is the domain after it. cause is nil for a decision.
type step struct {
	pkg   *pkg
	cause *incompat
	level int
	prev  int // position of the step before on the same name, -1 for none
	dom   set
}

// mark is the state to return to when a level's decision is undone.
type mark struct{ trail, links, reached int }

// search is one run of the algorithm of docs/resolution.md.
type search struct {
	*session
	cfg     config
	pkgs    map[skill.Key]*pkg
	order   []*pkg // in order of creation
	trail   []step
	arena   []uint64
	marks   []mark // one a level
	links   []*pkg
	reached []*pkg
	queue   []*pkg // names whose domain or facts changed
	head    int    // of queue: those before it are done
	heap    frontier
	roots   []*group
	failure *incompat // the empty incompatibility, if the search failed
	pinMiss bool      // some digest pin took a candidate away
	// factsOnly is set while a proof is shortened: nothing is asked or reached.
	factsOnly bool
}

// frontier are reached names, next to decide first. It may hold stale entries.
type frontier []entry

type entry struct {
	depth int
	pkg   *pkg
}

func (f frontier) Len() int { return len(f) }
func (f frontier) Less(i, j int) bool {
	if f[i].depth != f[j].depth {
		return f[i].depth < f[j].depth
	}
	return f[i].pkg.name < f[j].pkg.name
}
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)   { *f = append(*f, x.(entry)) }
func (f *frontier) Pop() any {
	old := *f
	e := old[len(old)-1]
	*f = old[:len(old)-1]
	return e
}

func (s *session) newSearch(cfg config) *search {
	n := len(s.places) // names known so far, mostly all
	return &search{
		session: s, cfg: cfg, pkgs: make(map[skill.Key]*pkg, n), order: make([]*pkg, 0, n), roots: make([]*group, 0, len(s.root)),
		trail: make([]step, 0, 2*n), marks: make([]mark, 0, n), links: make([]*pkg, 0, 2*n), reached: make([]*pkg, 0, n),
		queue: make([]*pkg, 0, 2*n), heap: make(frontier, 0, n),
	}
}

// run searches until every reached name is decided (nil), or returns errNeed,
// errRestart, errBudget, errUnsolvable, errConsent or the context's error.
func (s *search) run() error {
	if err := s.addRoot(); err != nil {
		return err
	}
	for {
		for {
			conflict := s.propagate()
			if conflict == nil {
				break
			}
			if !s.learn(conflict) {
				return errUnsolvable
			}
			if err := s.countConflict(); err != nil {
				return err
			}
		}
		p := s.next()
		if p == nil {
			return nil
		}
		if err := s.decide(p); err != nil {
			return err
		}
	}
}

// countConflict counts a conflict against the budget.
func (s *session) countConflict() error {
	s.conflicts++
	limit := s.in.Conflicts
	if limit == 0 {
		limit = DefaultConflicts
	}
	if s.conflicts >= limit {
		return errBudget
	}
	return s.pulse()
}

// pulse looks at the clock and the context. It is called at every conflict and
// every decision: what lies between two takes much longer than to look, and, with
// thousands of incompatibilities learnt, milliseconds.
func (s *session) pulse() error {
	if s.in.Expired != nil && s.in.Expired() {
		return errBudget
	}
	return s.stopped()
}

// packageOf returns the pkg of name, nil if its list is not loaded.
func (s *search) packageOf(name skill.Key) *pkg {
	if p := s.pkgs[name]; p != nil {
		return p
	}
	var l *list
	if s.cfg.fixed[name] {
		l = s.fixedList(name)
	} else if l = s.listOf(name); l == nil {
		return nil
	}
	p := newPkg(name, l)
	s.pkgs[name] = p
	s.order = append(s.order, p)
	s.take(p, kindRetracted, l.retracted)
	s.take(p, kindHidden, l.hidden)
	s.take(p, kindOffline, l.offline)
	if c, ok := s.cfg.force[name]; ok {
		other := p.all.clone()
		other[0] &^= 1
		if i := slices.IndexFunc(l.cands, func(d Candidate) bool { return sameCandidate(&c, &d) }); i >= 0 {
			other[(i+1)>>6] &^= 1 << ((i + 1) & 63)
		}
		s.take(p, kindForced, other)
	}
	return p
}

// newPkg makes the pkg of name in one piece with room for what most names need.
func newPkg(name skill.Key, l *list) *pkg {
	block := new(struct {
		pkg  pkg
		incs [8]*incompat
		into [4]link
	})
	p := &block.pkg
	*p = pkg{name: name, list: l, decided: -1, last: -1, all: full(l.size()), incs: block.incs[:0], into: block.into[:0]}
	p.dom = p.all
	return p
}

// take adds the fact that the candidates in gone cannot be used.
func (s *search) take(p *pkg, k kind, gone set) *incompat {
	if gone == nil {
		return nil
	}
	c := &incompat{kind: k, target: p, terms: []term{{p, gone}}}
	s.add(c)
	return c
}

func (s *search) add(c *incompat) {
	for _, t := range c.terms {
		t.pkg.incs = append(t.pkg.incs, c)
	}
	s.enqueue(c.terms[0].pkg)
}

func (s *search) enqueue(p *pkg) {
	if !p.queued {
		p.queued = true
		s.queue = append(s.queue, p)
	}
}

// propagate draws all conclusions and returns the incompatibility that is
// violated, or nil.
func (s *search) propagate() *incompat {
	for s.head < len(s.queue) {
		p := s.queue[s.head]
		s.head++
		p.queued = false
		for i := len(p.incs) - 1; i >= 0; i-- {
			if c := p.incs[i]; s.examine(c) {
				// What is still queued stays so: a fact without condition must be
				// drawn again after going back.
				s.enqueue(p)
				return c
			}
		}
	}
	s.queue, s.head = s.queue[:0], 0
	return nil
}

// examine reports whether all terms of c hold. If all but one do, it narrows
// that one.
func (s *search) examine(c *incompat) bool {
	open := -1
	for i := range c.terms {
		t := &c.terms[i]
		if t.pkg.dom.within(t.in) {
			continue
		}
		if open >= 0 || !t.pkg.dom.meets(t.in) {
			return false
		}
		open = i
	}
	if open < 0 {
		return true
	}
	t := c.terms[open]
	s.assign(t.pkg, c, s.store(t.pkg.dom, t.in))
	s.enqueue(t.pkg)
	return false
}

// store puts a without b into the arena.
func (s *search) store(a, b set) set {
	start := len(s.arena)
	if cap(s.arena)-start < len(a) {
		// Steps keep the old block alive; nothing is copied.
		s.arena, start = make([]uint64, 0, max(4096, 2*cap(s.arena), len(a))), 0
	}
	s.arena = s.arena[:start+len(a)]
	r := set(s.arena[start : start+len(a) : start+len(a)])
	for i := range a {
		r[i] = a[i] &^ b[i]
	}
	return r
}

func (s *search) assign(p *pkg, cause *incompat, dom set) {
	s.trail = append(s.trail, step{p, cause, len(s.marks), p.last, dom})
	p.last = len(s.trail) - 1
	p.dom = dom
}

// satisfier returns the position of the first step after which t holds, or -1 if
// it always did.
func (s *search) satisfier(t term) int {
	if t.pkg.all.within(t.in) {
		return -1
	}
	at := t.pkg.last
	for prev := s.trail[at].prev; prev >= 0 && s.trail[prev].dom.within(t.in); prev = s.trail[at].prev {
		at = prev
	}
	return at
}

// learn resolves conflict with the causes of its latest steps until it says
// something about an earlier level, goes back there and draws the conclusion. It
// returns false if the conflict holds without any decision: no solution.
func (s *search) learn(conflict *incompat) bool {
	c := conflict
	if !s.factsOnly {
		for _, t := range c.terms {
			s.blame[t.pkg.name]++
		}
	}
	for {
		latest, level := -1, 0
		for _, t := range c.terms {
			pos := s.satisfier(t)
			if pos > latest {
				if latest >= 0 {
					level = max(level, s.trail[latest].level)
				}
				latest = pos
			} else if pos >= 0 {
				level = max(level, s.trail[pos].level)
			}
		}
		if latest < 0 {
			s.failure = c
			return false
		}
		e := s.trail[latest]
		if e.level > level {
			s.backTo(level)
			if c != conflict {
				s.add(c)
			}
			s.enqueue(e.pkg)
			s.examine(c)
			return true
		}
		c = resolve(c, e.cause, e.pkg)
	}
}

// backTo undoes all levels above level. Facts without a condition stay.
func (s *search) backTo(level int) {
	m := s.marks[level]
	for i := len(s.trail) - 1; i >= m.trail; i-- {
		e := &s.trail[i]
		p := e.pkg
		p.last, p.dom = e.prev, p.all
		if e.prev >= 0 {
			p.dom = s.trail[e.prev].dom
		}
		if e.cause == nil && !s.factsOnly {
			p.decided = -1
			heap.Push(&s.heap, entry{p.depth, p})
		} else if e.cause != nil && len(e.cause.terms) == 1 {
			s.enqueue(p)
		}
	}
	s.trail = s.trail[:m.trail]
	for i := len(s.links) - 1; i >= m.links; i-- {
		p := s.links[i]
		p.into = p.into[:len(p.into)-1]
	}
	s.links = s.links[:m.links]
	for i := len(s.reached) - 1; i >= m.reached; i-- {
		s.reached[i].depth = 0
	}
	s.reached = s.reached[:m.reached]
	s.marks = s.marks[:level]
}

// next returns the reached, undecided name that is first in the order (depth,
// name), or nil.
func (s *search) next() *pkg {
	for len(s.heap) > 0 {
		e := heap.Pop(&s.heap).(entry)
		if e.pkg.decided < 0 && e.pkg.depth == e.depth {
			return e.pkg
		}
	}
	return nil
}
