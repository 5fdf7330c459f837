package resolver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Solve returns the one answer of in over u. The error is a *Need (load and call
// again), a *NeedConsent, a *Failure, or ctx.Err(). Never is there a partial
// answer.
func Solve(ctx context.Context, in Input, u Universe) (*Solution, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := newSession(ctx.Err, in, u)
	if in.Frozen {
		return s.frozen()
	}
	strict, err := s.answer(false)
	if err != nil && !errors.Is(err, errUnsolvable) {
		return nil, s.outcome(err)
	}
	solved := err == nil
	if s.pinMissed {
		// S10: what would the answer be if broken pins were whole?
		failed := s.failed
		relaxed, err := s.answer(true)
		switch {
		case err == nil && (!solved || !relaxed.same(strict)):
			return nil, s.digestMismatch(relaxed)
		case err != nil && !errors.Is(err, errUnsolvable):
			return nil, s.outcome(err)
		case solved:
			s.failed = failed
		}
	}
	if !solved {
		f := s.unsolvable()
		if err := ctx.Err(); err != nil {
			return nil, err // the report was cut short
		}
		return nil, f
	}
	if f := s.refusals(strict); f != nil {
		return nil, f
	}
	if err := s.cycle(strict); err != nil {
		return nil, err
	}
	return s.solution(strict), nil
}

// answer runs the searches of S7, and those of Input.Prefer before them.
func (s *session) answer(relaxed bool) (*answer, error) {
	fixed := map[skill.Key]bool{}
	for name, held := range s.held {
		if held {
			fixed[name] = true
		}
	}
	if len(s.in.Prefer) > 0 {
		if r, err := s.preferNewest(fixed, relaxed); r != nil || err != nil {
			return r, err
		}
	}
	if len(fixed) > 0 {
		r, err := s.attempt(config{fixed: fixed, relaxed: relaxed})
		if !errors.Is(err, errUnsolvable) {
			return r, err
		}
	}
	return s.attempt(config{relaxed: relaxed})
}

// attempt searches with cfg, again from the start whenever a name turns out to
// have a further source. Every restart adds a source, so they end.
func (s *session) attempt(cfg config) (*answer, error) {
	for {
		se := s.newSearch(cfg)
		err := se.run()
		if errors.Is(err, errRestart) {
			if err := s.pulse(); err != nil {
				return nil, err
			}
			continue
		}
		s.pinMissed = s.pinMissed || se.pinMiss
		s.last = se
		switch {
		case errors.Is(err, errUnsolvable):
			s.failed = se
			return nil, err
		case err != nil:
			return nil, err
		}
		return se.answer(), nil
	}
}

// outcome turns a search's error into what Solve returns.
func (s *session) outcome(err error) error {
	switch {
	case errors.Is(err, errNeed):
		s.prefetch()
		return s.need.tidy()
	case errors.Is(err, errBudget):
		return s.budgetExceeded()
	case errors.Is(err, errConsent):
		return s.needConsent()
	}
	return err
}

// answer is what a search found.
type answer struct {
	chosen []decided
	index  map[skill.Key]int
	from   *search // nil for a frozen one
	graph  *Graph  // made when first needed
}

type decided struct {
	cand  Candidate
	depth int
	edges []*edge // all, also those that constrain nothing
	plain []Edge  // the same, for callers; made when first needed
	kept  bool
}

func (d *decided) plainEdges() []Edge {
	if d.plain == nil {
		d.plain = make([]Edge, len(d.edges))
		for i, e := range d.edges {
			d.plain[i] = e.Edge
		}
	}
	return d.plain
}

func (s *search) answer() *answer {
	n := len(s.marks) // a level a decision
	r := &answer{chosen: make([]decided, 0, n), index: make(map[skill.Key]int, n), from: s}
	for i := range s.trail {
		if s.trail[i].cause != nil {
			continue
		}
		p := s.trail[i].pkg
		r.index[p.name] = len(r.chosen)
		r.chosen = append(r.chosen, decided{
			cand: p.list.cands[p.decided], depth: p.depth, edges: p.compiled[p.decided].edges, kept: p.decided == p.list.locked,
		})
	}
	return r
}

// same says whether both chose the same candidates.
func (r *answer) same(o *answer) bool {
	return o != nil && slices.EqualFunc(r.chosen, o.chosen, func(a, b decided) bool {
		return a.cand.Name == b.cand.Name && sameCandidate(&a.cand, &b.cand)
	})
}

// needConsent lists what the last search found to need consent.
func (s *session) needConsent() error {
	n := &NeedConsent{}
	for _, p := range s.last.order {
		for i, repository := range p.list.blocked {
			if repository == "" || len(p.into) == 0 {
				continue
			}
			n.List = append(n.List, Unapproved{
				Repository: repository, Source: p.list.cands[i].Source, Name: p.name, By: s.last.pathTo(p, p.into[0]),
			})
		}
	}
	slices.SortFunc(n.List, func(a, b Unapproved) int {
		if c := strings.Compare(a.Repository, b.Repository); c != 0 {
			return c
		}
		if c := compareNames(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Source, b.Source)
	})
	n.List = slices.CompactFunc(n.List, func(a, b Unapproved) bool { return a.Name == b.Name && a.Source == b.Source })
	return n
}

// pathTo returns how the root comes to want p through in, over decided skills.
func (s *search) pathTo(p *pkg, in link) Path {
	path := Path{{Name: string(p.name)}}
	for {
		step := Step{Requires: in.group.edge.text(), Chain: in.group.edge.Chain}
		if in.parent == nil {
			step.Name = s.project()
			path = append(path, step)
			break
		}
		c := in.parent.list.cands[in.cand]
		step.Name, step.Version, step.Source = string(c.Name), c.Version.String(), c.Source
		path = append(path, step)
		in = in.parent.into[0]
	}
	slices.Reverse(path)
	return path
}

func (s *session) project() string {
	if s.in.Project == "" {
		return "project"
	}
	return s.in.Project
}

// preferNewest tries to bring Input.Prefer to their newest versions: with
// everything else held, then with other transitive entries free. It returns nil
// and no error if neither works, so that an older one has to do.
func (s *session) preferNewest(fixed map[skill.Key]bool, relaxed bool) (*answer, error) {
	force := map[skill.Key]Candidate{}
	var missing error
	for _, name := range s.in.Prefer {
		c, ok, err := s.newest(name)
		switch {
		case err != nil:
			missing = err // ask for the others in the same round
		case ok:
			force[name] = c
		}
	}
	if missing != nil {
		return nil, missing
	}
	direct := map[skill.Key]bool{}
	for name := range fixed {
		if s.rootEdge[name] != nil {
			direct[name] = true
		}
	}
	try := func(force map[skill.Key]Candidate) (*answer, error) {
		for _, hold := range []map[skill.Key]bool{fixed, direct} {
			r, err := s.attempt(config{fixed: hold, force: force, relaxed: relaxed})
			if !errors.Is(err, errUnsolvable) {
				return r, err
			}
		}
		return nil, nil
	}
	if len(force) == 0 {
		return nil, nil
	}
	if r, err := try(force); r != nil || err != nil || len(force) == 1 {
		return r, err
	}
	return asMany(force, try)
}

// asMany forces as many candidates as go together, by name, and returns the
// answer with them, nil if none goes.
func asMany(force map[skill.Key]Candidate, try func(map[skill.Key]Candidate) (*answer, error)) (*answer, error) {
	together := map[skill.Key]Candidate{}
	var best *answer
	for _, name := range slices.Sorted(maps.Keys(force)) {
		together[name] = force[name]
		r, err := try(maps.Clone(together))
		switch {
		case err != nil:
			return nil, err
		case r != nil:
			best = r
		default:
			delete(together, name)
		}
	}
	return best, nil
}

// newest returns the candidate that S6 would try first for name if nothing but
// the root's own requirement mattered. ok is false for names that are not the
// root's, pins, refs and path skills: there is nothing to prefer.
func (s *session) newest(name skill.Key) (c Candidate, ok bool, err error) {
	e := s.rootEdge[name]
	if e == nil || e.Digest != "" || e.Ref != "" || !s.constrains(e, "") {
		return Candidate{}, false, nil
	}
	l := s.listOf(name)
	if l == nil {
		return Candidate{}, false, errNeed
	}
	in := s.admitted(l, e)
	if l.local >= 0 && in.has(l.local+1) {
		return Candidate{}, false, nil
	}
	for b := in.first(1); b > 0; b = in.first(b + 1) {
		c := l.cands[b-1]
		if l.unusable(b - 1) {
			continue
		}
		if l.needsConsent(b - 1) {
			return Candidate{}, false, nil
		}
		_, unreadable, offline, loaded := s.requirementsOf(&c)
		if !loaded {
			return Candidate{}, false, errNeed
		}
		if unreadable == "" && !offline {
			return c, true, nil
		}
	}
	return Candidate{}, false, nil
}
