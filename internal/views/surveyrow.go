package views

import (
	"bytes"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// versions is the row of a skill at a tagged version.
func (a *asking) versions(row *OutdatedRow) {
	locked, err := skill.ParseVersion(a.entry.Version)
	if err != nil {
		return
	}
	list := a.tags.Versions(fetch.PlaceOf(a.src))
	newer := above(list.Candidates, locked)
	// A pre-release stays in its channel until a release overtakes it.
	inChannel := func(c fetch.Candidate) bool { return c.Version.Prerelease() == "" || locked.Prerelease() != "" }
	allowed := func(c fetch.Candidate) bool { return a.demand.allows(c.Version) }
	a.expect(newer, allowed, inChannel)
	a.mixed(list)
	withdrawn := a.withdrawn(list.Candidates)
	reason, out := withdrawn(locked)
	if out {
		row.Retracted = reason
		a.say(RowRetracted)
	}
	if len(a.need) == 0 && a.failed == nil && a.asOf == nil {
		a.p.LearnRetraction(a.src, a.entry.Version, reason, out)
	}
	latest := a.first(newer, withdrawn, inChannel)
	wanted := a.first(newer, withdrawn, allowed)
	row.NothingAbove = wanted == nil && nil == a.first(newer, withdrawn, func(c fetch.Candidate) bool {
		return a.demand.root == nil || resolver.Match(*a.demand.root, c.Version)
	})
	a.gone(row, newer)
	pinned := a.demand.pinned
	if latest != nil {
		row.Latest, row.Content = latest.Version.String(), a.differs(latest.Want())
	}
	if wanted != nil && !pinned {
		row.Wanted, row.Content = wanted.Version.String(), a.differs(wanted.Want())
	}
	switch {
	case row.Wanted != "":
		a.say(RowNewer)
	case row.Latest != "" && pinned:
		a.say(RowPinned)
	case row.Latest != "":
		a.say(RowPastRange)
	}
}

// expect notes which of the newer versions a solve will most likely take.
func (a *asking) expect(newer []fetch.Candidate, allowed, latest func(fetch.Candidate) bool) {
	pick := allowed
	switch {
	case !a.purpose.update || a.demand.held || a.demand.pinned || a.repointed != "":
		return
	case a.purpose.latest:
		pick = latest
	}
	if i := slices.IndexFunc(newer, pick); i >= 0 {
		a.likely = newer[i].Commit
	}
}

// above returns the candidates over a version; list is sorted, highest first.
func above(list []fetch.Candidate, v skill.Version) []fetch.Candidate {
	for i, c := range list {
		if c.Version.Compare(v) <= 0 {
			return list[:i]
		}
	}
	return list
}

// first returns the highest candidate that pick allows and that can be used: it
// has the skill, stands, and is old enough.
func (a *asking) first(list []fetch.Candidate, withdrawn func(skill.Version) (string, bool), pick func(fetch.Candidate) bool) *fetch.Candidate {
	for i, c := range list {
		if !pick(c) {
			continue
		}
		f, ok := a.file(c.Want())
		if !ok {
			if a.failed == nil {
				a.further(list[i+1:], pick)
				return nil
			}
			continue
		}
		_, out := withdrawn(c.Version)
		if f.err == nil && !out && a.p.TooYoung(a.src, c) == "" && f.parsed(a.src).Fault == nil {
			return &list[i]
		}
	}
	return nil
}

// further asks for the next versions too, where the first ones did not do.
func (a *asking) further(list []fetch.Candidate, pick func(fetch.Candidate) bool) {
	left := a.ahead - 1
	if a.p.MinAge() > 0 { // all must be dated
		left = world.MaxAged
	}
	for _, c := range list {
		if left <= 0 {
			return
		}
		if pick(c) {
			a.file(c.Want())
			left--
		}
	}
}

// withdrawn reads what the newest release, or a registry, takes back.
func (a *asking) withdrawn(list []fetch.Candidate) func(skill.Version) (string, bool) {
	var all []parse.Retraction
	if c := newestRelease(list); c != nil {
		f, ok := a.file(c.Want())
		if ok && bytes.Contains(f.fact.Text, []byte("retract")) { // most say nothing of it and need no parsing
			if read := f.parsed(a.src); read.Parsed != nil && read.Parsed.Retract != nil {
				all = append(all, *read.Parsed.Retract)
			}
		}
	}
	if r, ok := a.p.RegistryRetractions(skill.Key(a.entry.Key), a.src); ok {
		all = append(all, r)
	}
	return world.Withdrawn(all)
}

func newestRelease(list []fetch.Candidate) *fetch.Candidate {
	for i, c := range list {
		if c.Version.Prerelease() == "" {
			return &list[i]
		}
	}
	return nil
}

// gone says that the newest release over the locked version has no skill here.
func (a *asking) gone(row *OutdatedRow, newer []fetch.Candidate) {
	c := newestRelease(newer)
	if c == nil {
		return
	}
	if f, ok := a.file(c.Want()); ok && f.fact.Absent {
		row.GoneIn, row.goneAt = c.Version.String(), string(c.Commit)
		a.say(RowGone)
	}
}

// differs reports whether the skill's own files at a commit are not the locked
// ones. What could not be looked at counts as different: no change is a claim.
func (a *asking) differs(want fetch.Want) bool {
	f, ok := a.file(want)
	return !ok || f.err != nil || string(f.fact.Tree) != a.entry.Source.Tree
}

// branch is the row of a skill that follows a branch.
func (a *asking) branch(row *OutdatedRow) {
	r, ok := a.refs.Find(a.entry.Source.Ref)
	if !ok {
		a.say(RowRefGone)
		return
	}
	if string(r.Commit()) == a.entry.Source.Commit {
		return
	}
	row.Commit = string(r.Commit())
	if a.purpose.update && !a.demand.held && !a.demand.pinned {
		a.likely = r.Commit()
	}
	f, ok := a.file(fetch.Want{Commit: r.Commit(), Ref: r.Name})
	switch {
	case !ok:
	case f.fact.Absent:
		row.GoneIn, row.goneAt = row.Commit, row.Commit
		a.say(RowGone)
	case a.differs(fetch.Want{Commit: r.Commit(), Ref: r.Name}):
		row.Content = true
		row.Latest = skill.PseudoVersion(f.fact.Time, row.Commit).String()
		if a.demand.pinned {
			a.say(RowPinned)
			return
		}
		row.Wanted = row.Latest
		a.say(RowBranchMoved)
	}
}

// pinned is the row of a skill that a requirement holds to one commit or tag.
func (a *asking) pinned(row *OutdatedRow) {
	if name, ok := strings.CutPrefix(a.entry.Source.Ref, TagRefs); ok && a.entry.Source.Tag == "" {
		commit, there := world.TagCommit(a.refs, name)
		switch {
		case !there:
			a.say(RowRefGone)
		case string(commit) != a.entry.Source.Commit:
			row.Commit = string(commit)
			a.say(RowTagMoved)
		}
	}
	list := a.tags.Versions(fetch.PlaceOf(a.src)).Candidates
	if at, ok := a.pinnedVersion(list); ok {
		list = above(list, at)
	}
	withdrawn := a.withdrawn(list)
	latest := a.first(list, withdrawn, func(c fetch.Candidate) bool {
		return c.Version.Prerelease() == "" && string(c.Commit) != a.entry.Source.Commit
	})
	if latest != nil {
		row.Latest, row.Content = latest.Version.String(), a.differs(latest.Want())
		a.say(RowPinned)
		return
	}
	head, err := fetch.DefaultBranch(a.refs, a.src)
	if len(list) > 0 || err != nil || string(head.Commit) == a.entry.Source.Commit || row.Commit != "" {
		return
	}
	if f, ok := a.file(head.Want()); ok && !f.fact.Absent && a.differs(head.Want()) {
		row.Commit, row.Content = string(head.Commit), true
		row.Latest = skill.PseudoVersion(f.fact.Time, row.Commit).String()
		a.say(RowPinned)
	}
}

// pinnedVersion is the version that a tag names at the pinned commit.
func (a *asking) pinnedVersion(list []fetch.Candidate) (skill.Version, bool) {
	for _, c := range list {
		if string(c.Commit) == a.entry.Source.Commit {
			return c.Version, true
		}
	}
	v, err := skill.ParseVersion(a.entry.Version)
	return v, err == nil && !v.IsPseudo()
}

// mixed notes that newer versions are tagged for the whole repository only.
func (a *asking) mixed(list fetch.VersionList) {
	wants := list.Mixed()
	if wants == nil {
		return
	}
	own, ok1 := a.file(wants[0])
	whole, ok2 := a.file(wants[1])
	if ok1 && ok2 && whole.fact.Time.After(own.fact.Time) {
		a.notes = append(a.notes, surveyNote{a.entry.Key, world.TagsMixed(a.src)})
	}
}
