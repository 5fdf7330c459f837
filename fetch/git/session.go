package git

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/skillpm/skillpm/fetch"
)

// service is a server's upload-pack, reached over some transport.
type service interface {
	// advertise begins and returns the stream with the server's first words.
	advertise(ctx context.Context) (io.ReadCloser, error)
	// call sends a request and returns the stream with its answer. A stateful
	// service must have advertised before.
	call(ctx context.Context, body []byte) (io.ReadCloser, error)
	// stateful reports whether one connection serves all calls (ssh, git://).
	stateful() bool
	close() error
}

// session is one repository on one server. Its methods are safe for concurrent
// use; calls on a stateful service follow each other.
type session struct {
	src  *Source
	repo string // identity
	host string // key of what is remembered about the host
	svc  service

	mu    sync.Mutex // guards what follows, and on a stateful service the calls
	known *caps      // as advertised in this run
	live  bool       // a stateful service has advertised on this connection
}

// exchange makes one request and reads its answer with read. The first request
// to an unknown http host is made on an assumption (see assumed); when that
// proves wrong the server is asked what it can and the request is made anew.
func (s *session) exchange(ctx context.Context, f format, request func(c caps) ([]byte, error), read func(p *pktReader, c caps) error) error {
	if s.svc.stateful() {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	c, sure, err := s.caps(ctx, f)
	if err != nil {
		return err
	}
	err = s.once(ctx, c, request, read)
	if err == nil {
		if !sure {
			s.src.remember(s.host, c)
		}
		return nil
	}
	if !errors.Is(err, errMoved) && (sure || !doubtful(err)) {
		return err
	}
	if c, err = s.ask(ctx); err != nil {
		return err
	}
	return s.once(ctx, c, request, read)
}

// doubtful reports whether err may come from a wrong assumption about the
// server, or from having been redirected.
func doubtful(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status == 500 || !e.temporary() && e.status != 401 && e.status != 403
	}
	if e, ok := errors.AsType[*remoteError](err); ok {
		return !notOurRef(e)
	}
	return errors.Is(err, errNotGit) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// caps returns what is known or assumed of the server, and whether it said so
// itself in this run.
func (s *session) caps(ctx context.Context, f format) (c caps, sure bool, err error) {
	if s.svc.stateful() {
		if !s.live {
			c, err := s.askLocked(ctx)
			return c, true, err
		}
		return *s.known, true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil {
		return *s.known, true, nil
	}
	fact, ok := s.src.recall(s.host)
	if !ok {
		return assumed(f), false, nil
	}
	if c, ok := capsOfFact(fact, f); ok {
		return c, false, nil
	}
	c, err = s.askLocked(ctx)
	return c, true, err
}

// ask reads the server's advertisement.
func (s *session) ask(ctx context.Context) (caps, error) {
	if !s.svc.stateful() {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return s.askLocked(ctx)
}

func (s *session) askLocked(ctx context.Context) (caps, error) {
	s.src.progress.Phase(s.repo, "connect")
	r, err := s.svc.advertise(ctx)
	if err != nil {
		return caps{}, s.broken(ctx, err)
	}
	c, err := readAdvertisement(r)
	if e := r.Close(); err == nil && e != nil {
		err = e
	}
	if err != nil {
		return caps{}, s.broken(ctx, err)
	}
	s.known, s.live = c, true
	if !s.svc.stateful() { // the others say it anew on each connection
		s.src.remember(s.host, *c)
	}
	return *c, nil
}

func (s *session) once(ctx context.Context, c caps, request func(c caps) ([]byte, error), read func(p *pktReader, c caps) error) error {
	body, err := request(c)
	if err != nil {
		return err
	}
	r, err := s.svc.call(ctx, body)
	if err != nil {
		return s.broken(ctx, err)
	}
	err = read(newPktReader(r), c)
	if e := r.Close(); err == nil && e != nil {
		err = e
	}
	if err != nil {
		return s.broken(ctx, err)
	}
	if c.version != 2 && s.svc.stateful() {
		s.live = false // a v0 connection ends after one fetch
		return s.svc.close()
	}
	return nil
}

// broken gives up the connection after an error.
func (s *session) broken(ctx context.Context, err error) error {
	if s.svc.stateful() {
		s.live = false
		_ = s.svc.close()
	}
	return ctxCause(ctx, err)
}

// refs lists the repository's refs.
func (s *session) refs(ctx context.Context, prefixes []string) (*fetch.Refs, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.src.progress.Phase(s.repo, "list")
	var out *fetch.Refs
	err := s.exchange(ctx, sha1Format, func(c caps) ([]byte, error) {
		if c.version != 2 {
			return nil, errV0Listing
		}
		return lsRefsRequest(c, s.src.agent, prefixes), nil
	}, func(p *pktReader, c caps) (err error) {
		out, err = readLsRefs(p, c.format)
		return err
	})
	if errors.Is(err, errV0Listing) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.known.refs.Select(prefixes...), nil
	}
	if err != nil {
		return nil, err
	}
	return out.Select(prefixes...), nil // a prefix is only a wish to the server
}

// errFormat says that a commit's id is of another length than the repository's.
var errFormat = errors.New("the repository's object ids are of another format")

// errV0Listing says that the refs have come with the advertisement.
var errV0Listing = errors.New("v0 lists refs first")

// fetchPack fetches a pack into a store. On v0, want says what cannot be wanted.
func (s *session) fetchPack(ctx context.Context, f format, a fetchArgs) (store *packStore, used caps, err error) {
	err = s.exchange(ctx, f, func(c caps) ([]byte, error) {
		if used = c; c.format != f {
			return nil, errFormat
		}
		a := a
		a.noBlobs = a.noBlobs && c.filter
		if c.version == 2 {
			return fetchRequest(c, s.src.agent, a), nil
		}
		for _, id := range a.wants {
			if !c.wantable(id) {
				return nil, errUnreachable
			}
		}
		return v0Request(c, s.src.agent, a), nil
	}, func(p *pktReader, c caps) (err error) {
		store.discard() // an answer before this one was of no use
		store, err = readPack(p, c)
		return err
	})
	if err != nil {
		store.discard()
		return nil, used, err
	}
	return store, used, nil
}

// readPack reads an answer with a pack.
func readPack(p *pktReader, c caps) (*packStore, error) {
	open := openPack
	if c.version != 2 {
		open = func(p *pktReader) (io.Reader, error) { return openV0Pack(p, c) }
	}
	r, err := open(p)
	if err != nil {
		return nil, err
	}
	store := &packStore{}
	if _, err := io.Copy(store, r); err != nil {
		_ = store.Close()
		return nil, err
	}
	return store, nil
}
