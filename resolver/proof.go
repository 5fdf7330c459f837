package resolver

import (
	"fmt"
	"slices"
)

// maxProofLines bounds a report; nobody reads the 25th step of a proof, and a
// pigeonhole has thousands.
const maxProofLines = 24

// prover shortens a failed search's derivation to the facts that matter and
// writes it down.
type prover struct {
	*search
	facts []*incompat
	lines []string
	next  int // last line number given
	// steps are the derivations in the proof, told those that lines speak of.
	steps, told int
	full        bool // no further line fits
}

// Limits of shortening: each try is a search over the facts alone.
const (
	maxFactsToShorten = 400
	maxConflictsToTry = 2_000 // in all tries together
)

// newProver takes the facts that the failed search used and drops each that is
// not needed. The order is the search's, so the result is the same in every run.
func newProver(failed *search) *prover {
	p := &prover{search: failed}
	p.facts = leaves(failed.failure)
	if len(p.facts) > maxFactsToShorten {
		return p
	}
	effort := maxConflictsToTry
	for i := len(p.facts) - 1; i >= 0 && effort > 0 && p.stopped() == nil; i-- {
		fewer := slices.Delete(slices.Clone(p.facts), i, i+1)
		if refuted(failed, fewer, &effort) != nil {
			p.facts = fewer
		}
	}
	if proof := refuted(failed, p.facts, &effort); proof != nil {
		failed.failure = proof
	}
	return p
}

// leaves returns the facts below c, in the order in which they were combined.
func leaves(c *incompat) []*incompat {
	seen := map[*incompat]bool{}
	var list []*incompat
	stack := []*incompat{c}
	for len(stack) > 0 {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[c] {
			continue
		}
		seen[c] = true
		if c.kind != kindDerived {
			list = append(list, c)
			continue
		}
		stack = append(stack, c.right, c.left)
	}
	return list
}

// refuted searches for any assignment that violates none of facts and returns
// the empty incompatibility if there is none, else nil; also nil when effort, a
// number of conflicts, is used up. The root's requirements are taken as given
// before anything else, so a proof comes to speak of them last.
func refuted(of *search, facts []*incompat, effort *int) *incompat {
	s := &search{session: of.session, factsOnly: true}
	names := map[*pkg]*pkg{}
	for _, p := range of.order {
		names[p] = &pkg{name: p.name, list: p.list, all: p.all, dom: p.all, decided: -1, last: -1}
	}
	for _, f := range facts {
		for _, t := range f.terms {
			q := names[t.pkg]
			if len(q.incs) == 0 {
				s.order = append(s.order, q)
			}
			q.incs = append(q.incs, f)
		}
	}
	restore := rebind(facts, names)
	defer restore()
	for _, q := range s.order {
		s.enqueue(q)
	}
	for _, f := range facts {
		if f.kind == kindRequires && f.parent == nil {
			if s.examine(f) {
				return f
			}
		}
	}
	for ; *effort > 0 && of.stopped() == nil; *effort-- {
		conflict := s.propagate()
		if conflict == nil {
			if !s.decideAny() {
				return nil
			}
			continue
		}
		if !s.learn(conflict) {
			return s.failure
		}
	}
	return nil
}

// rebind points the facts' terms at another search's names until restored.
func rebind(facts []*incompat, names map[*pkg]*pkg) (restore func()) {
	back := make(map[*pkg]*pkg, len(names))
	for p, q := range names {
		back[q] = p
	}
	move := func(to map[*pkg]*pkg) {
		for _, f := range facts {
			for i := range f.terms {
				f.terms[i].pkg = to[f.terms[i].pkg]
			}
		}
	}
	move(names)
	return func() { move(back) }
}

// decideAny gives the first open name its first value.
func (s *search) decideAny() bool {
	for _, p := range s.order {
		b := p.dom.first(0)
		if p.dom.first(b+1) < 0 {
			continue
		}
		s.marks = append(s.marks, mark{trail: len(s.trail)})
		only := s.store(p.dom, p.dom)
		only.add(b)
		s.assign(p, nil, only)
		s.enqueue(p)
		return true
	}
	return false
}

// write fills lines with the derivation of the failure.
func (p *prover) write() []string {
	root := p.failure
	if root.kind != kindDerived {
		return sentence("Because ", p.fact(root), "", "resolution failed")
	}
	p.count(root)
	p.visit(root, false)
	if p.full {
		p.lines = append(p.lines, fmt.Sprintf("… and %d more steps; the paths below name those at fault.", p.steps-p.told))
	}
	return p.lines
}

// count notes how often each derivation is used: those used twice get a number.
func (p *prover) count(c *incompat) {
	if c.kind != kindDerived {
		return
	}
	c.uses++
	if c.uses > 1 {
		return
	}
	p.steps++
	p.count(c.left)
	p.count(c.right)
}

// visit writes the lines that end in c, causes first. The rules are those of
// pub's solver: a line combines two things already said or known.
func (p *prover) visit(c *incompat, number bool) {
	if p.full {
		return // a pigeonhole's proof has thousands of lines
	}
	number = number || c.uses > 1
	left, right := c.left, c.right
	switch {
	case left.kind == kindDerived && right.kind == kindDerived:
		p.bothDerived(c, left, right, number)
	case left.kind == kindDerived || right.kind == kindDerived:
		known, fact := left, right
		if left.kind != kindDerived {
			known, fact = right, left
		}
		p.oneDerived(c, known, fact, number)
	default:
		if before(right, left) {
			left, right = right, left
		}
		p.conclude(c, number, "Because ", p.fact(left), p.fact(right))
	}
}

// before orders two facts as one tells them: the root's first, then a
// requirement before what its target requires, then by name.
func before(a, b *incompat) bool {
	if a.kind != kindRequires || b.kind != kindRequires {
		return a.kind == kindRequires && a.parent == nil
	}
	switch {
	case a.parent == nil || b.parent == nil:
		return a.parent == nil && b.parent != nil
	case (a.target.name == b.parent.name) != (b.target.name == a.parent.name):
		return a.target.name == b.parent.name
	}
	return a.parent.name < b.parent.name
}

func (p *prover) bothDerived(c, left, right *incompat, number bool) {
	switch {
	case left.line > 0 && right.line > 0:
		p.conclude(c, number, "Because ", p.numbered(left), p.numbered(right))
	case left.line > 0 || right.line > 0:
		known, other := left, right
		if right.line > 0 {
			known, other = right, left
		}
		p.visit(other, false)
		p.conclude(c, number, "And because ", p.numbered(known), "")
	case single(left) || single(right):
		first, second := left, right
		if single(left) {
			first, second = right, left
		}
		p.visit(first, false)
		p.visit(second, false)
		p.conclude(c, number, "Thus, ", "", "")
	default:
		p.visit(left, true)
		p.visit(right, false)
		p.conclude(c, number, "And because ", p.numbered(left), "")
	}
}

func (p *prover) oneDerived(c, known, fact *incompat, number bool) {
	switch {
	case known.line > 0:
		p.conclude(c, number, "Because ", p.fact(fact), p.numbered(known))
	case p.collapsible(known):
		inner, first := known.left, known.right
		if inner.kind != kindDerived {
			inner, first = first, inner
		}
		p.visit(inner, false)
		a, b := p.both(inner, first, known, fact)
		p.conclude(c, number, "And because ", a, b)
		if !p.full {
			p.told++ // known, within the same line
		}
	default:
		p.visit(known, false)
		p.conclude(c, number, "And because ", p.factGiven(fact, known), "")
	}
}

// single says whether c combines two facts, so that one line is enough for it.
func single(c *incompat) bool {
	return c.left.kind != kindDerived && c.right.kind != kindDerived && c.uses < 2
}

// collapsible says whether c's own line may be left out: it is used once and
// adds one fact to what the line before it says.
func (p *prover) collapsible(c *incompat) bool {
	if c.uses > 1 || (c.left.kind == kindDerived) == (c.right.kind == kindDerived) {
		return false
	}
	inner := c.left
	if inner.kind != kindDerived {
		inner = c.right
	}
	return inner.line == 0
}

func (p *prover) conclude(c *incompat, number bool, opening, first, second string) {
	line := sentence(opening, first, second, p.conclusion(c))
	if p.full = p.full || len(p.lines)+len(line) > maxProofLines; p.full {
		return
	}
	p.told++
	if number {
		p.next++
		c.line = p.next
		line[len(line)-1] += fmt.Sprintf(" (%d)", c.line)
	}
	p.lines = append(p.lines, line...)
}

func (p *prover) numbered(c *incompat) string {
	return fmt.Sprintf("%s (%d)", p.conclusion(c), c.line)
}
