package flock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/flock"
)

func TestLockExcludes(t *testing.T) {
	mutex := flock.New(filepath.Join(t.TempDir(), "lock"))
	counter := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			lock, err := mutex.Acquire(t.Context(), flock.Options{Wait: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			counter++ // the race detector sees the order through the mutex
			if err := lock.Release(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if counter != 8 {
		t.Errorf("counter %d", counter)
	}
}

// Another process holds the lock: the wait is announced once with its number,
// ends in project_locked, and is over when the process dies.
func TestOtherProcess(t *testing.T) {
	if path := os.Getenv("FLOCK_TEST_PATH"); path != "" {
		lock, err := flock.Acquire(t.Context(), path, flock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin) // until killed
		lock.Release()
		return
	}
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0], "-test.run=^TestOtherProcess$")
	cmd.Env = append(os.Environ(), "FLOCK_TEST_PATH="+path)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 5)
	if _, err := out.Read(line); err != nil {
		t.Fatal(err)
	}

	_, err = flock.Acquire(t.Context(), path, flock.Options{What: "this project"})
	holder := fmt.Sprintf("process %d", cmd.Process.Pid)
	if diag.CodeOf(err) != diag.ProjectLocked || !strings.Contains(err.Error(), holder) {
		t.Errorf("without waiting: %v, want project_locked naming %s", err, holder)
	}

	var announced []string
	_, err = flock.Acquire(t.Context(), path, flock.Options{
		Wait:     2 * flock.AnnounceAfter,
		Announce: func(message string) { announced = append(announced, message) },
	})
	if diag.CodeOf(err) != diag.ProjectLocked {
		t.Errorf("after waiting: %v", err)
	}
	if len(announced) != 1 || !strings.Contains(announced[0], holder) {
		t.Errorf("announced %q, want once, naming %s", announced, holder)
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, err = flock.Acquire(ctx, path, flock.Options{Wait: time.Minute, Announce: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}

	waiting := make(chan struct{})
	go func() {
		<-waiting
		cmd.Process.Kill()
	}()
	lock, err := flock.Acquire(t.Context(), path, flock.Options{Wait: time.Minute, Announce: func(string) { close(waiting) }})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if err := lock.Release(); err != nil {
		t.Errorf("a second Release: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the lock file went: %v", err)
	}
}
