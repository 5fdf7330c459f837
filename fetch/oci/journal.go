package oci

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillpm/skillpm/internal/diag"
)

// The files that keep runs apart, all in the folder's skillpm directory:
//
//	lock               held shared by every run that stores, exclusively by GC
//	index.lock         held while index.json is read, merged and replaced
//	push-<n>.lock      held by a run as long as it lives
//	push-<n>.journal   a line for each item stored that index.json may lack
//
// A journal whose lock nobody holds is a killed run's; whoever opens the folder
// for writing next checks its items and takes them into index.json.
const (
	lockName      = "lock"
	indexLockName = "index.lock"
	pushPrefix    = "push-"
	journalExt    = ".journal"
	journalLock   = ".lock"
)

const (
	lockPoll = 20 * time.Millisecond
	// lockWait bounds waiting for another run: index.json of 100,000 items is
	// merged in a fraction of a second, and GC says at once that it has to wait.
	lockWait = 30 * time.Second
)

// session is one run's time of storing.
type session struct {
	shared  *flock.Flock
	alive   *flock.Flock
	journal *os.File
}

// begin starts the session, once.
func (f *folder) begin(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.session != nil {
		return nil
	}
	shared := flock.New(f.private(lockName))
	if err := f.acquire(ctx, shared.TryRLockContext); err != nil {
		return err
	}
	s := &session{shared: shared}
	if err := s.start(f.private(pushPrefix + "*" + journalLock)); err != nil {
		s.end()
		return err
	}
	f.session = s
	return nil
}

// start takes the run's own lock before its journal exists: so a journal without
// a holder is always a dead one.
func (s *session) start(pattern string) error {
	tmp, err := os.CreateTemp(filepath.Dir(pattern), filepath.Base(pattern))
	if err != nil {
		return err
	}
	tmp.Close()
	s.alive = flock.New(tmp.Name())
	if ok, err := s.alive.TryLock(); err != nil || !ok {
		return fmt.Errorf("lock %s: %w", tmp.Name(), err)
	}
	name := strings.TrimSuffix(tmp.Name(), journalLock) + journalExt
	s.journal, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	return err
}

// end releases the locks. The journal stays unless forget was called.
func (s *session) end() {
	if s.journal != nil {
		s.journal.Close()
	}
	if s.alive != nil {
		s.alive.Close()
	}
	s.shared.Close()
}

func (f *folder) private(name string) string { return filepath.Join(f.path, descriptorDir, name) }

// acquire waits for a lock, at most lockWait.
func (f *folder) acquire(ctx context.Context, try func(context.Context, time.Duration) (bool, error)) error {
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	ok, err := try(limited, lockPoll)
	switch {
	case ok:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		return diag.New(diag.ProjectLocked, "another run holds the mirror `dir:%s`", f.path).
			WithHint("let the other run end, then try again")
	}
	return err
}

// record appends an item to the journal, before its descriptor file appears.
func (f *folder) record(tag string, d ocispec.Descriptor) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = f.session.journal.Write(append(line, '\n'))
	return err
}

// commit takes this run's items into index.json and ends its session.
func (f *folder) commit(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.session
	if s == nil {
		return nil
	}
	name := s.journal.Name()
	err := f.updateIndex(ctx, func() (change, error) {
		add, err := readJournal(name)
		return change{add: add}, err
	})
	if err != nil {
		return err
	}
	f.session = nil
	s.journal.Close()
	err = os.Remove(name)
	s.end()
	os.Remove(strings.TrimSuffix(name, journalExt) + journalLock)
	return err
}

// close ends the session without commit: the journal is left for recover.
func (f *folder) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.session != nil {
		f.session.end()
		f.session = nil
	}
	return f.files.close()
}

// recover takes in the journals of runs that died.
func (f *folder) recover(ctx context.Context) error {
	entries, err := os.ReadDir(f.private("."))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), journalExt) {
			continue
		}
		if err := f.recoverJournal(ctx, f.private(e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) recoverJournal(ctx context.Context, name string) error {
	alive := flock.New(strings.TrimSuffix(name, journalExt) + journalLock)
	if ok, err := alive.TryLock(); err != nil || !ok {
		return err // its run still works
	}
	defer os.Remove(alive.Path())
	defer alive.Close()
	err := f.updateIndex(ctx, func() (change, error) {
		add, err := readJournal(name)
		if err != nil {
			return change{}, err
		}
		for tag := range add {
			if err := f.dropDamaged(ctx, tag, add); err != nil {
				return change{}, err
			}
		}
		return change{add: add}, nil
	})
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// dropDamaged removes from add an item that is not whole. A kill alone leaves
// whole items or none, a power cut may leave files of the right name and the
// wrong content: so each blob is hashed.
func (f *folder) dropDamaged(ctx context.Context, tag string, add map[string]string) error {
	ref, ok := ParseTag(tag)
	if !ok {
		delete(add, tag)
		return nil
	}
	whole, err := f.sound(ctx, ref)
	if err != nil || whole {
		return err
	}
	delete(add, tag)
	err = os.Remove(filepath.Join(f.path, filepath.FromSlash(descriptorName(ref.Digest))))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sound is intact with every blob hashed; a blob that does not match goes.
func (f *folder) sound(ctx context.Context, ref Ref) (bool, error) {
	blobs, err := f.blobsOf(ctx, ref)
	if err != nil || blobs == nil {
		return false, err
	}
	sound := true
	for _, d := range blobs {
		ok, err := f.hashBlob(ctx, d)
		if err != nil {
			return false, err
		}
		if !ok {
			sound = false
			if err := f.discard(ctx, d); err != nil {
				return false, err
			}
		}
	}
	return sound, nil
}

func (f *folder) hashBlob(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	rc, err := f.Fetch(ctx, d)
	if err != nil {
		return false, ignoreDamage(err)
	}
	defer rc.Close()
	verifier := d.Digest.Verifier()
	if _, err := io.Copy(verifier, rc); err != nil {
		return false, err
	}
	return verifier.Verified(), nil
}

// readJournal returns the items of a journal; its last line may be torn.
func readJournal(name string) (map[string]string, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	add := map[string]string{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxIndexLine)
	for lines.Scan() {
		var d ocispec.Descriptor
		if json.Unmarshal(lines.Bytes(), &d) != nil {
			continue
		}
		if tag := d.Annotations[ocispec.AnnotationRefName]; tag != "" {
			add[tag] = lines.Text()
		}
	}
	return add, lines.Err()
}
