package resolver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// faulty says whether e refuses by itself once its parent is chosen ("" for the
// root). It is asked in the search, so it makes no message.
func (s *session) faulty(e *edge, parent skill.Key) bool {
	return e.Fault != nil || e.Delegate != "" || floating(e, parent)
}

// floating says whether e is a dependency on something that moves.
func floating(e *edge, parent skill.Key) bool {
	return parent != "" && e.Ref != "" && !e.overridden && !skill.IsObjectID(e.Ref)
}

// faultOf returns e's own refusal, or nil. from names the parent for messages.
func (s *session) faultOf(e *edge, parent skill.Key, from string) *diag.Error {
	switch {
	case e.Fault != nil:
		return e.Fault
	case e.Delegate != "":
		return diag.New(diag.DelegateReserved, "%s wants to delegate `%s` to `%s`, which is reserved for later", from, e.Name, e.Delegate).
			WithHint("require the skill itself, or use a version of it without `delegate:`")
	case floating(e, parent):
		return diag.New(diag.FloatingDependency, "%s requires `%s` at `ref:%s`, which can move", from, e.Name, e.Ref).
			WithHint("decide it here: [overrides] %s = \"ref:%s\" in skills.toml, or ask the author for a version or a full commit", e.Name, e.Ref)
	}
	return nil
}

// refusals collects what chosen candidates and their edges refuse by themselves,
// in the order of deciding.
func (s *session) refusals(r *answer) *Failure {
	var found diag.List
	var names []skill.Key
	add := func(e *diag.Error, name skill.Key, paths []Path) {
		if e == nil {
			return
		}
		own := *e // the caller's stays as it is
		own.Details = slices.Clone(e.Details)
		for _, p := range paths {
			own.Details = append(own.Details, "why: "+p.String())
		}
		found = append(found, &own)
		names = append(names, name)
	}
	for _, e := range s.root {
		if s.faulty(e, "") {
			add(s.faultOf(e, "", "your project"), e.Name, nil)
		}
	}
	for _, d := range r.chosen {
		if d.cand.Refusal != nil {
			add(d.cand.Refusal, d.cand.Name, s.graphOf(r).Why(d.cand.Name)[:1])
		}
		for _, e := range d.edges {
			if s.faulty(e, d.cand.Name) {
				add(s.faultOf(e, d.cand.Name, titled(d.cand)), d.cand.Name, s.graphOf(r).toEdge(d.cand.Name, e.Name))
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.Sort(names)
	return &Failure{
		Code: found[0].Code, Headline: found[0].Message, Hint: found[0].Hint,
		Reason: Reason(found[0].Reason), Refusals: found, Culprits: slices.Compact(names),
	}
}

// titled returns the name in backticks and the version, for headlines.
func titled(c Candidate) string {
	if c.Version.IsZero() {
		return fmt.Sprintf("`%s`", c.Name)
	}
	return fmt.Sprintf("`%s` %s", c.Name, c.Version)
}

// digestMismatch reports the broken pins that the answer without them met.
func (s *session) digestMismatch(relaxed *answer) *Failure {
	f := &Failure{Code: diag.DigestMismatch}
	for i, p := range s.brokenPins(relaxed) {
		from, name := "your project", skill.Key("")
		if p.parent != nil {
			from, name = titled(*p.parent), p.parent.Name
		}
		if i == 0 {
			f.Headline = fmt.Sprintf("%s pins `%s` to a content that no version of it has", from, p.cand.Name)
			f.Hint = s.pinHint(p)
		}
		f.Proof = append(f.Proof,
			fmt.Sprintf("%s requires %s %s, pinned to %s", plainly(from), p.cand.Name, rangeText(p.edge), p.edge.Digest),
			fmt.Sprintf("  but %s is %s", plain(p.cand), p.found))
		if p.cand.Source != "" {
			f.Proof = append(f.Proof, "  from "+p.cand.Source)
		}
		f.Culprits = append(f.Culprits, p.cand.Name)
		if name != "" {
			f.Culprits = append(f.Culprits, name)
		}
		f.Why = append(f.Why, s.graphOf(relaxed).toEdge(name, p.edge.Name)...)
	}
	slices.Sort(f.Culprits)
	f.Culprits = slices.Compact(f.Culprits)
	return f
}

func (s *session) pinHint(p pinFault) string {
	if p.parent == nil {
		return fmt.Sprintf("if you reviewed the new content, replace the pin in skills.toml by %s", p.found)
	}
	return fmt.Sprintf("the content was changed after %s pinned it: ask its author; if you reviewed it, [overrides] %s = %q in skills.toml drops the pin",
		p.parent.Name, p.cand.Name, rangeText(p.edge))
}

func plainly(s string) string { return strings.ReplaceAll(s, "`", "") }

// plain returns name and version without backticks, for proofs and paths.
func plain(c Candidate) string { return plainly(titled(c)) }

// budgetExceeded names the skills that met most conflicts.
func (s *session) budgetExceeded() *Failure {
	names := make([]skill.Key, 0, len(s.blame))
	for name := range s.blame {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b skill.Key) int {
		return cmp.Or(s.blame[b]-s.blame[a], compareNames(a, b))
	})
	names = names[:min(3, len(names))]
	f := &Failure{Code: diag.ResolutionBudgetExceeded, Culprits: names}
	f.Headline = fmt.Sprintf("no answer after %d conflicts", s.conflicts)
	if len(names) > 0 {
		for _, n := range names {
			f.Proof = append(f.Proof, fmt.Sprintf("%s took part in %d conflicts", n, s.blame[n]))
		}
		f.Headline += "; most were about " + and(quoted(names))
		f.Hint = fmt.Sprintf("decide one of them yourself: [overrides] %s = \"=X.Y.Z\" in skills.toml", names[0])
	}
	return f
}

func and(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
