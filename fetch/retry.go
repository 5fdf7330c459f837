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
// second doubling to eight, a minute in all, silence and the real clock.
type RetryOptions struct {
	Attempts int
	First    time.Duration
	Max      time.Duration
	// Total bounds the waits of one call together: a server that asks for more
	// is given up at once, since the user decides better about a longer wait.
	Total time.Duration
	// Announce is told of every wait longer than AnnounceAfter, from several
	// goroutines at once.
	Announce func(message string)
	// Wait sleeps for d or until ctx is done.
	Wait func(ctx context.Context, d time.Duration) error
}

// AnnounceAfter is the longest wait that nobody is told of.
const AnnounceAfter = time.Second

// NewRetry wraps src: calls that fail with *Temporary are made again, after the
// server's own wish or a delay that doubles. The error of the last attempt is
// returned without the *Temporary around it. A repeated Blobs asks only for what
// has not been visited yet.
func NewRetry(src Source, opt RetryOptions) Source { return &retry{src, opt.withDefaults()} }

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
	if opt.Total == 0 {
		opt.Total = time.Minute
	}
	if opt.Announce == nil {
		opt.Announce = func(string) {}
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
	delay, waited := r.opt.First, time.Duration(0)
	for attempt := 1; ; attempt++ {
		err := f()
		t, temporary := errors.AsType[*Temporary](err)
		if !temporary {
			return err
		}
		if attempt >= r.opt.Attempts {
			return giveUp(t.Err)
		}
		next := max(delay, t.After)
		if waited += next; waited > r.opt.Total {
			return askedTooMuch(t)
		}
		if next > AnnounceAfter {
			r.opt.Announce(headline(t.Err) + "; trying again in " + next.Round(time.Second).String())
		}
		if e := r.opt.Wait(ctx, next); e != nil {
			return e
		}
		delay = min(2*delay, r.opt.Max)
	}
}

// ReasonTemporary is the Reason of a finding that was tried again in vain, and
// may be gone later.
const ReasonTemporary = "temporary"

// askedTooMuch gives up a server that is not to be asked again for longer than
// this run waits.
func askedTooMuch(t *Temporary) error {
	err := giveUp(t.Err)
	if e, ok := errors.AsType[*diag.Error](err); ok && t.After > 0 {
		after := t.After.Round(time.Second)
		e.WithDetail("the server asked to wait %s, which is longer than one run waits", after).WithHint("try again in %s", after)
	}
	return err
}

func headline(err error) string {
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

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
