package resolver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// cycle refuses skills that require each other (S11): the first circle that a
// walk from the root meets, requirements and chain members together.
func (s *session) cycle(r *answer) *Failure {
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
	width := 0
	circle := path[start : len(path)-1]
	lines := make([]string, len(circle))
	for i, step := range circle {
		next := path[start+i+1].Name
		verb := "requires"
		if step.Chain {
			verb = "chains"
		}
		lines[i] = strings.TrimRight(fmt.Sprintf("%s %s %s %s", step.Name, verb, next, step.Requires), " ")
		width = max(width, len(lines[i]))
		f.Culprits = append(f.Culprits, skill.Key(step.Name))
	}
	for i, step := range circle {
		if step.Source == "" {
			f.Proof = append(f.Proof, lines[i])
			continue
		}
		version := ""
		if step.Version != "" {
			version = ", v" + step.Version
		}
		f.Proof = append(f.Proof, fmt.Sprintf("%-*s (%s%s)", width+2, lines[i], step.Source, version))
	}
	slices.Sort(f.Culprits)
	f.Culprits = slices.Compact(f.Culprits)
	f.Hint = s.cycleHint(path, start)
	return f
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
// require the next one, from the closing edge backwards. It knows only what the
// search has asked for.
func (s *session) cycleHint(path Path, start int) string {
	for i := len(path) - 2; i >= start; i-- {
		name, next := skill.Key(path[i].Name), skill.Key(path[i+1].Name)
		l := s.lists[name]
		if l == nil || name == next && i > start {
			continue
		}
		free := s.versionsWithout(l, path[i], next)
		if free != "" {
			return fmt.Sprintf("%s %s does not require %s: [overrides] %s = %q", name, free, next, name, free)
		}
	}
	last := path[len(path)-2]
	return fmt.Sprintf("one of the requirements has to go: ask the author of %s, or drop %s from skills.toml", last.Name, path[min(1, len(path)-1)].Name)
}

// versionsWithout returns "<X" if the candidates below X, the version in the
// circle, are known not to require next, as far as they were asked for and at
// least one was; else "".
func (s *session) versionsWithout(l *list, step Step, next skill.Key) string {
	at := slices.IndexFunc(l.cands, func(c Candidate) bool {
		return c.Version.String() == step.Version && c.Source == step.Source
	})
	if at < 0 || l.cands[at].Version.IsZero() || l.cands[at].Version.IsPseudo() {
		return ""
	}
	for i := at + 1; i < len(l.cands); i++ {
		c := l.cands[i]
		if l.unusable(i) || l.blocked[i] != "" || c.Source != step.Source || c.Version.Prerelease() != "" {
			continue
		}
		edges, unreadable, offline, ok := s.requirementsOf(c)
		if !ok {
			return ""
		}
		if unreadable != "" || offline {
			continue
		}
		if !slices.ContainsFunc(edges, func(e *edge) bool { return e.Name == next }) {
			return "<" + oldestWith(l, at, i)
		}
	}
	return ""
}

// oldestWith returns the version just above the candidate at free.
func oldestWith(l *list, at, free int) string {
	for i := free - 1; i > at; i-- {
		if l.cands[i].Source == l.cands[at].Source && !l.unusable(i) {
			return l.cands[i].Version.String()
		}
	}
	return l.cands[at].Version.String()
}
