package resolver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// cycle refuses skills that require each other (S11): the first circle that a
// walk from the root meets, requirements and chain members together.
func (s *session) cycle(r *answer) error {
	if s.acyclic(r) {
		return nil
	}
	g := s.graphOf(r)
	path, start := g.firstCycle(s.in.RootName)
	if path == nil {
		return nil
	}
	f := &Failure{Code: diag.SubskillCycleDetected, Headline: "skills require each other in a circle", Cycle: path, CycleStart: start}
	if len(path)-start == 2 && path[start].Name == path[start+1].Name {
		f.Headline = fmt.Sprintf("`%s` requires itself", path[start].Name)
	}
	f.Proof = append(f.Proof, cycleLine(path, start))
	f.Proof = append(f.Proof, requirementLines(path[start:])...)
	for _, step := range path[start : len(path)-1] {
		f.Culprits = append(f.Culprits, skill.Key(step.Name))
	}
	slices.Sort(f.Culprits)
	f.Culprits = slices.Compact(f.Culprits)
	hint, err := s.cycleHint(path, start)
	if errors.Is(err, errNeed) {
		return s.need.tidy()
	}
	if err != nil {
		return err
	}
	f.Hint = hint
	return f
}

// acyclic says whether a walk from the root comes to an end everywhere. It is what
// most projects need to know, and needs no graph with names and paths.
func (s *session) acyclic(r *answer) bool {
	const on, done = 1, 2 // the path; what was left again
	state := make([]uint8, len(r.chosen))
	var ends func(edges []*edge) bool
	ends = func(edges []*edge) bool {
		for _, e := range edges {
			if e.Name == s.in.RootName && e.Name != "" {
				return false
			}
			at, ok := r.index[e.Name]
			if !ok || state[at] == done {
				continue
			}
			if state[at] == on {
				return false
			}
			state[at] = on
			if !ends(r.chosen[at].edges) {
				return false
			}
			state[at] = done
		}
		return true
	}
	return ends(s.root)
}

// requirementLines says what each step of circle requires of the next, and where
// each lives, in columns.
func requirementLines(circle Path) []string {
	width := 0
	lines := make([]string, len(circle)-1)
	for i, step := range circle[:len(lines)] {
		verb := "requires"
		if step.Chain {
			verb = "chains"
		}
		lines[i] = strings.TrimRight(fmt.Sprintf("%s %s %s %s", step.Name, verb, circle[i+1].Name, step.Requires), " ")
		width = max(width, len(lines[i]))
	}
	for i, step := range circle[:len(lines)] {
		if step.Source == "" {
			continue
		}
		version := ""
		if step.Version != "" {
			version = ", v" + step.Version
		}
		lines[i] = fmt.Sprintf("%-*s (%s%s)", width+2, lines[i], step.Source, version)
	}
	return lines
}

func cycleLine(path Path, start int) string {
	var b strings.Builder
	for i, step := range path {
		if i > 0 {
			b.WriteString(" > ")
		}
		if i == start {
			b.WriteString("[ ")
		}
		b.WriteString(step.Title())
	}
	return b.String() + " ]"
}

// cycleHint looks for a member of the circle with an older version that does not
// require the next one, from the closing edge backwards, and makes sure that
// choosing it would solve the problem. It may need facts (errNeed).
func (s *session) cycleHint(path Path, start int) (string, error) {
	for i := len(path) - 2; i >= start && !s.in.Frozen; i-- {
		name, next := skill.Key(path[i].Name), skill.Key(path[i+1].Name)
		if name == s.in.RootName {
			continue
		}
		below, err := s.withoutEdge(path[i], next)
		if err != nil {
			return "", err
		}
		if below == "" {
			continue
		}
		works, err := s.solvedBy(Override{Name: name, Range: below})
		if err != nil {
			return "", err
		}
		if works {
			return fmt.Sprintf("%s %s does not require %s: [overrides] %s = %q", name, below, next, name, below), nil
		}
	}
	last := path[len(path)-2]
	if len(path) == 2 || last.Source == "" {
		return "one of these requirements has to go", nil
	}
	return fmt.Sprintf("one of these requirements has to go: tell the author of %s, or drop %s from skills.toml", last.Name, path[1].Name), nil
}

// withoutEdge returns "<X" if the newest version of step's skill that does not
// require next lies just below X and among the next few versions, else "".
func (s *session) withoutEdge(step Step, next skill.Key) (string, error) {
	l := s.listOf(skill.Key(step.Name))
	if l == nil {
		return "", errNeed
	}
	at := slices.IndexFunc(l.cands, func(c Candidate) bool {
		return c.Version.String() == step.Version && c.Source == step.Source
	})
	if at < 0 || l.cands[at].Local || l.cands[at].Version.IsPseudo() {
		return "", nil
	}
	above, missing, seen := l.cands[at].Version, false, 0
	for i := at + 1; i < len(l.cands) && seen < batch; i++ {
		c := l.cands[i]
		if l.unusable(i) || l.needsConsent(i) || c.Source != step.Source || c.Version.Prerelease() != "" {
			continue
		}
		seen++
		edges, unreadable, offline, ok := s.requirementsOf(&c)
		switch {
		case !ok:
			missing = true // ask for the whole batch at once
		case missing || unreadable != "" || offline:
		case !slices.ContainsFunc(edges, func(e *edge) bool { return e.Name == next }):
			return "<" + above.String(), nil
		}
		above = c.Version
	}
	if missing {
		return "", errNeed
	}
	return "", nil
}

// solvedBy says whether the problem has an answer without circle once o is
// added. It runs within what is left of the budget.
func (s *session) solvedBy(o Override) (bool, error) {
	in := s.in
	in.Overrides = slices.DeleteFunc(slices.Clone(in.Overrides), func(p Override) bool { return p.Name == o.Name })
	in.Overrides = append(in.Overrides, o)
	t := newSession(s.stopped, in, s.u)
	t.conflicts = s.conflicts
	r, err := t.answer(false)
	switch {
	case errors.Is(err, errNeed):
		t.prefetch()
		s.need = t.need
		return false, err
	case err != nil:
		return false, s.stopped()
	}
	path, _ := t.graphOf(r).firstCycle(in.RootName)
	return path == nil, nil
}

// firstCycle walks depth first, edges by name, and returns the path to the first
// edge that leads back onto the path, and where the circle begins; nil if there
// is none. root is the root's own name, or "".
func (g Graph) firstCycle(root skill.Key) (Path, int) {
	on := map[skill.Key]int{}
	done := map[skill.Key]bool{}
	path := Path{g.rootStep()}
	if root != "" {
		path[0].Name = string(root)
		on[root] = 0
	}
	var walk func(edges []Edge) (Path, int)
	walk = func(edges []Edge) (Path, int) {
		for _, e := range sortedEdges(edges) {
			here := len(path) - 1
			path[here].Requires, path[here].Chain = e.text(), e.Chain
			if at, ok := on[e.Name]; ok {
				end := path[at]
				end.Requires, end.Chain = "", false
				return append(slices.Clone(path), end), at
			}
			n, ok := g.Nodes[e.Name]
			if !ok || done[e.Name] {
				continue
			}
			on[e.Name] = len(path)
			path = append(path, g.step(e.Name))
			if p, at := walk(n.Edges); p != nil {
				return p, at
			}
			path = path[:len(path)-1]
			delete(on, e.Name)
			done[e.Name] = true
		}
		return nil, 0
	}
	return walk(g.Root)
}
