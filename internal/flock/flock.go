// Package flock is the lock that keeps two runs out of one project: an advisory
// lock on a file, held until Release or the end of the process.
//
// Waiting is announced, so that nobody thinks a run hangs, and bounded. The file
// stays when the lock is released: removing it would let two runs hold two files
// of one name.
//
//	lock, err := flock.Acquire(ctx, path, flock.Options{Announce: ui.Note})
//	if err != nil { … } // project_locked after the wait
//	defer lock.Release()
package flock

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
)

// AnnounceAfter is how long Acquire waits silently: shorter waits are nobody's
// concern.
const AnnounceAfter = 300 * time.Millisecond

// poll is the pause between two tries. The system's blocking call cannot be
// cancelled, and 20 ms is below what a person notices.
const poll = 20 * time.Millisecond

// Options are what Acquire may be told.
type Options struct {
	// Wait bounds the waiting; 0 tries once.
	Wait time.Duration
	// Announce is called once, from Acquire, after AnnounceAfter; nil is silent.
	Announce func(message string)
	// What is locked, for messages: "this project". Empty means that.
	What string
}

// Mutex is the lock of one file. Goroutines that share state under the lock
// share the Mutex too; separate ones on one path still keep each other out.
type Mutex struct {
	path string
	// mu is taken with the file lock. It is redundant: the race detector cannot
	// see file locks, and this tells it of the order they give.
	mu sync.Mutex
}

// New returns the lock on the file at path, which is created where needed; its
// directory must exist. Nothing is opened yet.
func New(path string) *Mutex { return &Mutex{path: path} }

// Lock is a held lock.
type Lock struct {
	mutex *Mutex
	file  *flock.Flock
}

// Acquire is New(path).Acquire.
func Acquire(ctx context.Context, path string, opt Options) (*Lock, error) {
	return New(path).Acquire(ctx, opt)
}

// Acquire takes the lock. Errors: project_locked when opt.Wait is over, ctx's
// error, permission_denied, disk_full. Safe for concurrent use.
func (m *Mutex) Acquire(ctx context.Context, opt Options) (*Lock, error) {
	file := flock.New(m.path, flock.SetPermissions(0o600))
	start, announced := time.Now(), false
	for {
		ok, err := m.try(file)
		if err != nil {
			return nil, fsx.Diag(err, "lock "+opt.what())
		}
		if ok {
			sign(m.path)
			return &Lock{mutex: m, file: file}, nil
		}
		waited := time.Since(start)
		if waited >= opt.Wait {
			return nil, locked(m.path, opt, waited)
		}
		if !announced && waited >= AnnounceAfter && opt.Announce != nil {
			announced = true
			opt.Announce(fmt.Sprintf("waiting for another run%s that holds %s", holder(m.path), opt.what()))
		}
		if err := pause(ctx, poll); err != nil {
			return nil, err
		}
	}
}

func (m *Mutex) try(file *flock.Flock) (bool, error) {
	if !m.mu.TryLock() {
		return false, nil
	}
	ok, err := file.TryLock()
	if !ok || err != nil {
		m.mu.Unlock()
	}
	return ok, err
}

func (opt Options) what() string {
	if opt.What == "" {
		return "this project"
	}
	return opt.What
}

func locked(path string, opt Options, waited time.Duration) error {
	return diag.New(diag.ProjectLocked, "another run%s holds %s", holder(path), opt.what()).
		WithDetail("this run (process %d) waited %s for `%s`", os.Getpid(), waited.Round(time.Millisecond), path).
		WithHint("let the other run end, then try again")
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// sign writes our process id into the locked file, for the message of who waits.
// It is a courtesy: a file that cannot be written is still locked.
func sign(path string) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	_ = os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}

// holder returns " (process N)" as the holder of the lock signed, or nothing.
func holder(path string) string {
	b, err := os.ReadFile(path)
	if err != nil || len(b) > 20 {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// Release gives the lock back. A second call does nothing.
func (l *Lock) Release() error {
	if l == nil || l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	defer l.mutex.mu.Unlock()
	return file.Close()
}
