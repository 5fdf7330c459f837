package resolver

import (
	"fmt"
	"slices"
	"strings"
)

// sentence joins what is known and what follows, in one or two lines.
func sentence(opening, first, second, conclusion string) []string {
	switch {
	case first == "" && second == "":
		return []string{opening + conclusion + "."}
	case second == "":
		return []string{opening + first + ", " + conclusion + "."}
	}
	if one := opening + first + " and " + second + ", " + conclusion + "."; len(one) <= 100 {
		return []string{one}
	}
	return []string{opening + first, "  and " + second + ", " + conclusion + "."}
}

// fact says in words what is known of itself.
func (p *prover) fact(c *incompat) string {
	switch c.kind {
	case kindRequires:
		return p.requirement(c)
	case kindPin:
		return p.pin(c)
	case kindRetracted:
		return p.gone(c, "retracted", func(x Candidate) string { return x.RetractedReason })
	case kindHidden:
		return p.gone(c, "not to be used yet", func(x Candidate) string { return x.Hidden })
	case kindOffline:
		return p.gone(c, "not at hand offline", func(Candidate) string { return "" })
	case kindUnreadable:
		return p.gone(c, "unreadable", func(x Candidate) string {
			_, why, _, _ := p.requirementsOf(&x)
			return why
		})
	}
	return p.conclusion(c)
}

// requirement says an edge: who requires what, and that nothing satisfies it
// where nothing does.
func (p *prover) requirement(c *incompat) string {
	e := c.edge
	var b strings.Builder
	switch {
	case e.overridden:
		if c.parent != nil {
			fmt.Fprintf(&b, "%s requires %s, which [overrides] sets to%s", p.parentText(c), e.Name, orAny(e.demand()))
		} else {
			fmt.Fprintf(&b, "[overrides] sets %s to%s", e.Name, orAny(e.demand()))
		}
	case c.parent == nil:
		fmt.Fprintf(&b, "your project requires %s%s", e.Name, e.demand())
	default:
		verb := "requires"
		if e.Chain {
			verb = "chains"
		}
		fmt.Fprintf(&b, "%s %s %s%s", p.parentText(c), verb, e.Name, e.demand())
	}
	if p.bySource(e) {
		b.WriteString(" from " + sourceText(e))
	}
	if c.allows().empty() {
		b.WriteString(", which " + p.nothing(c))
	}
	return b.String()
}

func orAny(demand string) string {
	if demand == "" {
		return " *"
	}
	return demand
}

func sourceText(e *edge) string {
	if len(e.Sources) == 0 {
		return "nowhere"
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(e.Sources), func(s string) bool { return s == "" }), " or ")
}

// bySource says whether the name of e is wanted from several sources in this
// proof, so that each has to be told.
func (p *prover) bySource(e *edge) bool {
	for _, f := range p.facts {
		if f.kind == kindRequires && f.edge.Name == e.Name && f.edge.key.sources != e.key.sources {
			return true
		}
	}
	return false
}

// allows returns the set of the target that an edge admits.
func (c *incompat) allows() set {
	t := c.terms[len(c.terms)-1]
	return c.target.all.without(t.in)
}

func (s set) clip(t set) set {
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

func (p *prover) parentText(c *incompat) string {
	return c.parent.describe(c.terms[0].in, true)
}

// nothing says why no candidate satisfies an edge: "which …".
func (p *prover) nothing(c *incompat) string {
	l, e := c.target.list, c.edge
	switch p.emptyReason(c) {
	case NotFound:
		if e.Missing != "" {
			return "was not found: " + e.Missing
		}
		if l.notFound != "" {
			return "was not found: " + l.notFound
		}
		return "was not found"
	case NoVersions:
		return "has no version tags"
	case Offline:
		return "is not at hand offline"
	case OnlyPrereleases:
		return "only pre-releases satisfy (there are " + listed(l) + ")"
	case NameSourceConflict:
		return "is a source that nothing else here uses"
	}
	if here := p.from(l, e); here != "" {
		return "no version satisfies (there are " + here + ")"
	}
	return "no version satisfies"
}

// from enumerates the versions that e's sources have.
func (p *prover) from(l *list, e *edge) string {
	part := &list{}
	for i, c := range l.cands {
		if slices.Contains(e.Sources, c.Source) || e.OrLocked && i == l.locked {
			part.cands = append(part.cands, c)
			part.blocked = append(part.blocked, l.repository(i))
		}
	}
	return listed(part)
}

func (p *prover) pin(c *incompat) string {
	who := "your project"
	if c.parent != nil {
		who = p.parentText(c)
	}
	in := c.terms[len(c.terms)-1].in
	differs := "has another content"
	if c.offlinePin {
		differs = "cannot be compared offline"
	}
	return fmt.Sprintf("%s pins %s to %s and %s %s", who, c.target.name, c.edge.Digest.Short(), c.target.describe(in, false), differs)
}

// gone says that candidates cannot be used, and why if one reason covers them.
func (p *prover) gone(c *incompat, how string, why func(Candidate) string) string {
	l := c.target.list
	var versions, reasons []string
	for i, x := range l.cands {
		if c.terms[0].in.has(i + 1) {
			versions = append(versions, versionText(x))
			if r := why(x); r != "" && !slices.Contains(reasons, r) {
				reasons = append(reasons, r)
			}
		}
	}
	verb := "is"
	if len(versions) > 1 {
		verb = "are"
	}
	if len(versions) > 4 {
		versions = append(versions[:3:3], fmt.Sprintf("%d more", len(versions)-3))
	}
	text := fmt.Sprintf("%s %s %s %s", c.target.name, and(versions), verb, how)
	if len(reasons) > 0 && len(reasons) <= 2 {
		text += " (" + strings.Join(reasons, "; ") + ")"
	}
	return text
}

// conclusion says what was derived.
func (p *prover) conclusion(c *incompat) string {
	var here, absent []term // names in the solution; names whose lack is excluded
	for _, t := range c.terms {
		if t.in.has(0) {
			absent = append(absent, t)
		} else {
			here = append(here, t)
		}
	}
	switch {
	case len(c.terms) == 0:
		return "resolution failed"
	case len(absent) == 0 && len(here) == 1:
		return here[0].pkg.describe(here[0].in, false) + " cannot be used"
	case len(absent) == 0:
		return and(describeAll(here)) + " cannot be used together"
	}
	needed := make([]string, len(absent))
	for i, t := range absent {
		rest := t.pkg.all.without(t.in)
		if rest.empty() {
			needed[i] = "an impossible " + string(t.pkg.name)
		} else {
			needed[i] = t.pkg.describe(rest, false)
		}
	}
	if len(here) == 0 {
		return strings.Join(needed, " or ") + " is required"
	}
	if len(here) == 1 {
		return here[0].pkg.describe(here[0].in, false) + " requires " + strings.Join(needed, " or ")
	}
	return and(describeAll(here)) + " together require " + strings.Join(needed, " or ")
}

func describeAll(terms []term) []string {
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.pkg.describe(t.in, false)
	}
	slices.Sort(words)
	return words
}

// factGiven says a fact after known was concluded. That the root requires a name
// is said with how few versions come into question, if it matters.
func (p *prover) factGiven(fact, known *incompat) string {
	if only := p.only(fact, known); only != "" {
		return only + " and your project requires it"
	}
	return p.fact(fact)
}

// both says two facts in a row, the first of which led from inner to known.
func (p *prover) both(inner, first, known, second *incompat) (string, string) {
	a, b := p.only(first, inner), p.only(second, known)
	if !rootFact(first) || !rootFact(second) || a == "" && first.edge.demand() != "" || b == "" && second.edge.demand() != "" {
		return p.factGiven(first, inner), p.factGiven(second, known)
	}
	const available = " is available"
	x, okA := strings.CutSuffix(a, available)
	y, okB := strings.CutSuffix(b, available)
	switch {
	case okA && okB:
		return x + " and " + strings.TrimPrefix(y, "only ") + " are available and your project requires both", ""
	case a == "" && b == "":
		return "your project requires both", ""
	case a == "" || b == "":
		return a + b + " and your project requires both", ""
	}
	return a + " and " + b + " and your project requires both", ""
}

func rootFact(c *incompat) bool {
	return c.kind == kindRequires && c.parent == nil && !c.edge.overridden && !c.allows().empty()
}

// only returns "only review 1.2.0 is available" or "only review 1.2.0 satisfies
// ^1.0" if fact is the root's requirement on a name of which known speaks in
// particular versions, else "".
func (p *prover) only(fact, known *incompat) string {
	if !rootFact(fact) {
		return ""
	}
	var t *term
	for i := range known.terms {
		if known.terms[i].pkg.name == fact.target.name {
			t = &known.terms[i]
		}
	}
	if t == nil {
		return ""
	}
	q := t.pkg
	allowed := fact.allows()
	demand := fact.edge.demand()
	switch {
	case q.real() == 1 && demand == "":
		return "only " + q.describe(allowed, false) + " is available"
	case q.which(t.in) == "" && demand == "":
		return ""
	case q.which(allowed) == "":
		return ""
	}
	verb := "satisfies"
	if allowed.count() > 1 {
		verb = "satisfy"
	}
	if demand == "" {
		demand = " *"
	}
	return "only " + q.describe(allowed, false) + " " + verb + demand
}
