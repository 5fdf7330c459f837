package cache_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/internal/diag"
)

func sum(s string) [32]byte { return sha256.Sum256([]byte(s)) }

func TestIndexFacts(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, cache.Options{})
	if _, ok := c.Get("tags", "a"); ok {
		t.Error("an index that is not there knows something")
	}
	c.Put("tags", "a", []byte("1"))
	c.Put("tags", "b", []byte("2"))
	c.Put("caps", "a", []byte{})
	if got, ok := c.Get("tags", "a"); !ok || string(got) != "1" {
		t.Errorf("before Flush: %q, %v", got, ok)
	}
	c.Flush(t.Context())
	c.Flush(t.Context()) // nothing to write
	if got, want := c.IndexStats(), (cache.IndexStats{WriteTransactions: 1}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}

	c = open(t, dir, cache.Options{})
	got := c.GetAll("tags", []string{"a", "b", "c"})
	if diff := cmp.Diff(map[string][]byte{"a": []byte("1"), "b": []byte("2")}, got); diff != "" {
		t.Errorf("after Flush (-want +got):\n%s", diff)
	}
	if got, ok := c.Get("caps", "a"); !ok || len(got) != 0 {
		t.Errorf("an empty fact: %q, %v", got, ok)
	}
	if got := c.IndexStats(); got.ReadOpens == 0 || got.WriteTransactions != 0 {
		t.Errorf("stats %+v, want readers only", got)
	}
	c.Put("tags", "a", nil)
	if _, ok := c.Get("tags", "a"); ok {
		t.Error("a forgotten fact is still there")
	}
	c.Flush(t.Context())
	c = open(t, dir, cache.Options{})
	if _, ok := c.Get("tags", "a"); ok {
		t.Error("a forgotten fact is still on disk")
	}
}

// Last use is kept to the day, so that a warm run does not write.
func TestUsedWritesOncePerDay(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	writes := func() int64 {
		c := open(t, dir, cache.Options{Now: func() time.Time { return now }})
		c.Used(put(t, c, demo))
		c.Flush(t.Context())
		return c.IndexStats().WriteTransactions
	}
	got := []int64{writes(), writes()}
	now = now.Add(25 * time.Hour)
	got = append(got, writes())
	if diff := cmp.Diff([]int64{1, 0, 1}, got); diff != "" {
		t.Errorf("write transactions (-want +got):\n%s", diff)
	}
}

// A damaged index is rebuilt with one note; no fact read from it is wrong.
func TestCorruptIndex(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":     func(b []byte) []byte { return nil },
		"text":      func(b []byte) []byte { return []byte(strings.Repeat("not a database\n", 4000)) },
		"truncated": func(b []byte) []byte { return b[:len(b)/2] },
		"one page":  func(b []byte) []byte { return b[:4096] },
		"zeroed":    func(b []byte) []byte { return make([]byte, len(b)) },
		"data zeroed": func(b []byte) []byte {
			clear(b[2*os.Getpagesize():])
			return b
		},
		"data garbled": func(b []byte) []byte {
			for i := 2 * os.Getpagesize(); i < len(b); i++ {
				b[i] ^= 0x5a
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var n notes
			c := open(t, dir, cache.Options{Note: n.add})
			for i := range 500 {
				c.Put("facts", fmt.Sprint("key", i), []byte(fmt.Sprint("value", i)))
			}
			c.Flush(t.Context())
			file := filepath.Join(dir, "index.db")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			c = open(t, dir, cache.Options{Note: n.add})
			for i := range 500 {
				if got, ok := c.Get("facts", fmt.Sprint("key", i)); ok && string(got) != fmt.Sprint("value", i) {
					t.Fatalf("wrong fact %q for key%d", got, i)
				}
			}
			c.Put("facts", "new", []byte("fact"))
			c.Flush(t.Context())
			for _, code := range n.codes {
				if code != diag.CacheCorrupt {
					t.Errorf("note %s", code)
				}
			}
			if len(n.codes) > 1 {
				t.Errorf("%d notes: %v", len(n.codes), n.texts)
			}
			c = open(t, dir, cache.Options{})
			if got, ok := c.Get("facts", "new"); !ok || string(got) != "fact" {
				t.Errorf("after the rebuild: %q, %v", got, ok)
			}
		})
	}
}

// A flipped byte of a fact makes it unknown, never another one.
func TestFlippedFact(t *testing.T) {
	const fact = "the one true value"
	file, good := indexOf(t, fact)
	at := bytes.Index(good, []byte(fact))
	if at < 0 {
		t.Fatal("the fact is not in the file as it is")
	}
	for i := at - 4; i < at+len(fact); i++ { // with its checksum
		bad := append([]byte{}, good...)
		bad[i] ^= 0x40
		must(t, os.WriteFile(file, bad, 0o600))
		if got, ok := open(t, filepath.Dir(file), cache.Options{}).Get("facts", "key"); ok {
			t.Fatalf("byte %d flipped: the index says %q", i-at, got)
		}
	}
}

// indexOf returns an index with one fact, its file and the file's bytes.
func indexOf(t *testing.T, fact string) (file string, content []byte) {
	t.Helper()
	c := open(t, t.TempDir(), cache.Options{})
	c.Put("facts", "key", []byte(fact))
	c.Flush(t.Context())
	file = filepath.Join(c.Dir(), "index.db")
	content, err := os.ReadFile(file)
	must(t, err)
	return file, content
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A held index is waited for, named, and done without.
func TestLockedIndex(t *testing.T) {
	dir := t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, "index.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := os.WriteFile(filepath.Join(dir, "index.db.holder"), []byte("4711"), 0o600); err != nil {
		t.Fatal(err)
	}
	var n notes
	c := open(t, dir, cache.Options{Note: n.add, IndexWait: 50 * time.Millisecond})
	if _, ok := c.Get("facts", "key"); ok {
		t.Error("a locked index answered")
	}
	c.Put("facts", "key", []byte("value"))
	c.Flush(t.Context())
	if diff := cmp.Diff([]diag.Code{diag.CacheLocked}, n.codes); diff != "" {
		t.Fatalf("notes (-want +got):\n%s", diff)
	}
	if want := fmt.Sprintf("another run (process 4711) holds the cache's index; process %d waited", os.Getpid()); !strings.HasPrefix(n.texts[0], want) {
		t.Errorf("note %q does not say who waits for whom", n.texts[0])
	}
}

// Two processes, one cache, the same trees at once.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	if child := os.Getenv("CACHE_TEST_DIR"); child != "" {
		dir = child
	} else {
		var commands []*exec.Cmd
		for range 2 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestTwoProcesses$")
			cmd.Env = append(os.Environ(), "CACHE_TEST_DIR="+dir)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			commands = append(commands, cmd)
		}
		defer func() {
			for _, cmd := range commands {
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			}
			c := open(t, dir, cache.Options{})
			result, err := c.Verify(t.Context())
			if err != nil || result.Trees != 60 || len(result.Damaged) != 0 {
				t.Errorf("Verify = %+v, %v", result, err)
			}
			for i := range 60 {
				if _, ok := c.Get("facts", fmt.Sprint(i)); !ok {
					t.Errorf("fact %d is lost", i)
				}
			}
		}()
	}
	for i := range 60 {
		c := open(t, dir, cache.Options{Note: func(e *diag.Error) { t.Errorf("note: %v", e) }, IndexWait: time.Minute})
		d := put(t, c, files{"SKILL.md": fmt.Sprint("skill ", i), "x:run": "run"})
		if _, err := c.ReadFile(d, "run"); err != nil {
			t.Errorf("tree %d: %v", i, err)
		}
		c.Put("facts", fmt.Sprint(i), []byte{1})
		c.Flush(t.Context())
	}
}
