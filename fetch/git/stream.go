package git

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/skillpm/skillpm/fetch/internal/web"
)

// wire is a two-way connection to an upload-pack: an ssh channel, a TCP
// connection to git daemon, or the pipes of a local process.
type wire interface {
	io.ReadWriteCloser
	// complaint waits a moment for the other side to end and returns what it
	// wrote to its standard error, "" if nothing.
	complaint() string
}

// streamService is an upload-pack at the other end of a wire. It connects when
// it is asked to advertise.
type streamService struct {
	connect func(ctx context.Context) (wire, error)
	count   func(n int)

	patience time.Duration

	w wire
}

func (s *streamService) stateful() bool { return true }

func (s *streamService) close() error {
	if s.w == nil {
		return nil
	}
	_ = s.w.Close() // nothing more is expected of it, and the other side may have ended it
	s.w = nil
	return nil
}

func (s *streamService) advertise(ctx context.Context) (io.ReadCloser, error) {
	_ = s.close()
	connecting, cancel := context.WithTimeoutCause(ctx, connectTimeout, errSlow)
	defer cancel()
	w, err := s.connect(connecting)
	if err != nil {
		return nil, ctxCause(connecting, err)
	}
	s.w = w
	return s.reader(ctx), nil
}

func (s *streamService) call(ctx context.Context, body []byte) (io.ReadCloser, error) {
	if s.w == nil {
		return nil, io.ErrUnexpectedEOF
	}
	r := s.reader(ctx)
	if _, err := s.w.Write(body); err != nil {
		err = r.ended(err)
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// reader reads an answer. While it is open, the end of ctx and a stall close the
// wire, which is the only way to stop a read that waits.
func (s *streamService) reader(ctx context.Context) *streamReader {
	w := s.w
	end := func() { _ = w.Close() }
	return &streamReader{w: w, r: web.Reader(w, s.patience, end), count: s.count, stop: context.AfterFunc(ctx, end)}
}

type streamReader struct {
	w     wire
	r     io.Reader // w, while it is not silent
	stop  func() bool
	count func(int)
}

func (r *streamReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if n > 0 {
		r.count(n)
		return n, nil
	}
	return n, r.ended(err)
}

// ended explains the end of a wire: by a stall, by what the other side said
// last, or by itself.
func (r *streamReader) ended(err error) error {
	switch {
	case err == nil:
		return nil
	case isSilent(err):
		return err
	}
	if text := r.w.complaint(); text != "" {
		return &remoteError{cleanMessage([]byte(text))}
	}
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return err
}

func (r *streamReader) Close() error {
	r.stop()
	return nil
}
