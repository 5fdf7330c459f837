package fetch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/skill"
)

// Once is a Source that makes equal calls once and shares the answer: a listing
// that covers a later one answers it, and so does a snapshot that has all the
// commits of a later Open. Failures are not kept.
type Once struct {
	src   Source
	lists par.Once[string, *Refs]
	opens par.Once[string, Snapshot]

	mu     sync.Mutex
	listed map[string][]listing // by repository
	held   map[string][]holding
}

type listing struct {
	prefixes []string
	refs     *Refs
}

type holding struct {
	commits map[ID]bool
	snap    Snapshot
}

// NewOnce wraps src. Snapshots it hands out stay open until its own Close, so
// that a later phase of a run opens a repository again for nothing.
func NewOnce(src Source) *Once {
	return &Once{src: src, listed: map[string][]listing{}, held: map[string][]holding{}}
}

// Refs implements Source.
func (o *Once) Refs(ctx context.Context, repo skill.Source, prefixes ...string) (*Refs, error) {
	name := repo.Repository()
	if refs := o.covered(name, prefixes); refs != nil {
		return refs, nil
	}
	key := name + "\x00" + strings.Join(slices.Sorted(slices.Values(prefixes)), "\x00")
	refs, err := o.lists.Get(ctx, key, func() (*Refs, error) { return o.src.Refs(ctx, repo, prefixes...) })
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listed[name] = append(o.listed[name], listing{prefixes, refs})
	return refs, nil
}

// covered returns the answer from an earlier, wider listing.
func (o *Once) covered(name string, prefixes []string) *Refs {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.listed[name] {
		if covers(l.prefixes, prefixes) {
			return l.refs.Select(prefixes...)
		}
	}
	return nil
}

func covers(wide, narrow []string) bool {
	if len(wide) == 0 {
		return true
	}
	for _, n := range narrow {
		if !slices.ContainsFunc(wide, func(w string) bool { return strings.HasPrefix(n, w) }) {
			return false
		}
	}
	return len(narrow) > 0
}

// Open implements Source. Closing the snapshot does nothing.
func (o *Once) Open(ctx context.Context, repo skill.Source, wants []Want) (Snapshot, error) {
	name := repo.Repository()
	if s := o.holding(name, wants); s != nil {
		return shared{s}, nil
	}
	commits := map[ID]bool{}
	key := name
	for _, w := range wants {
		commits[w.Commit] = true
	}
	ids := make([]string, 0, len(commits))
	for id := range commits {
		ids = append(ids, string(id))
	}
	slices.Sort(ids)
	key += "\x00" + strings.Join(ids, "\x00")
	s, err := o.opens.Get(ctx, key, func() (Snapshot, error) {
		s, err := o.src.Open(ctx, repo, wants)
		if err != nil {
			return nil, err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.held[name] = append(o.held[name], holding{commits, s})
		return s, nil
	})
	if err != nil {
		return nil, err
	}
	return shared{s}, nil
}

func (o *Once) holding(name string, wants []Want) Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range o.held[name] {
		if !slices.ContainsFunc(wants, func(w Want) bool { return !h.commits[w.Commit] }) {
			return h.snap
		}
	}
	return nil
}

// Close closes every snapshot that was handed out. Calls must have ended.
func (o *Once) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, list := range o.held {
		for _, h := range list {
			errs = append(errs, h.snap.Close())
		}
	}
	clear(o.held)
	return errors.Join(errs...)
}

// shared is a snapshot that its users do not close.
type shared struct{ Snapshot }

func (shared) Close() error { return nil }
