package decide

import (
	"context"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/index"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// loadIndex answers everything about one site. An index knows no versions: what
// it lists now is the one candidate of each name, and the lock pins its bytes.
func (u *Provider) loadIndex(ctx context.Context, w *work) error {
	client, err := u.p.IndexClient()
	if err == nil {
		var list *index.Index
		if list, err = client.List(ctx, w.src); err == nil {
			for _, want := range append(w.versions, w.at...) {
				u.setVersions(want.Name, want.Source, u.indexVersions(list, want, w.src))
				u.setAt(want.Name, want.Source, want.Ref, atAnswer{state: resolver.Loaded})
			}
		}
	}
	if world.IsOffline(err) {
		for _, want := range append(w.versions, w.at...) {
			u.setVersions(want.Name, want.Source, resolver.Versions{State: resolver.Unavailable})
			u.setAt(want.Name, want.Source, want.Ref, atAnswer{state: resolver.Unavailable})
		}
		err = nil
	}
	if err != nil {
		return err
	}
	for _, want := range w.reqs {
		if err := u.loadIndexRequirements(ctx, want); err != nil {
			return err
		}
	}
	return u.loadDigests(ctx, w)
}

func (u *Provider) indexVersions(list *index.Index, want resolver.Wanted, src skill.Source) resolver.Versions {
	v := resolver.Versions{State: resolver.Loaded}
	for _, e := range list.Skills {
		if e.Name != string(want.Name) {
			continue
		}
		c := resolver.Candidate{Name: want.Name, Source: want.Source, Commit: e.Digest.Hex()}
		k := u.Remember(c, Candidate{Source: src, Want: fetch.Want{Commit: fetch.ID(e.Digest.Hex())}})
		u.mu.Lock()
		k.index = &world.IndexArtifact{Url: e.URL, Kind: e.Type, Digest: e.Digest}
		u.mu.Unlock()
		v.List = []resolver.Candidate{c}
		return v
	}
	v.NotFound = "the index of " + src.Identity() + " lists no skill `" + string(want.Name) + "`"
	return v
}

func (u *Provider) loadIndexRequirements(ctx context.Context, want resolver.Wanted) error {
	k := u.Candidate(want.Candidate)
	got, err := u.p.Obtain(ctx, []world.Request{{Key: want.Name, Src: k.Source, Want: k.Want, Index: k.index}})
	if err != nil {
		return err
	}
	s, _, err := u.p.Stored(got[0].Tree).Parsed(k.Source)
	if err != nil {
		u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Loaded, Unreadable: err.Error()})
		return nil
	}
	edges, steps, err := u.locate(ctx, world.Parent{Key: want.Name, Src: k.Source, Want: k.Want, Skill: s})
	if err != nil {
		return err
	}
	u.mu.Lock()
	k.parsed, k.chain = s, steps
	u.mu.Unlock()
	u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Loaded, Edges: edges})
	return nil
}
