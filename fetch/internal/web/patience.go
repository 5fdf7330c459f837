package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// DefaultPatience is how long a peer may be silent.
const DefaultPatience = time.Minute

// minBytes is the least that must come within two patiences of waiting for it: a
// peer that sends a byte now and then could else hold a run for ever. It is more
// than the packets by which git says every five seconds that it still counts
// objects, so counting is bounded too.
const minBytes = 1024

// Silent says that a peer was given up because it sent nothing, or hardly
// anything. It is a timeout in the sense of net.Error.
type Silent struct {
	// Bytes came within Time.
	Bytes int64
	Time  time.Duration
}

func (s *Silent) Error() string {
	if s.Bytes == 0 {
		return fmt.Sprintf("nothing came for %s", s.Time)
	}
	return fmt.Sprintf("only %d bytes came in %s", s.Bytes, s.Time.Round(time.Second))
}

// Timeout implements net.Error.
func (s *Silent) Timeout() bool { return true }

// Temporary implements net.Error.
func (s *Silent) Temporary() bool { return true }

// watch bounds the waits for one peer. Only time spent waiting counts: a caller
// that takes a while between two reads is no fault of the peer.
type watch struct {
	patience time.Duration
	stop     func(cause error)
	timer    *time.Timer

	mu      sync.Mutex
	silent  *Silent
	waiting bool
	since   time.Time     // when the present wait began
	waited  time.Duration // since the rate was last looked at
	bytes   int64         // that came since
}

// newWatch returns a watch that calls stop, which must end the wait.
func newWatch(patience time.Duration, stop func(cause error)) *watch {
	w := &watch{patience: patience, stop: stop}
	w.timer = time.AfterFunc(patience, func() { w.giveUp(&Silent{Time: patience}) })
	w.timer.Stop()
	return w
}

func (w *watch) giveUp(s *Silent) {
	w.mu.Lock()
	w.silent = s
	w.mu.Unlock()
	w.stop(s)
}

// begin starts a wait.
func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since, w.waiting = time.Now(), true
	w.timer.Reset(w.patience)
}

// moved notes that bytes went the other way, and starts a wait anew.
func (w *watch) moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting {
		w.timer.Reset(w.patience)
	}
}

// answered ends the wait for an answer, which has no rate.
func (w *watch) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = false
	w.timer.Stop()
}

// got ends a wait in which n bytes came, and gives up a peer that is too slow.
func (w *watch) got(n int) {
	w.mu.Lock()
	w.waiting = false
	w.timer.Stop()
	w.waited += time.Since(w.since)
	w.bytes += int64(n)
	slow := &Silent{w.bytes, w.waited}
	over := w.waited >= 2*w.patience
	if over {
		w.waited, w.bytes = 0, 0
	}
	w.mu.Unlock()
	if over && slow.Bytes < minBytes {
		w.giveUp(slow)
	}
}

// explain returns why the watch gave up where it did, else err.
func (w *watch) explain(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.silent != nil {
		return w.silent
	}
	return err
}

// received is an answer's body.
type received struct {
	io.ReadCloser
	w      *watch
	cancel context.CancelCauseFunc
}

func (r *received) Read(b []byte) (int, error) {
	return r.w.read(r.ReadCloser, b)
}

func (r *received) Close() error {
	r.cancel(context.Canceled)
	return r.ReadCloser.Close()
}

func (w *watch) read(r io.Reader, b []byte) (int, error) {
	w.begin()
	n, err := r.Read(b)
	w.got(n)
	if !errors.Is(err, io.EOF) {
		err = w.explain(err)
	}
	return n, err
}

// sent is a request's body: while it goes out, an answer cannot be expected.
type sent struct {
	io.ReadCloser
	w *watch
}

func (s *sent) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	s.w.moved()
	return n, err
}

// Reader returns r with the waits in it bounded by patience, 0 for
// DefaultPatience. When the peer is given up, stop is called, which must end a
// Read that waits; Read then returns a *Silent. It is for one reader at a time.
func Reader(r io.Reader, patience time.Duration, stop func()) io.Reader {
	if patience == 0 {
		patience = DefaultPatience
	}
	return &patient{r, newWatch(patience, func(error) { stop() })}
}

type patient struct {
	r io.Reader
	w *watch
}

func (p *patient) Read(b []byte) (int, error) { return p.w.read(p.r, b) }
