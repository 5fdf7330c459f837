package resolver

import (
	"fmt"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// frozen checks that the lock is exactly what the root needs (S12): every edge
// from the root leads to an entry that satisfies it, and every entry is reached.
func (s *session) frozen() (*Solution, error) {
	s.locked = s.before
	r := &answer{index: map[skill.Key]int{}}
	f := &Failure{Code: diag.LockOutdated}
	f.Hint = "run `skillpm lock` and commit skills.lock"
	depth := map[skill.Key]int{}
	var queue []skill.Key
	blame := func(name skill.Key, path Path, format string, args ...any) {
		f.Proof = append(f.Proof, fmt.Sprintf(format, args...))
		f.Culprits = append(f.Culprits, name)
		if path != nil {
			f.Why = append(f.Why, path)
		}
	}
	follow := func(parent *Locked, list []*edge, d int) {
		from, name := "your project", skill.Key("")
		if parent != nil {
			from, name = plain(parent.Candidate), parent.Name
		}
		for _, e := range list {
			if !s.constrains(e, name) {
				continue
			}
			why := s.lockFault(e)
			if why != "" {
				blame(e.Name, nil, "%s requires %s%s, but %s", from, e.Name, e.demand(), why)
			}
			if s.before[e.Name] != nil && depth[e.Name] == 0 {
				depth[e.Name] = d
				queue = append(queue, e.Name)
			}
		}
	}
	follow(nil, s.root, 1)
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		l := s.before[name]
		edges, _, _, _ := s.requirementsOf(l.Candidate)
		r.index[name] = len(r.chosen)
		r.chosen = append(r.chosen, decided{cand: l.Candidate, depth: depth[name], edges: edges, kept: true})
		follow(l, edges, depth[name]+1)
	}
	for i := range s.in.Lock {
		if name := s.in.Lock[i].Name; depth[name] == 0 {
			blame(name, nil, "the lock holds %s, which nothing requires", plain(s.in.Lock[i].Candidate))
		}
	}
	if len(f.Proof) > 0 {
		slices.Sort(f.Culprits)
		f.Culprits = slices.Compact(f.Culprits)
		f.Headline = fmt.Sprintf("skills.lock is not what skills.toml asks for: see %s", and(quoted(f.Culprits)))
		return nil, f
	}
	slices.SortStableFunc(r.chosen, func(a, b decided) int {
		if a.depth != b.depth {
			return a.depth - b.depth
		}
		return compareNames(a.cand.Name, b.cand.Name)
	})
	for i, d := range r.chosen {
		r.index[d.cand.Name] = i
	}
	if f := s.refusals(r); f != nil {
		return nil, f
	}
	if err := s.cycle(r); err != nil {
		return nil, err
	}
	return s.solution(r), nil
}

// lockFault says how the entry for e's name fails it, or "".
func (s *session) lockFault(e *edge) string {
	l := s.before[e.Name]
	if l == nil {
		return "the lock has no such entry"
	}
	if !s.admitted(s.fixedList(e.Name), e).has(1) {
		if !e.OrLocked && !slices.Contains(e.Sources, l.Source) {
			return fmt.Sprintf("the lock holds it from %s", l.Source)
		}
		return fmt.Sprintf("the lock holds %s", versionText(l.Candidate))
	}
	if e.Digest != "" && e.Digest != l.Digest {
		return fmt.Sprintf("the lock holds %s", l.Digest.Short())
	}
	return ""
}

func compareNames(a, b skill.Key) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
