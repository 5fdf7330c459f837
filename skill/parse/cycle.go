package parse

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// maxCircle bounds the circles that are spelled out for each of their members.
const maxCircle = 64

// cycles reports every skill that lies on a circle of requirements and chain
// members, and chains nested deeper than they allow.
func (l *linker) cycles(ctx context.Context) error {
	circles := &components{linker: l, ctx: ctx, index: map[*skillChecker]int{}, low: map[*skillChecker]int{}, open: map[*skillChecker]bool{}}
	deep := map[*skillChecker]int{}
	for _, s := range l.v.skills {
		if !s.readable || s.skill.Chain == nil && len(s.skill.Requires) == 0 {
			continue
		}
		if err := circles.visit(s); err != nil {
			return err
		}
	}
	inCircle := map[*skillChecker][]*skillChecker{}
	for _, group := range circles.groups {
		for _, s := range group {
			inCircle[s] = group
		}
	}
	for _, s := range l.v.skills {
		if group := inCircle[s]; group != nil {
			l.reportCircle(s, group)
		} else if s.readable && s.skill.Chain != nil {
			l.reportDepth(s, deep)
		}
	}
	return nil
}

func (l *linker) reportCircle(s *skillChecker, group []*skillChecker) {
	at := Position{}
	if s.skill.Chain != nil {
		at = s.skill.Chain.Position
	} else {
		at = s.skill.Requires[0].Position
	}
	if len(group) > maxCircle {
		s.problem(diag.SubskillCycleDetected, at, "%d skills require each other in a circle, this one among them", len(group))
		return
	}
	s.problem(diag.SubskillCycleDetected, at, "skills require each other in a circle: %s", strings.Join(l.circle(s), " > "))
}

// edges returns the skills on disk that s requires or chains, in order.
func (l *linker) edges(ctx context.Context, s *skillChecker) ([]*skillChecker, error) {
	if out, ok := l.next[s]; ok {
		return out, nil
	}
	var out []*skillChecker
	add := func(dirs []string, err error) error {
		if err != nil || len(dirs) != 1 {
			return err
		}
		to, err := l.read(ctx, dirs[0])
		if err == nil && to.readable && !slices.Contains(out, to) {
			out = append(out, to)
		}
		return err
	}
	if s.skill.Chain != nil {
		for _, step := range s.skill.Chain.Steps {
			if err := add(l.lookup(ctx, s, step.Name, step.Path)); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range s.skill.Requires {
		if d.Requirement.Source.IsZero() {
			if err := add(l.lookup(ctx, s, d.Name, string(d.Name))); err != nil {
				return nil, err
			}
		}
	}
	l.next[s] = out
	return out, nil
}

// components finds the groups of skills that reach each other (Tarjan 1972).
type components struct {
	*linker
	ctx    context.Context
	index  map[*skillChecker]int
	low    map[*skillChecker]int
	open   map[*skillChecker]bool
	stack  []*skillChecker
	groups [][]*skillChecker
}

func (c *components) visit(s *skillChecker) error {
	if c.index[s] != 0 {
		return nil
	}
	n := len(c.index) + 1
	c.index[s], c.low[s], c.open[s] = n, n, true
	c.stack = append(c.stack, s)
	next, err := c.edges(c.ctx, s)
	if err != nil {
		return err
	}
	for _, to := range next {
		if err := c.visit(to); err != nil {
			return err
		}
		if c.open[to] {
			c.low[s] = min(c.low[s], c.low[to])
		}
	}
	if c.low[s] == n {
		c.close(s, slices.Contains(next, s))
	}
	return nil
}

// close takes the finished group that s began off the stack. A single skill is
// a circle only if it names itself.
func (c *components) close(s *skillChecker, self bool) {
	at := slices.Index(c.stack, s)
	group := slices.Clone(c.stack[at:])
	c.stack = c.stack[:at]
	for _, m := range group {
		c.open[m] = false
	}
	if len(group) > 1 || self {
		c.groups = append(c.groups, group)
	}
}

// circle returns the shortest way from s, which lies on a circle, back to s.
func (l *linker) circle(s *skillChecker) []string {
	from := map[*skillChecker]*skillChecker{}
	queue := []*skillChecker{s}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, to := range l.next[at] {
			if to == s {
				return circleNames(from, s, at)
			}
			if _, ok := from[to]; !ok {
				from[to] = at
				queue = append(queue, to)
			}
		}
	}
	return nil
}

func circleNames(from map[*skillChecker]*skillChecker, s, last *skillChecker) []string {
	names := []string{filepath.Base(s.dir)}
	for at := last; at != s; at = from[at] {
		names = append(names, filepath.Base(at.dir))
	}
	names = append(names, filepath.Base(s.dir))
	slices.Reverse(names)
	return names
}

// reportDepth refuses chains within chains beyond the outer one's max_depth.
func (l *linker) reportDepth(s *skillChecker, deep map[*skillChecker]int) {
	if n, limit := l.depth(s, deep), s.skill.Chain.Policy.MaxDepth; n > limit {
		s.problem(diag.ChainDepthExceeded, s.skill.Chain.Position, "chains nest %d deep; max_depth is %d", n, limit)
	}
}

// depth counts the chains on the longest way down from s. A circle below s has
// its own finding and is not followed round.
func (l *linker) depth(s *skillChecker, deep map[*skillChecker]int) int {
	if s.skill.Chain == nil {
		return 0
	}
	if n, ok := deep[s]; ok {
		return n
	}
	deep[s] = 0
	below := 0
	for _, step := range s.skill.Chain.Steps {
		for _, to := range l.next[s] {
			if filepath.Base(to.dir) == string(step.Name) {
				below = max(below, l.depth(to, deep))
			}
		}
	}
	deep[s] = 1 + below
	return deep[s]
}
