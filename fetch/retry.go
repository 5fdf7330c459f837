package fetch

import (
	"context"
	"errors"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Temporary wraps an error that a later attempt may not meet.
type Temporary struct {
	Err error
	// After is how long the server asked to wait, 0 if it did not say.
	After time.Duration
}

func (t *Temporary) Error() string { return t.Err.Error() }

// Unwrap returns the error.
func (t *Temporary) Unwrap() error { return t.Err }

// RetryOptions tunes NewRetry; the zero value means four attempts, half a
// second doubling to eight, and the real clock.
type RetryOptions struct {
	Attempts int
	First    time.Duration
	Max      time.Duration
	// Wait sleeps for d or until ctx is done.
	Wait func(ctx context.Context, d time.Duration) error
}

// NewRetry wraps src: calls that fail with *Temporary are made again, after the
// server's own wish or a delay that doubles. The error of the last attempt is
// returned without the *Temporary around it. A repeated Blobs asks only for what
// has not been visited yet.
func NewRetry(src Source, opt RetryOptions) Source { return &retry{src, opt.withDefaults()} }

// Retry calls f as a Source of NewRetry calls its methods.
func Retry(ctx context.Context, opt RetryOptions, f func() error) error {
	return (&retry{opt: opt.withDefaults()}).do(ctx, f)
}

func (opt RetryOptions) withDefaults() RetryOptions {
	if opt.Attempts == 0 {
		opt.Attempts = 4
	}
	if opt.First == 0 {
		opt.First = 500 * time.Millisecond
	}
	if opt.Max == 0 {
		opt.Max = 8 * time.Second
	}
	if opt.Wait == nil {
		opt.Wait = wait
	}
	return opt
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type retry struct {
	src Source
	opt RetryOptions
}

func (r *retry) do(ctx context.Context, f func() error) error {
	delay := r.opt.First
	for attempt := 1; ; attempt++ {
		err := f()
		t, temporary := errors.AsType[*Temporary](err)
		if !temporary {
			return err
		}
		if attempt >= r.opt.Attempts {
			return giveUp(t.Err)
		}
		if e := r.opt.Wait(ctx, max(delay, t.After)); e != nil {
			return e
		}
		delay = min(2*delay, r.opt.Max)
	}
}

// ReasonTemporary is the Reason of a finding that was tried again in vain, and
// may be gone later.
const ReasonTemporary = "temporary"

func giveUp(err error) error {
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Reason == "" {
		e.Reason = ReasonTemporary
	}
	return err
}

func (r *retry) Refs(ctx context.Context, repo skill.Source, prefixes ...string) (refs *Refs, err error) {
	err = r.do(ctx, func() (err error) {
		refs, err = r.src.Refs(ctx, repo, prefixes...)
		return err
	})
	return refs, err
}

func (r *retry) Open(ctx context.Context, repo skill.Source, wants []Want) (Snapshot, error) {
	var s Snapshot
	err := r.do(ctx, func() (err error) {
		s, err = r.src.Open(ctx, repo, wants)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &retrySnapshot{s, r}, nil
}

type retrySnapshot struct {
	Snapshot
	r *retry
}

func (s *retrySnapshot) Blobs(ctx context.Context, ids []ID, visit func(id ID, data []byte) error) error {
	visited := map[ID]bool{}
	return s.r.do(ctx, func() error {
		var todo []ID
		for _, id := range ids {
			if !visited[id] {
				todo = append(todo, id)
			}
		}
		return s.Snapshot.Blobs(ctx, todo, func(id ID, data []byte) error {
			if visited[id] {
				return nil
			}
			visited[id] = true
			return visit(id, data)
		})
	})
}
