package resolver

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// solution completes an answer with what changed and what to say about it.
func (s *session) solution(r *answer) *Solution {
	sol := &Solution{Conflicts: s.conflicts, root: s.root}
	sol.Chosen = make([]Chosen, 0, len(r.chosen))
	for i := range r.chosen {
		d := &r.chosen[i]
		sol.Chosen = append(sol.Chosen, Chosen{Candidate: d.cand, Depth: d.depth, Edges: d.plainEdges(), Kept: d.kept})
		old := s.before[d.cand.Name]
		switch {
		case old == nil && !d.cand.Local:
			sol.Added = append(sol.Added, d.cand.Name)
		case old != nil && !sameCandidate(&old.Candidate, &d.cand):
			sol.Moves = append(sol.Moves, Move{
				Name: d.cand.Name, From: old.Candidate, To: d.cand,
				Downgrade: d.cand.Version.Compare(old.Version) < 0 && !d.cand.Version.IsZero(),
			})
		}
	}
	for name := range s.before {
		if _, ok := r.index[name]; !ok {
			sol.Dropped = append(sol.Dropped, name)
		}
	}
	slices.Sort(sol.Added)
	slices.Sort(sol.Dropped)
	slices.SortFunc(sol.Moves, func(a, b Move) int { return compareNames(a.Name, b.Name) })
	if !s.in.Frozen {
		sol.Behind = s.behind(r)
	}
	sol.Warnings = s.warnings(r, sol.Behind)
	return sol
}

func (s *session) warnings(r *answer, behind []Behind) []Warning {
	var list []Warning
	add := func(code diag.Code, name skill.Key, hint, format string, args ...any) {
		list = append(list, Warning{Code: code, Name: name, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	for _, o := range s.in.Overrides {
		if _, ok := r.index[o.Name]; ok {
			add(diag.OverrideActive, o.Name, "", "`%s` is overridden to `%s`", o.Name, overrideText(o))
		} else {
			add(diag.OverrideUnused, o.Name, fmt.Sprintf("remove `%s` from [overrides]", o.Name),
				"the override on `%s` has no effect: nothing requires it", o.Name)
		}
	}
	for _, d := range r.chosen {
		s.warnAbout(r, d, add)
	}
	for _, b := range behind {
		if slices.Contains(s.in.Prefer, b.Name) {
			because := ""
			if len(b.Because) > 0 {
				because = ", because of " + and(quoted(b.Because))
			}
			add(diag.OlderChosen, b.Name, "", "`%s` %s is chosen although %s exists%s", b.Name, b.Chosen, b.Newest, because)
		}
	}
	slices.SortStableFunc(list, func(a, b Warning) int {
		return cmp.Or(compareNames(a.Name, b.Name), cmp.Compare(a.Code, b.Code))
	})
	return list
}

func (s *session) warnAbout(r *answer, d decided, add func(code diag.Code, name skill.Key, hint, format string, args ...any)) {
	c := d.cand
	if c.Retracted {
		reason := ""
		if c.RetractedReason != "" {
			reason = ": " + c.RetractedReason
		}
		add(diag.VersionRetracted, c.Name, fmt.Sprintf("`skillpm update %s` moves to a version that stands", c.Name), "%s was retracted%s", titled(c), reason)
	}
	if d.kept {
		if l := s.locked[c.Name]; l != nil && l.TagGone {
			add(diag.TagGone, c.Name, "", "the tag of %s no longer exists; the lock still holds its commit", titled(c))
		}
		if l := s.locked[c.Name]; l != nil && l.RegistryChanged {
			add(diag.RegistryChanged, c.Name, fmt.Sprintf("`skillpm update %s --accept-moved-source` follows the registry", c.Name),
				"the registry now names another source for `%s`; the locked one is kept", c.Name)
		}
		return
	}
	if s.in.Offline && !s.in.Frozen && r.from.newerUnseen(c) {
		add(diag.FetchOffline, c.Name, "run again without --offline", "%s may not be the newest: offline, only what is cached is considered", titled(c))
	}
}

// newerUnseen says whether offline hides a candidate ranked before c, or a whole
// place of its name.
func (s *search) newerUnseen(c Candidate) bool {
	if c.Local {
		return false
	}
	p := s.pkgs[c.Name]
	if p == nil || p.list.unavailable {
		return p != nil
	}
	allowed := s.common(p)
	for i := range p.list.cands {
		if sameCandidate(&p.list.cands[i], &c) {
			return false
		}
		if p.list.offline != nil && p.list.offline.has(i+1) && allowed.has(i+1) {
			return true
		}
	}
	return false
}

// common returns the candidates that every decided edge into p allows.
func (s *search) common(p *pkg) set {
	in := full(p.list.size())
	for _, l := range p.into {
		for i, w := range l.group.allows {
			in[i] &= w
		}
	}
	return in
}

// behind lists the skills for which a newer version was passed over.
func (s *session) behind(r *answer) []Behind {
	var list []Behind
	for _, d := range r.chosen {
		p := r.from.pkgs[d.cand.Name]
		if p == nil || d.cand.Local || d.cand.Version.IsPseudo() {
			continue
		}
		if b, ok := r.from.passedOver(p); ok {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b Behind) int { return compareNames(a.Name, b.Name) })
	return list
}

func (s *search) passedOver(p *pkg) (Behind, bool) {
	chosen := p.list.cands[p.decided]
	b := Behind{Name: p.name, Chosen: chosen.Version}
	allowed := s.common(p)
	for _, c := range p.incs {
		if c.kind == kindUnreadable || c.kind == kindOffline {
			allowed = allowed.without(c.terms[0].in)
		}
	}
	newest := -1
	for i, c := range p.list.cands {
		if !allowed.has(i+1) || p.list.unusable(i) || p.list.needsConsent(i) || c.Local || c.Version.Compare(chosen.Version) <= 0 {
			continue
		}
		b.Count++
		if newest < 0 {
			newest = i
			b.Newest = c.Version
		}
	}
	if newest < 0 || chosen.Version.Prerelease() == "" && b.Newest.Prerelease() != "" {
		return b, false
	}
	for _, g := range p.deps(newest) {
		if g.target.decided >= 0 && !g.allows.has(g.target.decided+1) {
			b.Because = append(b.Because, g.target.name)
		}
	}
	return b, true
}

func quoted(names []skill.Key) []string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = "`" + string(n) + "`"
	}
	return words
}

func overrideText(o Override) string {
	e := Edge{Range: o.Range, Ref: o.Ref, Digest: o.Digest}
	text := e.text()
	if o.Source != "" {
		text += " " + o.Source
	}
	return text
}
