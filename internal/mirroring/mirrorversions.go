package mirroring

import (
	"context"
	"errors"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// maxCarried bounds the versions of one skill that travel with a lock: the
// newest in range, which is what add, update and lock ask for first.
const maxCarried = 50

// carried is one repository whose versions travel.
type carried struct {
	src    skill.Source // without subpath
	skills []carriedSkill
	locked []world.Request
}

// carriedSkill is a skill with the ranges that the locks put on it.
type carriedSkill struct {
	key    skill.Key
	src    skill.Source
	ranges []string
}

// carryVersions finds what beside the locked skills must travel for add, update
// and lock to work in the air gap: the listing of every repository, and each
// version in range with its files. It returns the further skills, and the
// documents that describe them. A repository that cannot be read is a fault of
// the run and no reason to leave the others behind.
func carryVersions(ctx context.Context, p *world.World, locks []NamedLock, orders []mirrorOrder) (more []mirrorOrder, docs []oci.Item, faults diag.List, err error) {
	seen := map[skill.Digest]bool{}
	for _, o := range orders {
		seen[o.Digest] = true
	}
	repositories, err := carriedRepositories(locks)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, c := range repositories {
		list, v, err := carryRepository(ctx, p, c)
		if ctx.Err() != nil {
			return nil, nil, nil, ctx.Err()
		}
		if err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		docs = append(docs, oci.VersionsItem(v))
		for _, o := range list {
			if !seen[o.Digest] {
				seen[o.Digest] = true
				more = append(more, o)
			}
		}
	}
	return more, docs, faults, nil
}

// carriedRepositories collects the git repositories of the locks, sorted.
func carriedRepositories(locks []NamedLock) ([]*carried, error) {
	byID := map[string]*carried{}
	var ids []string
	for _, l := range locks {
		demanded, err := rangesOf(l.Lock)
		if err != nil {
			return nil, err
		}
		for _, e := range l.Lock.Skills {
			o, ok := world.WantOf(e)
			if !ok || o.Src.Kind() != skill.SourceGit {
				continue
			}
			id := o.Src.Repository()
			c := byID[id]
			if c == nil {
				c = &carried{src: o.Src.WithSubpath("")}
				byID[id], ids = c, append(ids, id)
			}
			c.locked = append(c.locked, o)
			ranges := demanded[e.Key]
			i := slices.IndexFunc(c.skills, func(s carriedSkill) bool { return s.src.Identity() == o.Src.Identity() })
			if i < 0 {
				c.skills = append(c.skills, carriedSkill{key: o.Key, src: o.Src, ranges: ranges})
				continue
			}
			c.skills[i].ranges = append(c.skills[i].ranges, ranges...)
		}
	}
	slices.Sort(ids)
	out := make([]*carried, len(ids))
	for i, id := range ids {
		out[i] = byID[id]
	}
	return out, nil
}

func carryRepository(ctx context.Context, p *world.World, c *carried) ([]mirrorOrder, *oci.Versions, error) {
	refs, err := p.Listing(ctx, c.src)
	if err != nil {
		return nil, nil, err
	}
	orders, err := obtainable(ctx, p, c.inRange(refs))
	if err != nil {
		return nil, nil, err
	}
	v := &oci.Versions{Source: c.src.Identity(), Head: refs.Head, HeadCommit: string(refs.HeadID)}
	for _, r := range refs.List {
		v.Refs = append(v.Refs, oci.VersionRef{Name: r.Name, ID: string(r.ID), Peeled: string(r.Peeled)})
	}
	v.Candidates, err = candidatesOf(ctx, p, c, orders)
	return orders, v, err
}

// inRange lists the locked skills and the versions that the locks' ranges allow.
func (c *carried) inRange(refs *fetch.Refs) []mirrorOrder {
	var out []mirrorOrder
	for _, o := range c.locked {
		out = append(out, mirrorOrder{o, string(o.Key)})
	}
	for _, s := range c.skills {
		n := 0
		for _, v := range fetch.Versions(refs, fetch.PlaceOf(s.src)).Candidates {
			inRange := slices.ContainsFunc(s.ranges, func(rng string) bool { return resolver.Match(rng, v.Version) })
			if !inRange || len(v.Conflicts) > 0 || n == maxCarried {
				continue
			}
			n++
			out = append(out, mirrorOrder{world.Request{Key: s.key, Src: s.src, Want: v.Want()}, string(s.key) + " " + v.Version.String()})
		}
	}
	return out
}

// obtainable brings the skills into the store and leaves out tags whose tree has
// no such skill, or one that no install would take: they are no candidates.
func obtainable(ctx context.Context, p *world.World, list []mirrorOrder) ([]mirrorOrder, error) {
	all := make([]world.Request, len(list))
	for i, o := range list {
		all[i] = o.Request
	}
	got, errs := p.ObtainEach(ctx, all)
	out := list[:0]
	for i, o := range list {
		err := errs[i]
		if diag.Exit(err) == 1 || errors.Is(err, context.Canceled) { // network, not content
			return nil, err
		}
		if err != nil || got[i].Tree == nil {
			continue
		}
		o.Digest, o.Bundle = got[i].Digest, got[i].Bundle
		out = append(out, o)
	}
	return out, nil
}

// candidatesOf describes the skills for a solver without network.
func candidatesOf(ctx context.Context, p *world.World, c *carried, orders []mirrorOrder) ([]oci.Candidate, error) {
	files := make([]world.WantedFile, len(orders))
	for i, o := range orders {
		files[i] = world.WantedFile{Src: o.Src, Want: o.Want}
	}
	if err := p.WarmFacts(ctx, c.src, files); err != nil {
		return nil, err
	}
	var out []oci.Candidate
	for _, o := range orders {
		fact := p.Fact(o.Src.Repository(), o.Want.Commit, o.Src.Subpath())
		if fact.Text == nil {
			continue
		}
		out = append(out, oci.Candidate{
			Commit: string(o.Want.Commit), Path: o.Src.Subpath(), Time: fact.Time, Tree: string(fact.Tree),
			Digest: o.Digest, Bundle: o.Bundle, File: fact.File, Text: fact.Text,
		})
	}
	return out, nil
}
