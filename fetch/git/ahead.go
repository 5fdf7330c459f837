package git

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/par"
)

// A locked skill's directory is known by its id before its commit was read. A
// server that hands out any object answers a want of it with everything below,
// so the files come in the same round trip as the commit and the directories
// that prove where they belong. Nothing rests on the id: files are looked up by
// what the commit's own directories name.

// The words remembered of a host: whether it hands out directories by id.
const (
	treesHandedOut = "yes"
	treesRefused   = "no"
)

func treesFact(host string) string { return "trees " + host }

// distinct returns ids without repetitions, in their order.
func distinct(ids []oid) []oid {
	seen := make(map[oid]bool, len(ids))
	var out []oid
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// expected returns the directories to ask for ahead. On one connection for all
// calls the requests would only follow each other, as they do without it.
func (s *session) expected(f format, wants []fetch.Want) []oid {
	if s.svc.stateful() {
		return nil
	}
	if word, _ := s.src.recall(treesFact(s.host)); word == treesRefused {
		return nil
	}
	var ids []oid
	for _, w := range wants {
		if id, err := f.parse(w.Tree); w.Tree != "" && err == nil {
			ids = append(ids, id)
		}
	}
	if ids = distinct(ids); len(ids) > maxWants {
		return nil
	}
	return ids
}

// loadWith is load of commits and their directories, with the files below trees
// fetched at the same time. Only the commits' failure counts.
func (s *snapshot) loadWith(ctx context.Context, commits, trees []oid) error {
	if len(trees) == 0 {
		return s.load(ctx, commits, 1, false)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var ahead *pack
	errs := par.Each(ctx, 2, 2, func(ctx context.Context, i int) (err error) {
		if i == 1 {
			ahead, err = s.loadAhead(ctx, trees)
			return err
		}
		if err = s.load(ctx, commits, 1, false); err != nil {
			stop(err) // the files alone are of no use
		}
		return err
	})
	if errs[0] != nil || !s.names(trees) {
		if ahead != nil {
			ahead.store.discard()
		}
		return errs[0]
	}
	switch {
	case ahead != nil:
		s.session.src.note(treesFact(s.session.host), treesHandedOut)
		s.mu.Lock()
		s.packs = append(s.packs, ahead)
		s.mu.Unlock()
	case refusal(errs[1]):
		s.session.src.note(treesFact(s.session.host), treesRefused)
	}
	return nil
}

// refusal reports whether a server that has a directory does not hand it out.
func refusal(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		return !e.temporary() && e.status != 401
	}
	_, ok := errors.AsType[*remoteError](err)
	return ok
}

// names reports whether one of trees is a directory below the commits.
func (s *snapshot) names(trees []oid) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range trees {
		if _, ok := s.trees[id]; ok {
			return true
		}
	}
	return false
}

// errNotAhead says that a server sends files unasked, or asks for another way.
var errNotAhead = errors.New("files are not fetched ahead from this server")

// loadAhead fetches directories by id with all that is below them. Where the
// server is not what it is taken for, the request for the commits finds out.
func (s *snapshot) loadAhead(ctx context.Context, trees []oid) (*pack, error) {
	c, _, err := s.session.caps(ctx, s.format)
	if err != nil {
		return nil, err
	}
	if c.version != 2 || !c.filter || c.format != s.format {
		return nil, errNotAhead
	}
	var store *packStore
	err = s.session.once(ctx, c, func(c caps) ([]byte, error) {
		return fetchRequest(c, s.session.src.agent, fetchArgs{wants: trees}), nil
	}, func(p *pktReader, c caps) (err error) {
		store, err = readPack(p, c)
		return err
	})
	if err != nil {
		store.discard()
		return nil, err
	}
	p := &pack{format: s.format, store: store}
	nothing := func(plumbing.ObjectType) bool { return false }
	if err := p.index(ctx, nothing, func(object) error { return nil }); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return p, nil
}
