package git

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
)

// snapshot is the fetch.Snapshot of this package: commits and trees in memory,
// files fetched when they are asked for, or held in packs where the server sent
// them unasked.
type snapshot struct {
	session *session
	format  format
	wants   []oid

	mu        sync.Mutex
	commits   map[oid]commitInfo
	trees     map[oid][]byte
	treeBytes int64
	packs     []*pack // with files
	cache     map[oid][]byte
	cached    int64
	full      bool // a whole depth-1 pack is there: nothing more can come
}

func newSnapshot(s *session, f format, wants []oid) *snapshot {
	return &snapshot{
		session: s, format: f, wants: wants,
		commits: map[oid]commitInfo{}, trees: map[oid][]byte{}, cache: map[oid][]byte{},
	}
}

// Commit implements fetch.Snapshot.
func (s *snapshot) Commit(id fetch.ID) (fetch.Commit, error) {
	o, err := s.format.parse(id)
	if err != nil {
		return fetch.Commit{}, s.missing("commit", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.commits[o]
	if !ok {
		return fetch.Commit{}, s.missing("commit", id)
	}
	return fetch.Commit{ID: id, Tree: s.format.text(c.tree), Time: c.time}, nil
}

// Tree implements fetch.Snapshot.
func (s *snapshot) Tree(id fetch.ID) ([]fetch.Entry, error) {
	o, err := s.format.parse(id)
	if err != nil {
		return nil, s.missing("directory", id)
	}
	s.mu.Lock()
	data, ok := s.trees[o]
	s.mu.Unlock()
	if !ok {
		return nil, s.missing("directory", id)
	}
	list, err := parseTree(s.format, data)
	return list, explain(err, s.session.repo)
}

func (s *snapshot) missing(what string, id fetch.ID) error {
	return diag.New(diag.PackInvalid, "%s: the server did not send %s %s", s.session.repo, what, diag.Escape(string(id))).
		WithHint("the repository is damaged, or the host alters the data")
}

// Close implements fetch.Snapshot.
func (s *snapshot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.packs {
		errs = append(errs, p.store.Close())
	}
	s.packs, s.cache = nil, map[oid][]byte{}
	return errors.Join(errs...)
}

// load fetches commits and trees, and files too if blobs says so or the server
// cannot leave them out.
func (s *snapshot) load(ctx context.Context, wants []oid, depth int, blobs bool) error {
	s.session.src.progress.Phase(s.session.repo, "trees")
	store, used, err := s.session.fetchPack(ctx, s.format, fetchArgs{wants: wants, depth: depth, noBlobs: !blobs})
	if err != nil {
		return err
	}
	p := &pack{format: s.format, store: store}
	err = p.index(ctx, func(t plumbing.ObjectType) bool { return t == plumbing.CommitObject || t == plumbing.TreeObject }, s.keep)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	if used.filter && !blobs {
		return store.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs, s.full = append(s.packs, p), true
	return nil
}

// keep takes commits and trees out of a pack.
func (s *snapshot) keep(o object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o.kind {
	case plumbing.CommitObject:
		c, err := parseCommit(s.format, o.data)
		if err != nil {
			return err
		}
		s.commits[o.id] = c
	case plumbing.TreeObject:
		if s.treeBytes += int64(len(o.data)); s.treeBytes > maxTreeBytes {
			return tooLarge("the repository's directories have more than %d bytes", int64(maxTreeBytes))
		}
		s.trees[o.id] = slices.Clone(o.data)
	}
	return nil
}

// Blobs implements fetch.Snapshot.
func (s *snapshot) Blobs(ctx context.Context, ids []fetch.ID, visit func(id fetch.ID, data []byte) error) error {
	todo, err := s.parseAll(ids)
	if err != nil {
		return err
	}
	err = s.visitAll(ctx, todo, visit)
	if e, ok := errors.AsType[visitError](err); ok {
		return e.error
	}
	return explain(err, s.session.repo)
}

func (s *snapshot) visitAll(ctx context.Context, ids []oid, visit func(id fetch.ID, data []byte) error) error {
	todo, err := s.visitHeld(ctx, ids, visit)
	if err != nil || len(todo) == 0 {
		return err
	}
	s.session.src.progress.Phase(s.session.repo, "files")
	for chunk := range slices.Chunk(todo, maxWants) {
		if err := s.fetchBlobs(ctx, chunk, visit); err != nil {
			return err
		}
	}
	return nil
}

// visitError carries an error of a caller's visit past explain.
type visitError struct{ error }

func (s *snapshot) parseAll(ids []fetch.ID) ([]oid, error) {
	list := make([]oid, 0, len(ids))
	seen := make(map[oid]bool, len(ids))
	for _, id := range ids {
		o, err := s.format.parse(id)
		if err != nil {
			return nil, s.missing("file", id)
		}
		if !seen[o] {
			seen[o] = true
			list = append(list, o)
		}
	}
	return list, nil
}

// visitHeld visits what is in memory or in packs and returns the rest.
func (s *snapshot) visitHeld(ctx context.Context, ids []oid, visit func(id fetch.ID, data []byte) error) ([]oid, error) {
	var rest []oid
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		data, ok, err := s.held(id)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			rest = append(rest, id)
			continue
		}
		if err := visit(s.format.text(id), data); err != nil {
			return nil, visitError{err}
		}
	}
	return rest, nil
}

func (s *snapshot) held(id oid) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data, ok := s.cache[id]; ok {
		return data, true, nil
	}
	for _, p := range s.packs {
		if i, ok := p.byID[id]; ok {
			kind, data, err := p.read(i)
			if err == nil && kind != plumbing.BlobObject {
				err = errNoFile
			}
			return data, true, err
		}
	}
	if s.full {
		return nil, false, errMissingBlob
	}
	return nil, false, nil
}

var errNoFile = errors.New("a directory names as a file what is none")

var errMissingBlob = errors.New("the server did not send a file that a directory names")

// fetchBlobs fetches files by id and visits them. A server that does not hand
// out single files is asked for the whole commits instead.
func (s *snapshot) fetchBlobs(ctx context.Context, ids []oid, visit func(id fetch.ID, data []byte) error) error {
	store, _, err := s.session.fetchPack(ctx, s.format, fetchArgs{wants: ids})
	if notOurRef(err) || errors.Is(err, errUnreachable) {
		return s.fetchWhole(ctx, ids, visit)
	}
	if err != nil {
		return err
	}
	defer store.Close()
	missing := make(map[oid]bool, len(ids))
	for _, id := range ids {
		missing[id] = true
	}
	p := &pack{format: s.format, store: store}
	err = p.index(ctx, func(t plumbing.ObjectType) bool { return t == plumbing.BlobObject }, func(o object) error {
		if o.kind != plumbing.BlobObject || !missing[o.id] {
			return nil // more than was asked for does no harm
		}
		delete(missing, o.id)
		s.remember(o.id, o.data)
		if err := visit(s.format.text(o.id), o.data); err != nil {
			return visitError{err}
		}
		return nil
	})
	if err == nil && len(missing) > 0 {
		err = errMissingBlob
	}
	return err
}

func (s *snapshot) fetchWhole(ctx context.Context, ids []oid, visit func(id fetch.ID, data []byte) error) error {
	if err := s.load(ctx, s.wants, 1, true); err != nil {
		return err
	}
	_, err := s.visitHeld(ctx, ids, visit)
	return err
}

// remember keeps small files, such as a SKILL.md that was read to resolve and
// will be read again to install.
func (s *snapshot) remember(id oid, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(data) > maxCachedBlob || s.cached+int64(len(data)) > maxCachedBlobs {
		return
	}
	s.cached += int64(len(data))
	s.cache[id] = slices.Clone(data)
}
