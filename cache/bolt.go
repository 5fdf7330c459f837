package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// indexFormat is the layout of the buckets; another one is begun anew.
const indexFormat = "1"

var (
	metaBucket = []byte("skillpm")
	formatKey  = []byte("format")
)

// openSlice is how long one attempt to open waits, so that a cancelled run stops
// soon.
const openSlice = 100 * time.Millisecond

var errIndexFormat = errors.New("it has another format")

// idle is how long a reader is kept open for the next Get: opening costs 0.2 ms,
// which a thousand look-ups in a row would feel, and a writer of another run
// waits seconds, so it does not feel this.
const idle = 20 * time.Millisecond

// reader is the index opened read-only, shared by all Gets of a moment.
type reader struct {
	mu    sync.Mutex
	db    *bbolt.DB
	users int
	timer *time.Timer
}

// acquire returns the open index; release must follow.
func (r *reader) acquire(open func() (*bbolt.DB, error)) (*bbolt.DB, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db == nil {
		db, err := open()
		if err != nil {
			return nil, err
		}
		r.db = db
	}
	r.users++
	if r.timer != nil {
		r.timer.Stop()
	}
	return r.db, nil
}

func (r *reader) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users == 0 {
		r.timer = time.AfterFunc(idle, r.close)
	}
}

// close closes the index unless somebody reads.
func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db != nil && r.users == 0 {
		_ = guarded(r.db.Close)
		r.db = nil
	}
}

// read hands f a getter over one bucket; f is not called when the index cannot
// be had. The values are valid during f only.
func (x *index) read(bucket string, f func(get func(key string) []byte)) {
	if info, err := os.Stat(x.path); err != nil || info.Size() == 0 {
		return // not there yet
	}
	x.writing.RLock()
	defer x.writing.RUnlock()
	err := guarded(func() error {
		db, err := x.reader.acquire(func() (*bbolt.DB, error) {
			x.readOpens.Add(1)
			return x.open(context.Background(), true)
		})
		if err != nil {
			return err
		}
		defer x.reader.release()
		return db.View(func(tx *bbolt.Tx) error {
			if meta := tx.Bucket(metaBucket); meta == nil || string(meta.Get(formatKey)) != indexFormat {
				return errIndexFormat
			}
			if b := tx.Bucket([]byte(bucket)); b != nil {
				f(func(key string) []byte { return b.Get([]byte(key)) })
			}
			return nil
		})
	})
	x.judge(err, "what it knows is found out again")
}

// write stores pending in one transaction.
func (x *index) write(ctx context.Context, pending map[string]map[string][]byte, rebuild bool) {
	x.writing.Lock() // our own reader would keep our writer out
	defer x.writing.Unlock()
	x.reader.close()
	if rebuild {
		_ = os.Remove(x.path)
	}
	err := x.writeOnce(ctx, pending)
	if err != nil && ctx.Err() == nil && !isWait(err) {
		// Damaged, or of another format: begin a new one, since no fact in it is
		// needed.
		x.corrupt(err)
		_ = os.Remove(x.path)
		err = x.writeOnce(ctx, pending)
	}
	x.judge(err, "what this run learnt is lost")
}

func (x *index) writeOnce(ctx context.Context, pending map[string]map[string][]byte) error {
	return guarded(func() error {
		db, err := x.open(ctx, false)
		if err != nil {
			return err
		}
		defer db.Close()
		holder := x.path + ".holder"
		_ = os.WriteFile(holder, []byte(strconv.Itoa(os.Getpid())), 0o600)
		defer os.Remove(holder)
		x.writes.Add(1)
		return db.Update(func(tx *bbolt.Tx) error { return store(tx, pending) })
	})
}

func store(tx *bbolt.Tx, pending map[string]map[string][]byte) error {
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	if format := meta.Get(formatKey); format != nil && string(format) != indexFormat {
		return errIndexFormat
	}
	if err := meta.Put(formatKey, []byte(indexFormat)); err != nil {
		return err
	}
	for bucket, entries := range pending {
		b, err := tx.CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return err
		}
		for key, value := range entries {
			if value == nil {
				err = b.Delete([]byte(key))
			} else {
				err = b.Put([]byte(key), seal(bucket, key, value))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// open waits for the file in slices, up to x.wait.
func (x *index) open(ctx context.Context, readOnly bool) (*bbolt.DB, error) {
	start := time.Now()
	for {
		db, err := bbolt.Open(x.path, 0o600, &bbolt.Options{Timeout: openSlice, ReadOnly: readOnly, NoFreelistSync: true})
		if !errors.Is(err, bolterrors.ErrTimeout) {
			return db, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if waited := time.Since(start); waited >= x.wait {
			return nil, &waitError{waited}
		}
	}
}

// waitError says that another run held the file all the time.
type waitError struct{ waited time.Duration }

func (e *waitError) Error() string { return fmt.Sprintf("held by another run for %s", e.waited) }

func isWait(err error) bool {
	_, ok := errors.AsType[*waitError](err)
	return ok
}

// judge turns what happened to the index into a note; none of it is an error of
// the run.
func (x *index) judge(err error, lost string) {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case isWait(err):
		wait, _ := errors.AsType[*waitError](err)
		x.busy(wait.waited, lost)
	default:
		x.corrupt(err)
	}
}

// guarded turns a panic into an error: bbolt panics on pages that make no sense,
// and a truncated mapping faults.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("unreadable page: %v", v)
		}
	}()
	return f()
}
