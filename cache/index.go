package cache

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// DefaultIndexWait is how long a run waits for the index. It is short because
// the index costs speed only.
const DefaultIndexWait = 3 * time.Second

// usedGrain is how exact last use is: finer would make every warm run a writer.
const usedGrain = 24 * time.Hour

const usedBucket = "used"

// index is what is known of index.db in this run.
type index struct {
	path string
	wait time.Duration
	note func(*diag.Error)

	mu      sync.Mutex
	pending map[string]map[string][]byte // bucket → key → value; nil forgets
	noted   map[diag.Code]bool
	// away: the file could not be had once, and is not waited for again.
	away bool
	// rebuild: the file is damaged and Flush begins a new one.
	rebuild bool

	// writing is held by Flush, and shared by everybody who reads.
	writing sync.RWMutex
	reader  reader

	readOpens, writes atomic.Int64
}

// IndexStats counts openings of the index, so that tests can assert that warm
// paths never write and an install writes once.
type IndexStats struct {
	ReadOpens, WriteTransactions int64
}

// IndexStats returns the counts since Open.
func (c *Cache) IndexStats() IndexStats {
	return IndexStats{c.index.readOpens.Load(), c.index.writes.Load()}
}

// Get returns a fact from the index: what this run put, else what is on disk.
// A missing, corrupt or locked index answers false: the fact is found out anew.
// The index is opened read-only and closed again after moments, so that no other
// run waits for us across a download. The caller must not change the bytes.
func (c *Cache) Get(bucket, key string) ([]byte, bool) {
	value, ok := c.GetAll(bucket, []string{key})[key]
	return value, ok
}

// GetAll returns those of keys that are known, with one opening of the index.
func (c *Cache) GetAll(bucket string, keys []string) map[string][]byte {
	found := make(map[string][]byte, len(keys))
	var rest []string
	c.index.mu.Lock()
	for _, key := range keys {
		value, ok := c.index.pending[bucket][key]
		switch {
		case !ok:
			rest = append(rest, key)
		case value != nil:
			found[key] = value
		}
	}
	skip := len(rest) == 0 || c.index.away || c.index.rebuild
	c.index.mu.Unlock()
	if skip {
		return found
	}
	c.index.read(bucket, func(get func(key string) []byte) {
		for _, key := range rest {
			if value, ok := unseal(bucket, key, get(key)); ok {
				found[key] = value
			}
		}
	})
	return found
}

// Put remembers a fact until Flush. The cache keeps value; the caller must not
// change it. A nil value forgets the key.
func (c *Cache) Put(bucket, key string, value []byte) {
	c.index.mu.Lock()
	defer c.index.mu.Unlock()
	if c.index.pending == nil {
		c.index.pending = map[string]map[string][]byte{}
	}
	if c.index.pending[bucket] == nil {
		c.index.pending[bucket] = map[string][]byte{}
	}
	c.index.pending[bucket][key] = value
}

// Used records that trees and bundles were used now, to the day, for GC; it goes
// to disk with Flush.
func (c *Cache) Used(ds ...skill.Digest) {
	now := c.now()
	keys := make([]string, len(ds))
	for i, d := range ds {
		keys[i] = d.Hex()
	}
	old := c.GetAll(usedBucket, keys)
	for _, key := range keys {
		if at, ok := parseTime(old[key]); !ok || now.Sub(at) >= usedGrain {
			c.Put(usedBucket, key, binary.BigEndian.AppendUint64(nil, uint64(now.Unix())))
		}
	}
}

func parseTime(b []byte) (time.Time, bool) {
	if len(b) != 8 {
		return time.Time{}, false
	}
	return time.Unix(int64(binary.BigEndian.Uint64(b)), 0), true
}

// Flush writes everything that was put in one write transaction, and does
// nothing when there is nothing. Facts are lost, with a note, when the index
// cannot be had in time; that is never an error of the run. Call it once, at
// the end: a writer keeps every other run out of the index.
func (c *Cache) Flush(ctx context.Context) {
	c.index.mu.Lock()
	pending, rebuild := c.index.pending, c.index.rebuild
	c.index.pending, c.index.rebuild = nil, false
	c.index.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	if _, err := c.writable(); err != nil {
		return // a cache that cannot be written was reported by whoever needed it
	}
	c.index.write(ctx, pending, rebuild)
}

// say notes once per code and run.
func (x *index) say(e *diag.Error) {
	x.mu.Lock()
	first := !x.noted[e.Code]
	if x.noted == nil {
		x.noted = map[diag.Code]bool{}
	}
	x.noted[e.Code] = true
	x.mu.Unlock()
	if first {
		x.note(e)
	}
}

// busy notes who waited for whom.
func (x *index) busy(waited time.Duration, lost string) {
	x.mu.Lock()
	x.away = true
	x.mu.Unlock()
	holder := "another run"
	if pid, err := os.ReadFile(x.path + ".holder"); err == nil && len(pid) > 0 && len(pid) < 12 {
		holder = fmt.Sprintf("another run (process %s)", pid)
	}
	x.say(diag.Note(diag.CacheLocked, "%s holds the cache's index; process %d waited %s for it and goes on without", holder, os.Getpid(), waited.Round(100*time.Millisecond)).
		WithDetail("%s", lost))
}

// corrupt marks the file as damaged, so that the next Flush begins a new one.
func (x *index) corrupt(cause error) {
	x.mu.Lock()
	x.rebuild = true
	x.mu.Unlock()
	x.say(diag.Note(diag.CacheCorrupt, "the cache's index is damaged and will be rebuilt").WithCause(cause))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts a checksum before a value: bbolt's pages have none, and a flipped
// bit must cost speed, not give a wrong digest.
func seal(bucket, key string, value []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, checksum(bucket, key, value)), value...)
}

func unseal(bucket, key string, stored []byte) ([]byte, bool) {
	if len(stored) < 4 {
		return nil, false
	}
	value := append([]byte{}, stored[4:]...)
	return value, binary.BigEndian.Uint32(stored) == checksum(bucket, key, value)
}

func checksum(bucket, key string, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(bucket+"\x00"+key+"\x00"))
	return crc32.Update(sum, castagnoli, value)
}
