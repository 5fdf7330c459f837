// Package cache is one user's store of skills and its index: a directory that
// can be thrown away at any time.
//
// The store holds one directory per tree digest, trees/<aa>/<rest>/, its files
// read-only, and beside it trees/<aa>/<rest>.manifest, the tree manifest, so
// that a file can be verified alone. Signature bundles lie at sigs/<aa>/<rest>
// under their own hash. A tree is written to a temporary name and renamed;
// nothing is synced, because nothing is believed: every read hashes what it
// returns, and a tree that does not match its name is thrown away and missing.
// So the store needs no lock, and any number of processes may use it at once.
//
// The index (index.db, bbolt) remembers facts that can be found out again. Warm
// paths open it read-only for moments; what a run learnt is buffered and written
// by Flush in one transaction. A missing, corrupt or locked index costs speed.
//
//	c, err := cache.Open(dir, cache.Options{})
//	w, err := c.NewTree()
//	err = w.Add("SKILL.md", false, data)
//	err = w.Commit(tree)
//	data, err = c.ReadFile(tree.Digest(), "SKILL.md")
//
// It does not fetch, and does not know which locks use what it holds.
package cache
