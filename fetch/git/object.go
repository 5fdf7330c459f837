package git

import (
	"bytes"
	"crypto"
	_ "crypto/sha1"   // for format.algo
	_ "crypto/sha256" // for format.algo
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	githash "github.com/go-git/go-git/v5/plumbing/hash"

	"github.com/skillpm/skillpm/fetch"
)

// oid is an object id, padded with zeros where it is a SHA-1.
type oid [32]byte

// format is a repository's object format.
type format struct {
	name string
	size int // bytes of an id
	algo crypto.Hash
}

var (
	sha1Format   = format{"sha1", 20, crypto.SHA1}
	sha256Format = format{"sha256", 32, crypto.SHA256}
)

// formatOf returns the format that id is of.
func formatOf(id fetch.ID) (format, error) {
	if _, err := hex.DecodeString(string(id)); err == nil {
		switch len(id) {
		case 40:
			return sha1Format, nil
		case 64:
			return sha256Format, nil
		}
	}
	return format{}, fmt.Errorf("%q is no object id", id)
}

func (f format) parse(id fetch.ID) (o oid, err error) {
	if len(id) != 2*f.size {
		return o, fmt.Errorf("%q is no %s object id", id, f.name)
	}
	_, err = hex.Decode(o[:f.size], []byte(id))
	return o, err
}

func (f format) text(o oid) fetch.ID { return fetch.ID(hex.EncodeToString(o[:f.size])) }

// errCollision is an object made to have another's SHA-1.
var errCollision = errors.New("an object is part of a SHA-1 collision attack")

// collisionDetector is what sha1cd, go-git's SHA-1, offers beyond hash.Hash.
type collisionDetector interface {
	CollisionResistantSum([]byte) ([]byte, bool)
}

// hasher computes ids of objects of one format, one at a time.
type hasher struct{ h hash.Hash }

func newHasher(f format) hasher { return hasher{githash.New(f.algo)} }

func (h hasher) begin(kind plumbing.ObjectType, size int64) {
	h.h.Reset()
	fmt.Fprintf(h.h, "%s %d\x00", kind, size)
}

func (h hasher) end() (o oid, err error) {
	if d, ok := h.h.(collisionDetector); ok {
		sum, collision := d.CollisionResistantSum(nil)
		if collision {
			return o, errCollision
		}
		copy(o[:], sum)
		return o, nil
	}
	copy(o[:], h.h.Sum(nil))
	return o, nil
}

func (h hasher) of(kind plumbing.ObjectType, data []byte) (oid, error) {
	h.begin(kind, int64(len(data)))
	h.h.Write(data)
	return h.end()
}

// commitInfo is what is kept of a commit.
type commitInfo struct {
	tree    oid
	parents []oid
	time    time.Time
}

// lastTime is the last second of the year 9999: a pseudo-version has room for
// four digits.
const lastTime = 253402300799

// parseCommit reads a commit's header. As in git, a committer time that cannot
// be is the epoch.
func parseCommit(f format, data []byte) (c commitInfo, err error) {
	header, _, _ := bytes.Cut(data, []byte("\n\n"))
	seenTree, seenCommitter := false, false
	for line := range bytes.Lines(header) {
		key, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		switch string(key) {
		case "tree":
			if seenTree {
				return c, errors.New("a commit with two trees")
			}
			seenTree = true
			if c.tree, err = f.parse(fetch.ID(value)); err != nil {
				return c, err
			}
		case "parent":
			parent, err := f.parse(fetch.ID(value))
			if err != nil {
				return c, err
			}
			c.parents = append(c.parents, parent)
		case "committer":
			if !seenCommitter {
				seenCommitter, c.time = true, commitTime(value)
			}
		}
	}
	if !seenTree || !seenCommitter {
		return c, errors.New("a commit without tree or committer")
	}
	return c, nil
}

func commitTime(value []byte) time.Time {
	_, after, _ := bytes.Cut(value[bytes.LastIndexByte(value, '>')+1:], []byte(" "))
	seconds, _, _ := bytes.Cut(after, []byte(" "))
	n, err := strconv.ParseInt(string(seconds), 10, 64)
	if err != nil || n < 0 || n > lastTime {
		n = 0
	}
	return time.Unix(n, 0).UTC()
}

// parseTree reads a tree's entries. Names are as stored: what they may be is
// for package fetch to judge.
func parseTree(f format, data []byte) ([]fetch.Entry, error) {
	var list []fetch.Entry
	for len(data) > 0 {
		mode, rest, ok := bytes.Cut(data, []byte(" "))
		name, rest, ok2 := bytes.Cut(rest, []byte{0})
		if !ok || !ok2 || len(rest) < f.size {
			return nil, errors.New("a tree is cut off")
		}
		m, err := strconv.ParseUint(string(mode), 8, 32)
		if err != nil {
			return nil, fmt.Errorf("a tree has mode %q", mode)
		}
		list = append(list, fetch.Entry{Name: string(name), Mode: uint32(m), ID: fetch.ID(hex.EncodeToString(rest[:f.size]))})
		data = rest[f.size:]
	}
	return list, nil
}
