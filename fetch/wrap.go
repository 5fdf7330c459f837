package fetch

import (
	"context"
	"errors"
	"time"

	"github.com/skillpm/skillpm/skill"
)

var errNotYet = errors.New("not yet")

// Temporary wraps an error that a later attempt may not meet.
type Temporary struct {
	Err error
	// After is how long the server asked to wait, 0 if it did not say.
	After time.Duration
}

func (t *Temporary) Error() string { return t.Err.Error() }

// Unwrap returns the error.
func (t *Temporary) Unwrap() error { return t.Err }

// Once is a Source that makes equal calls once and shares the answer.
type Once struct{}

// NewOnce wraps src. Snapshots it hands out stay open until Close, so that a
// later phase of a run opens a repository again for nothing.
func NewOnce(src Source) *Once { return &Once{} }

// Refs implements Source.
func (o *Once) Refs(ctx context.Context, repo skill.Source, prefixes ...string) (*Refs, error) {
	return nil, errNotYet
}

// Open implements Source.
func (o *Once) Open(ctx context.Context, repo skill.Source, wants []Want) (Snapshot, error) {
	return nil, errNotYet
}

// Close closes every snapshot that was handed out.
func (o *Once) Close() error { return nil }

// RetryOptions tunes NewRetry; the zero value means four attempts, half a
// second doubling to eight, and the real clock.
type RetryOptions struct {
	Attempts int
	First    time.Duration
	Max      time.Duration
	// Wait sleeps for d or until ctx is done.
	Wait func(ctx context.Context, d time.Duration) error
}

// NewRetry wraps src: calls that fail with *Temporary are made again. The error
// of the last attempt is returned without the *Temporary around it.
func NewRetry(src Source, opt RetryOptions) Source { return src }

// Event is one finished call of a Source.
type Event struct {
	Call string // "refs", "open" or "blobs"
	Repo string // identity of the repository
	Took time.Duration
	Err  error
}

// NewLog wraps src and reports each finished call, snapshots' Blobs included.
// report is called from several goroutines.
func NewLog(src Source, report func(Event)) Source { return src }

// NewOffline returns a Source that refuses every call with fetch_offline.
func NewOffline() Source { return nil }
