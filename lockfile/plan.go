package lockfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// maxPlanSteps bounds a plan: a chain may name a chain twice, so steps can grow
// as a power of the nesting.
const maxPlanSteps = 10_000

// Plan is the order in which a chain's skills run. It runs nothing.
type Plan struct {
	Root   string
	Mode   string
	Policy Policy
	// Depth is the measured nesting: 1 for a chain without chains.
	Depth int64
	Steps []Step
	// Flat is Steps depth first, a nested chain before its members; a skill that
	// is reached twice stands twice.
	Flat []string
}

// Step is one step of a plan.
type Step struct {
	Name    string
	Version string
	Digest  skill.Digest
	// Path is the install directory, relative to the project.
	Path string
	// Steps are those of a nested chain, which keeps its own policy.
	Steps []Step
}

// InstallPath returns where key is installed: below the lock's first target, or
// "" if there is none. A path skill stands where its source says if it is not
// linked there.
func (l *Lock) InstallPath(key string) string {
	if len(l.Targets) == 0 {
		return ""
	}
	return path.Join(l.Targets[0], key)
}

// Plan returns the plan of the chain key. Errors carry skill_not_found (no such
// entry, or no chain), subskill_unresolved (a step without entry),
// subskill_cycle_detected or chain_depth_exceeded.
func (l *Lock) Plan(key string) (*Plan, error) {
	entries := l.index()
	e := entries[key]
	if e == nil || e.Chain == nil {
		return nil, &skill.Error{Code: "skill_not_found", Offset: -1, Message: fmt.Sprintf("the lock has no chain `%s`", key)}
	}
	b := &planner{lock: l, entries: entries, limit: e.Chain.Policy.MaxDepth}
	steps, err := b.steps(e)
	if err != nil {
		return nil, err
	}
	return &Plan{Root: key, Mode: e.Chain.Mode, Policy: e.Chain.Policy, Depth: b.depth, Steps: steps, Flat: b.flat}, nil
}

type planner struct {
	lock    *Lock
	entries map[string]*Entry
	limit   int64 // the outer chain's max_depth bounds all
	depth   int64
	path    []string
	flat    []string
}

func (b *planner) steps(e *Entry) ([]Step, error) {
	b.path = append(b.path, e.Key)
	defer func() { b.path = b.path[:len(b.path)-1] }()
	if depth := int64(len(b.path)); depth > b.limit {
		return nil, &skill.Error{
			Code: "chain_depth_exceeded", Offset: -1,
			Message: fmt.Sprintf("chains are nested deeper than max_depth %d: %s", b.limit, strings.Join(b.path, " > ")),
		}
	}
	b.depth = max(b.depth, int64(len(b.path)))
	var steps []Step
	for _, key := range e.Chain.Steps {
		step, err := b.step(key)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func (b *planner) step(key string) (Step, error) {
	e := b.entries[key]
	if e == nil {
		return Step{}, &skill.Error{Code: "subskill_unresolved", Offset: -1, Message: fmt.Sprintf("the step `%s` has no entry in the lock", key)}
	}
	if slices.Contains(b.path, key) {
		return Step{}, &skill.Error{
			Code: "subskill_cycle_detected", Offset: -1,
			Message: "a chain reaches itself: " + strings.Join(append(slices.Clone(b.path), key), " > "),
		}
	}
	if b.flat = append(b.flat, key); len(b.flat) > maxPlanSteps {
		return Step{}, &skill.Error{Code: "chain_depth_exceeded", Offset: -1, Message: fmt.Sprintf("the plan has more than %d steps", maxPlanSteps)}
	}
	s := Step{Name: key, Version: e.Version, Digest: e.Digest, Path: b.lock.InstallPath(key)}
	if e.Chain == nil {
		return s, nil
	}
	var err error
	s.Steps, err = b.steps(e)
	return s, err
}
