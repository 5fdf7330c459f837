package world

import (
	"strings"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/skill"
)

// MaxAged bounds how many versions of a skill are dated under min_age.
const MaxAged = 64

// ReadAhead returns the versions whose SKILL.md is read with a listing: those a
// solve will most likely ask for. Under min_age it is all that must be dated.
func ReadAhead(p *workspace.Project, list []fetch.Candidate) []fetch.Candidate {
	if p.MinAge() > 0 {
		return list[:min(len(list), MaxAged)]
	}
	return FirstVersions(list)
}

// TooYoung says why a version may not be used yet under min_age, or "". A tag's
// age counts from when this machine first saw it at its commit. Of tags that
// were there when the repository was first listed that is not known; they count
// from their commit's time, which the repository's owner could set, and one
// whose commit was not read counts as new.
func (p *World) TooYoung(src skill.Source, c fetch.Candidate) string {
	limit := p.MinAge()
	if limit <= 0 {
		return ""
	}
	now := p.Opt.Now().UTC()
	first, known := p.firstSeen(src.Repository(), c.Tag, string(c.Commit))
	if !known {
		first = p.dateOf(src, c, now)
	}
	if age := now.Sub(first); age < limit {
		return "first seen " + age.Round(time.Minute).String() + " ago, min_age is " + limit.String()
	}
	return ""
}

// dateOf decides from when a tag counts that was not seen before, and keeps it.
func (p *World) dateOf(src skill.Source, c fetch.Candidate, now time.Time) time.Time {
	first := now
	if p.newToUs(src.Repository(), now) {
		t := p.Fact(src.Repository(), c.Commit, src.Subpath()).Time
		if t.IsZero() || !t.Before(now) {
			return now // not read: nothing is known that would be worth keeping
		}
		first = t
	}
	p.setFirstSeen(first, src.Repository(), c.Tag, string(c.Commit))
	return first
}

// newToUs reports whether no earlier run listed the repository under min_age.
func (p *Local) newToUs(repository string, now time.Time) bool {
	listed, known := p.firstSeen(repository)
	if !known {
		p.setFirstSeen(now, repository)
		return true
	}
	return listed.Equal(now) || !listed.Before(p.Began)
}

func (p *Local) firstSeen(parts ...string) (time.Time, bool) {
	data, ok := p.Cache.Get(bucketSeen, strings.Join(parts, "\x00"))
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(data))
	return t, err == nil
}

func (p *Local) setFirstSeen(t time.Time, parts ...string) {
	p.Cache.Put(bucketSeen, strings.Join(parts, "\x00"), []byte(t.UTC().Format(time.RFC3339Nano)))
}
