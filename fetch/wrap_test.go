package fetch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// scripted is a Source whose answers the test gives.
type scripted struct {
	refs  func(ctx context.Context) (*fetch.Refs, error)
	open  func(ctx context.Context, wants []fetch.Want) (fetch.Snapshot, error)
	calls atomic.Int64
}

func (s *scripted) Refs(ctx context.Context, _ skill.Source, _ ...string) (*fetch.Refs, error) {
	s.calls.Add(1)
	return s.refs(ctx)
}

func (s *scripted) Open(ctx context.Context, _ skill.Source, wants []fetch.Want) (fetch.Snapshot, error) {
	s.calls.Add(1)
	return s.open(ctx, wants)
}

type blobs struct {
	fetch.Snapshot
	visit func(ids []fetch.ID, visit func(fetch.ID, []byte) error) error
}

func (b *blobs) Blobs(_ context.Context, ids []fetch.ID, visit func(fetch.ID, []byte) error) error {
	return b.visit(ids, visit)
}

func repoOf(t *testing.T) skill.Source {
	t.Helper()
	src, err := skill.ParseSource("acme/skills")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func busy(after time.Duration) error {
	return &fetch.Temporary{Err: diag.New(diag.FetchFailed, "busy"), After: after}
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := []error{busy(0), busy(3 * time.Second), nil}
		s := &scripted{}
		s.refs = func(context.Context) (*fetch.Refs, error) { return &fetch.Refs{}, fail[s.calls.Load()-1] }
		start := time.Now()
		if _, err := fetch.NewRetry(s, fetch.RetryOptions{}).Refs(t.Context(), repoOf(t)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 3500*time.Millisecond {
			t.Errorf("waited %v, want half a second and the three that the server asked for", took)
		}
	})
}

func TestRetryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{refs: func(context.Context) (*fetch.Refs, error) { return nil, busy(0) }}
		_, err := fetch.NewRetry(s, fetch.RetryOptions{}).Refs(t.Context(), repoOf(t))
		if _, still := errors.AsType[*fetch.Temporary](err); still || diag.CodeOf(err) != diag.FetchFailed {
			t.Errorf("%v", err)
		}
		if n := s.calls.Load(); n != 4 {
			t.Errorf("%d attempts", n)
		}
		s.calls.Store(0)
		s.refs = func(context.Context) (*fetch.Refs, error) { return nil, diag.New(diag.FetchAuth, "no") }
		if _, err := fetch.NewRetry(s, fetch.RetryOptions{}).Refs(t.Context(), repoOf(t)); diag.CodeOf(err) != diag.FetchAuth || s.calls.Load() != 1 {
			t.Errorf("%v after %d attempts: what is not temporary is not tried again", err, s.calls.Load())
		}
	})
}

// A server that asks for more than a run waits is given up at once; what is
// waited for is told.
func TestRetryAnnouncesAndBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		opt := fetch.RetryOptions{Announce: func(m string) { said = append(said, m) }}
		start := time.Now()
		s := &scripted{refs: func(context.Context) (*fetch.Refs, error) { return nil, busy(time.Hour) }}
		_, err := fetch.NewRetry(s, opt).Refs(t.Context(), repoOf(t))
		if e := diag.All(err)[0]; s.calls.Load() != 1 || time.Since(start) != 0 || e.Hint != "try again in 1h0m0s" || len(e.Details) != 1 || e.Reason != fetch.ReasonTemporary {
			t.Errorf("%+v after %d attempts and %v", e, s.calls.Load(), time.Since(start))
		}
		s.calls.Store(0)
		s.refs = func(context.Context) (*fetch.Refs, error) { return nil, busy(25 * time.Second) }
		if _, err := fetch.NewRetry(s, opt).Refs(t.Context(), repoOf(t)); err == nil || s.calls.Load() != 3 || time.Since(start) != 50*time.Second {
			t.Errorf("%v after %d attempts and %v", err, s.calls.Load(), time.Since(start))
		}
		if len(said) != 2 || said[0] != "busy; trying again in 25s" {
			t.Errorf("announced %q", said)
		}
	})
}

func TestRetryStopsWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{refs: func(context.Context) (*fetch.Refs, error) { return nil, busy(time.Minute) }}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if _, err := fetch.NewRetry(s, fetch.RetryOptions{}).Refs(ctx, repoOf(t)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if time.Since(start) != time.Second {
			t.Errorf("it took %v", time.Since(start))
		}
	})
}

func TestRetryAsksForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked [][]fetch.ID
		snap := &blobs{visit: func(ids []fetch.ID, visit func(fetch.ID, []byte) error) error {
			asked = append(asked, ids)
			if err := visit(ids[0], nil); err != nil {
				return err
			}
			if len(asked) == 1 {
				return busy(0)
			}
			return nil
		}}
		s := &scripted{open: func(context.Context, []fetch.Want) (fetch.Snapshot, error) { return snap, nil }}
		got, err := fetch.NewRetry(s, fetch.RetryOptions{}).Open(t.Context(), repoOf(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		var visited []fetch.ID
		err = got.Blobs(t.Context(), []fetch.ID{"a", "b"}, func(id fetch.ID, _ []byte) error { visited = append(visited, id); return nil })
		if err != nil || len(visited) != 2 || len(asked) != 2 || len(asked[1]) != 1 || asked[1][0] != "b" {
			t.Errorf("visited %v, asked %v, %v", visited, asked, err)
		}
	})
}

func TestLogAndOffline(t *testing.T) {
	var events []fetch.Event
	src := fetch.NewLog(fetch.NewOffline(), func(e fetch.Event) { events = append(events, e) })
	_, err := src.Refs(t.Context(), repoOf(t))
	if diag.CodeOf(err) != diag.FetchOffline {
		t.Errorf("%v", err)
	}
	if _, err := src.Open(t.Context(), repoOf(t), nil); diag.CodeOf(err) != diag.FetchOffline {
		t.Errorf("%v", err)
	}
	if len(events) != 2 || events[0].Call != "refs" || events[1].Repo != "github.com/acme/skills" || events[1].Err == nil {
		t.Errorf("%+v", events)
	}
}
