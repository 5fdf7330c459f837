package git

import (
	"context"
	"errors"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
)

// open fetches the wanted commits with their trees, all in one request where
// the server hands out any commit, and beside it the files of the directories
// that are expected below them.
func (s *session) open(ctx context.Context, wants []fetch.Want) (*snapshot, error) {
	f, err := formatOf(wants[0].Commit)
	if err != nil {
		return nil, diag.New(diag.RefNotFound, "%s: %v", s.repo, err)
	}
	var ids []oid
	for _, w := range wants {
		id, err := f.parse(w.Commit)
		if err != nil {
			return nil, diag.New(diag.RefNotFound, "%s: %v", s.repo, err)
		}
		ids = append(ids, id)
	}
	snap := newSnapshot(s, f, ids)
	err = snap.loadWith(ctx, distinct(ids), s.expected(f, wants))
	switch {
	case errors.Is(err, errFormat):
		err = s.gone(wants[0], err)
	case notOurRef(err) || errors.Is(err, errUnreachable):
		err = s.openReachable(ctx, snap, wants, err)
	}
	if err == nil {
		err = snap.complete(wants)
	}
	if err != nil {
		return nil, errors.Join(err, snap.Close())
	}
	return snap, nil
}

// complete checks that every wanted commit came, with its root directory.
func (s *snapshot) complete(wants []fetch.Want) error {
	for i, id := range s.wants {
		c, ok := s.commits[id]
		if !ok {
			return s.session.notCommit(wants[i])
		}
		if _, ok := s.trees[c.tree]; !ok {
			return s.missing("directory", s.format.text(c.tree))
		}
	}
	return nil
}

// notCommit says that the server handed out what was wanted, but no commit of
// that id: the id is a tag object's, a directory's or a file's, or the server
// sent something else.
func (s *session) notCommit(w fetch.Want) error {
	return diag.New(diag.RefNotFound, "%s: `%s` is no commit", s.repo, diag.Escape(string(w.Commit))).
		WithHint("name the commit that the tag points at")
}

// openReachable fetches commits one by one from a server that hands out tips
// only: from the ref that is known to reach each, deeper and deeper.
func (s *session) openReachable(ctx context.Context, snap *snapshot, wants []fetch.Want, why error) error {
	for i, w := range wants {
		if _, ok := snap.commits[snap.wants[i]]; ok {
			continue
		}
		err := snap.load(ctx, snap.wants[i:i+1], 1, false)
		if notOurRef(err) || errors.Is(err, errUnreachable) {
			err = s.deepen(ctx, snap, snap.wants[i], w.Ref)
		}
		if notOurRef(err) || errors.Is(err, errUnreachable) {
			return s.gone(w, why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deepen looks for commit id below the tip of ref.
func (s *session) deepen(ctx context.Context, snap *snapshot, id oid, ref string) error {
	tip, err := s.tip(ctx, snap.format, ref)
	if err != nil {
		return err
	}
	for depth := 16; depth <= maxDeepen; depth *= 8 {
		before := len(snap.commits)
		if err := snap.load(ctx, []oid{tip}, depth, false); err != nil {
			return err
		}
		if _, ok := snap.commits[id]; ok {
			return nil
		}
		if len(snap.commits)-before < depth && depth > 16 { // the whole history was there
			break
		}
	}
	return errUnreachable
}

// tip returns the object that ref names on the server.
func (s *session) tip(ctx context.Context, f format, ref string) (oid, error) {
	if ref == "" {
		return oid{}, errUnreachable
	}
	refs, err := s.refs(ctx, []string{ref})
	if err != nil {
		return oid{}, err
	}
	for _, r := range refs.List {
		if r.Name == ref {
			return f.parse(r.ID)
		}
	}
	return oid{}, errUnreachable
}

// gone is the refusal for a commit that the server has not, or does not hand out.
func (s *session) gone(w fetch.Want, why error) error {
	return diag.New(diag.CommitGone, "%s: commit %s cannot be had", s.repo, w.Commit).WithCause(why).
		WithHint("it never existed, or its branch or tag was rewritten; a mirror may still hold the skill, else `skillpm update` chooses another")
}
