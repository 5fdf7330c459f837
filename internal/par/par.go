// Package par is the concurrency that skillpm uses: a bounded loop over indices
// and a table in which each key's value is made once. Results go into a slice
// by index, so what comes out never depends on the schedule.
//
//	out := make([]result, len(list))
//	err := par.Do(ctx, 8, len(list), func(ctx context.Context, i int) error {
//		var err error
//		out[i], err = read(ctx, list[i])
//		return err
//	})
package par

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/skillpm/skillpm/internal/diag"
)

// Do calls f for 0 ≤ i < n, at most limit at a time, and returns the error of
// the lowest index that failed. After a failure no further call starts and the
// context of those running is cancelled; one that fails only for that reason
// does not hide the first failure. A panic in f is a failure.
func Do(ctx context.Context, limit, n int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(limit, 1))
	errs := make([]error, n)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			errs[i] = diag.Guard(func() error { return f(ctx, i) })
			return errs[i]
		})
	}
	first := g.Wait()
	if first == nil {
		return nil
	}
	for _, err := range errs {
		if err != nil && context.Cause(ctx) != nil && !isCancel(err) {
			return err
		}
	}
	return first
}

func isCancel(err error) bool { return errors.Is(err, context.Canceled) }

// Each calls f for 0 ≤ i < n, at most limit at a time, all of them whatever
// fails, and returns each call's error in the order of the indices. When ctx is
// done the rest get its error.
func Each(ctx context.Context, limit, n int, f func(ctx context.Context, i int) error) []error {
	errs := make([]error, n)
	var g errgroup.Group
	g.SetLimit(max(limit, 1))
	for i := range n {
		g.Go(func() error {
			if errs[i] = context.Cause(ctx); errs[i] == nil {
				errs[i] = diag.Guard(func() error { return f(ctx, i) })
			}
			return nil
		})
	}
	_ = g.Wait()
	return errs
}

// Once makes the value of each key once; concurrent callers wait for the first.
// A failure is not kept: the next caller tries again. The zero value is ready.
type Once[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V]
}

type call[V any] struct {
	done chan struct{}
	v    V
	err  error
}

// Get returns key's value, made by f if there is none yet. When ctx ends before
// another caller's f has, Get returns ctx's cause. If the caller that runs f is
// cancelled, those waiting run f themselves.
func (o *Once[K, V]) Get(ctx context.Context, key K, f func() (V, error)) (V, error) {
	for {
		o.mu.Lock()
		c, running := o.calls[key]
		if !running {
			c = &call[V]{done: make(chan struct{})}
			if o.calls == nil {
				o.calls = make(map[K]*call[V])
			}
			o.calls[key] = c
		}
		o.mu.Unlock()
		if !running {
			return o.run(key, c, f)
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			var zero V
			return zero, context.Cause(ctx)
		}
		if c.err == nil || !isCancel(c.err) {
			return c.v, c.err
		}
	}
}

func (o *Once[K, V]) run(key K, c *call[V], f func() (V, error)) (V, error) {
	finished := false
	defer func() {
		if !finished { // f panicked: let waiters try for themselves
			c.err = context.Canceled
		}
		if c.err != nil {
			o.mu.Lock()
			delete(o.calls, key)
			o.mu.Unlock()
		}
		close(c.done)
	}()
	c.v, c.err = f()
	finished = true
	return c.v, c.err
}

// Forget drops key's value, so that the next Get makes it again.
func (o *Once[K, V]) Forget(key K) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.calls[key]; c != nil {
		select {
		case <-c.done:
			delete(o.calls, key)
		default: // being made anew already
		}
	}
}

// Values returns the values made so far, in no particular order.
func (o *Once[K, V]) Values() []V {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []V
	for _, c := range o.calls {
		select {
		case <-c.done:
			if c.err == nil {
				list = append(list, c.v)
			}
		default:
		}
	}
	return list
}
