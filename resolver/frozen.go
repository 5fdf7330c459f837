package resolver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// frozen checks that the lock is exactly what the root needs (S12): every edge
// from the root leads to an entry that satisfies it, and every entry is reached.
func (s *session) frozen() (*Solution, error) {
	s.locked = s.before
	w := frozenWalk{session: s, depth: map[skill.Key]int{}, failure: &Failure{Code: diag.LockOutdated}}
	r := w.walk()
	if f := w.failure; len(f.Proof) > 0 {
		slices.Sort(f.Culprits)
		f.Culprits = slices.Compact(f.Culprits)
		f.Headline = fmt.Sprintf("skills.lock is not what skills.toml asks for: see %s", and(quoted(f.Culprits)))
		f.Hint = "run `skillpm lock` and commit skills.lock"
		return nil, f
	}
	if f := s.refusals(r); f != nil {
		return nil, f
	}
	if err := s.cycle(r); err != nil {
		return nil, err
	}
	return s.solution(r), nil
}

// frozenWalk visits the lock's entries from the root, nearest first.
type frozenWalk struct {
	*session
	depth   map[skill.Key]int
	queue   []skill.Key
	failure *Failure
}

func (w *frozenWalk) walk() *answer {
	r := &answer{index: map[skill.Key]int{}}
	w.follow(nil, w.root, 1)
	for len(w.queue) > 0 {
		name := w.queue[0]
		w.queue = w.queue[1:]
		l := w.before[name]
		edges, _, _, _ := w.requirementsOf(&l.Candidate)
		r.chosen = append(r.chosen, decided{cand: l.Candidate, depth: w.depth[name], edges: edges, kept: true})
		w.follow(l, edges, w.depth[name]+1)
	}
	for _, l := range w.lock {
		if w.depth[l.Name] == 0 {
			w.blame(l.Name, "the lock holds %s, which nothing requires", plain(l.Candidate))
		}
	}
	slices.SortStableFunc(r.chosen, func(a, b decided) int {
		return cmp.Or(a.depth-b.depth, compareNames(a.cand.Name, b.cand.Name))
	})
	for i, d := range r.chosen {
		r.index[d.cand.Name] = i
	}
	return r
}

// follow checks the edges of parent, nil for the root, and queues what they
// reach first.
func (w *frozenWalk) follow(parent *Locked, edges []*edge, depth int) {
	name := skill.Key("")
	if parent != nil {
		name = parent.Name
	}
	for _, e := range edges {
		if !w.constrains(e, name) {
			continue
		}
		if why := w.lockFault(e); why != "" {
			from := "your project"
			if parent != nil {
				from = plain(parent.Candidate)
			}
			w.blame(e.Name, "%s requires %s%s, but %s", from, e.Name, e.demand(), why)
		}
		if w.before[e.Name] != nil && w.depth[e.Name] == 0 {
			w.depth[e.Name] = depth
			w.queue = append(w.queue, e.Name)
		}
	}
}

func (w *frozenWalk) blame(name skill.Key, format string, args ...any) {
	w.failure.Proof = append(w.failure.Proof, fmt.Sprintf(format, args...))
	w.failure.Culprits = append(w.failure.Culprits, name)
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
	return strings.Compare(string(a), string(b))
}
