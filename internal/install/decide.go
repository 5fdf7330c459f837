package install

import "github.com/skillpm/skillpm/skill"

// decide says what is to be done. It is pure: the same view gives the same plan.
func decide(v *view) *Plan {
	plan := &Plan{Pending: v.pending, view: v}
	for _, p := range v.want {
		plan.Actions = append(plan.Actions, v.wanted(p))
	}
	for _, p := range v.stale {
		if a, ok := v.unwanted(p); ok {
			plan.Actions = append(plan.Actions, a)
		}
	}
	for _, p := range v.unmanaged {
		plan.Actions = append(plan.Actions, Action{Kind: Unmanaged, Key: p.key, Dir: p.dir, Why: "no lock names it"})
	}
	plan.next = v.nextReceipt(plan.Actions)
	return plan
}

func (v *view) wanted(p placement) Action {
	s := v.seen[p.path()]
	a := Action{Key: p.item.Key, Dir: p.target.dir, Mode: p.mode, From: s.digest, To: p.item.Digest, want: p, seen: s}
	rec, recorded := v.receipt.Places[p.path()]
	switch {
	case v.matches(p, s):
		a.Kind = Keep
		if !recorded || rec.Mode != p.mode || rec.Digest != p.item.Digest || rec.Bundle != p.bundle() || rec.Link != p.link {
			a.Kind = Adopt
		}
		if !recorded && p.mode == ModeHardlink {
			a.Mode = ModeCopy // nobody knows what it is linked to
			a.want.mode = ModeCopy
		}
	case s.kind == seenNothing:
		a.Kind = Create
	case v.ours(spot{p.target.dir, p.item.Key, p.link}, s):
		a.Kind = Replace
	case v.force:
		a.Kind, a.Why = Replace, "forced: "+v.why(p.path(), s)
	default:
		a.Kind, a.Why = Conflict, v.why(p.path(), s)
	}
	return a
}

// matches reports whether what was seen is what is wanted.
func (v *view) matches(p placement, s seen) bool {
	switch p.mode {
	case ModeInPlace:
		return true
	case ModeLink, ModeStore:
		return s.kind == seenLink && s.link == cleanLink(p.link) && !s.dangling
	}
	rec, recorded := v.receipt.Places[p.path()]
	otherMode := recorded && rec.Mode != p.mode && (rec.Mode == ModeHardlink || p.mode == ModeHardlink)
	return s.kind == seenDir && s.digest == p.item.Digest && s.bundle == p.bundle() && !otherMode
}

// bundle is the signature a place of this mode holds: a link into the store
// cannot hold one.
func (p placement) bundle() skill.Digest {
	if p.mode == ModeCopy || p.mode == ModeHardlink {
		return p.item.Bundle
	}
	return ""
}

// ours reports whether what was seen may be replaced or removed: it is what the
// receipt says we put there, or what one of the locks names for the key.
func (v *view) ours(p spot, s seen) bool {
	rec, recorded := v.receipt.Places[p.path()]
	switch s.kind {
	case seenDir:
		if s.empty {
			return true // nothing to lose
		}
		return s.digest != "" && (recorded && rec.Digest == s.digest || v.old[p.key] == s.digest || v.new[p.key] == s.digest)
	case seenLink:
		_, locked := v.old[p.key]
		return recorded && rec.Link != "" && cleanLink(rec.Link) == s.link || locked && p.link != "" && cleanLink(p.link) == s.link
	}
	return false
}

func (v *view) why(p string, s seen) string {
	_, recorded := v.receipt.Places[p]
	switch {
	case s.kind == seenOther:
		return "it is no directory"
	case s.kind == seenLink:
		return "it is a link to `" + s.link + "` that skillpm did not make"
	case s.fault != "" && recorded:
		return "it was changed since it was installed: " + s.fault
	case s.fault != "":
		return "skillpm did not put it there: " + s.fault
	case recorded:
		return "it was changed since it was installed"
	}
	return "skillpm did not put it there, or it was changed since"
}

// unwanted decides on a place that nothing wanted takes; false means that there
// is nothing to do or to say.
func (v *view) unwanted(p spot) (Action, bool) {
	s := v.seen[p.path()]
	a := Action{Key: p.key, Dir: p.dir, From: s.digest, seen: s}
	rec, recorded := v.receipt.Places[p.path()]
	switch {
	case s.kind == seenNothing, rec.Mode == ModeInPlace:
		return a, false
	case v.ours(p, s):
		a.Kind = Remove
	case !recorded && s.kind != seenDir:
		a.Kind, a.Why = Unmanaged, "no lock names it" // not the skill the old lock named
	case v.force:
		a.Kind, a.Why = Remove, "forced: "+v.why(p.path(), s)
	default:
		a.Kind, a.Why = Conflict, v.why(p.path(), s)
	}
	return a, true
}

// nextReceipt is the receipt after actions are done. Places that are written now
// get no stat signature: everything in them is too young for one to prove
// anything.
func (v *view) nextReceipt(actions []Action) *receipt {
	next := newReceipt()
	next.Link = v.link
	next.Targets = append(next.Targets, v.targets...)
	for _, a := range actions {
		switch a.Kind {
		case Create, Replace, Keep, Adopt:
			next.Places[a.Path()] = v.nextPlace(a)
		case Conflict:
			if rec, ok := v.receipt.Places[a.Path()]; ok {
				next.Places[a.Path()] = rec
			}
		}
	}
	return next
}

func (v *view) nextPlace(a Action) place {
	p := place{Mode: a.Mode, Digest: a.To, Bundle: a.want.bundle(), Link: a.want.link, Source: a.want.sourceSig}
	if a.writes() || a.seen.kind != seenDir || a.Mode == ModeInPlace {
		return p
	}
	p.Stat, p.At = a.seen.sig.sum, v.at.UnixNano()
	if rec := v.receipt.Places[a.Path()]; a.seen.vouched {
		p.At = rec.At
	}
	return p
}
