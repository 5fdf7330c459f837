package par_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillpm/skillpm/internal/par"
)

func TestDoBoundsAndOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		out := make([]int, 10)
		err := par.Do(t.Context(), 3, len(out), func(_ context.Context, i int) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Duration(10-i) * time.Second)
			out[i] = i
			return nil
		})
		if err != nil || most.Load() != 3 || !slices.IsSorted(out) {
			t.Errorf("%v, %d at once, %v", err, most.Load(), out)
		}
	})
}

func TestDoReturnsTheRealFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("bad")
		err := par.Do(t.Context(), 4, 4, func(ctx context.Context, i int) error {
			if i == 2 {
				time.Sleep(time.Second)
				return bad
			}
			<-ctx.Done()
			if i == 0 { // as a library reports it
				return fmt.Errorf("read: %w", ctx.Err())
			}
			return context.Cause(ctx)
		})
		if err != bad {
			t.Errorf("%v", err)
		}
	})
}

// A call that wraps the cancellation fails for that reason all the same.
func TestDoPassesOverWrappedCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("bad")
		err := par.Do(t.Context(), 2, 2, func(ctx context.Context, i int) error {
			if i == 1 {
				time.Sleep(time.Second)
				return bad
			}
			<-ctx.Done()
			return fmt.Errorf("reading: %w", ctx.Err())
		})
		if !errors.Is(err, bad) {
			t.Errorf("%v", err)
		}
	})
}

func TestEachRunsAll(t *testing.T) {
	bad := errors.New("bad")
	errs := par.Each(t.Context(), 2, 3, func(_ context.Context, i int) error {
		if i == 1 {
			return bad
		}
		return nil
	})
	if !slices.Equal(errs, []error{nil, bad, nil}) {
		t.Errorf("%v", errs)
	}
}

func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o par.Once[string, int]
		var made atomic.Int64
		slow := func() (int, error) {
			made.Add(1)
			time.Sleep(time.Second)
			return 7, nil
		}
		for range 5 {
			go func() {
				if v, err := o.Get(t.Context(), "a", slow); v != 7 || err != nil {
					t.Errorf("%d, %v", v, err)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		if made.Load() != 1 || !slices.Equal(o.Values(), []int{7}) {
			t.Errorf("made %d times, %v", made.Load(), o.Values())
		}
		o.Forget("a")
		if _, err := o.Get(t.Context(), "a", slow); err != nil || made.Load() != 2 {
			t.Errorf("%v, made %d times", err, made.Load())
		}
	})
}

func TestOnceForgetsFailuresAndCancelledCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o par.Once[string, int]
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := o.Get(ctx, "a", func() (int, error) { <-ctx.Done(); return 0, fmt.Errorf("read: %w", ctx.Err()) })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}()
		synctest.Wait()
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		if v, err := o.Get(t.Context(), "a", func() (int, error) { return 3, nil }); v != 3 || err != nil {
			t.Errorf("whoever waits goes on for a caller that was cancelled: %d, %v", v, err)
		}
	})
}
