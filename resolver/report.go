package resolver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// unsolvable reports the latest failed search.
func (s *session) unsolvable() *Failure {
	p := newProver(s.failed)
	reason, about, alone := p.reasonOf()
	f := &Failure{Code: diag.SubskillUnresolved, Reason: reason}
	if reason == NoVersions {
		f.Code = diag.NoVersions
	}
	switch {
	case about != nil:
		f.Headline = p.contestHeadline(about)
		f.Hint = p.contestHint(about)
		for _, c := range about.parties {
			f.Why = append(f.Why, p.whyPath(c))
			f.Culprits = append(f.Culprits, culprits(c)...)
		}
	case alone != nil:
		f.Headline = p.aloneHeadline(reason, alone)
		f.Hint = p.aloneHint(reason, alone)
		f.Why = []Path{p.whyPath(alone)}
		f.Culprits = culprits(alone)
	default:
		f.Headline = "no combination of versions works"
	}
	f.Proof = p.write()
	f.Why = uniquePaths(f.Why)
	slices.Sort(f.Culprits)
	f.Culprits = slices.Compact(f.Culprits)
	return f
}

func culprits(c *incompat) []skill.Key {
	names := []skill.Key{c.target.name}
	if c.parent != nil {
		names = append(names, c.parent.name)
	}
	return names
}

// who names the one who requires, for headlines.
func who(c *incompat) string {
	switch {
	case c.edge.overridden && c.parent == nil:
		return "[overrides]"
	case c.parent == nil:
		return "your project"
	}
	return "`" + string(c.parent.name) + "`"
}

// Diag returns the failure as the finding that commands print: the proof and
// the why paths are its details, and a *Failure's paths its Data for --json.
func (f *Failure) Diag() *diag.Error {
	if len(f.Refusals) > 0 {
		return f.Refusals[0]
	}
	e := diag.New(f.Code, "%s", f.Headline).WithReason(string(f.Reason))
	e.Hint = f.Hint
	e.Details = append(e.Details, f.Proof...)
	for i, p := range f.Why {
		label := "     "
		if i == 0 {
			label = "why: "
		}
		e.Details = append(e.Details, label+p.String())
	}
	data := FailureData{Culprits: f.Culprits}
	data.Paths = append(data.Paths, f.Why...)
	if f.Cycle != nil {
		data.Cycle = f.Cycle[f.CycleStart:]
		data.Paths = append(data.Paths, f.Cycle)
	}
	e.Data = data
	return e
}

// List returns the failure as findings: its refusals where it has several.
func (f *Failure) List() diag.List {
	if len(f.Refusals) > 0 {
		return f.Refusals
	}
	return diag.List{f.Diag()}
}

// FailureData are the further fields of a failure in --json.
type FailureData struct {
	Culprits []skill.Key `json:"culprits,omitempty"`
	Paths    []Path      `json:"paths,omitempty"`
	Cycle    Path        `json:"cycle,omitempty"`
}

// String returns the whole report as commands print it, without colour.
func (f *Failure) String() string {
	var b strings.Builder
	for _, e := range f.List() {
		fmt.Fprintf(&b, "error[%s]: %s\n", e.Code, diag.Escape(e.Message))
		for _, d := range e.Details {
			fmt.Fprintf(&b, "  %s\n", diag.Escape(d))
		}
		if e.Hint != "" {
			fmt.Fprintf(&b, "hint: %s\n", diag.Escape(e.Hint))
		}
	}
	return b.String()
}
