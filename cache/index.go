package cache

import "context"

// Get returns a fact from the index: what this run put, else what is on disk.
// A missing, corrupt or locked index answers false: the fact is found out anew.
// The index is opened read-only and closed again, so nobody waits for us.
func (c *Cache) Get(bucket, key string) ([]byte, bool) { return c.get(bucket, key) }

// GetAll returns those of keys that are known, with one opening of the index.
func (c *Cache) GetAll(bucket string, keys []string) map[string][]byte { return c.getAll(bucket, keys) }

// Put remembers a fact until Flush. The cache keeps value; the caller must not
// change it. A nil value forgets the key.
func (c *Cache) Put(bucket, key string, value []byte) { c.put(bucket, key, value) }

// Used records that the trees of ds were used now, for GC; it goes to disk with
// Flush.
func (c *Cache) Used(ds ...skillDigest) { c.used(ds) }

// Flush writes everything that was put in one write transaction, and does
// nothing when there is nothing. Facts are lost, with a note, when the index
// cannot be had in time; that is never an error of the run. Call it once, at
// the end.
func (c *Cache) Flush(ctx context.Context) { c.flush(ctx) }

// IndexStats counts openings of the index, so that tests can assert that warm
// paths never write and an install writes once.
type IndexStats struct {
	ReadOpens, WriteTransactions int64
}

// IndexStats returns the counts since Open.
func (c *Cache) IndexStats() IndexStats { return c.indexStats() }
