package fetchtest

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/testkit"
)

// Snapshot reads a testkit.Repo's objects straight from disk, for tests of what
// stands on top of a Source.
type Snapshot struct {
	Repo *testkit.Repo
	// Batches counts calls of Blobs that had to read something.
	Batches atomic.Int64
	trees   sync.Map // fetch.ID to []fetch.Entry
}

var _ fetch.Snapshot = (*Snapshot)(nil)

func (s *Snapshot) object(id fetch.ID) ([]byte, error) {
	f, err := os.Open(filepath.Join(s.Repo.Dir, "objects", string(id[:2]), string(id[2:])))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	_, data, _ := bytes.Cut(raw, []byte{0})
	return data, nil
}

// Commit implements fetch.Snapshot.
func (s *Snapshot) Commit(id fetch.ID) (fetch.Commit, error) {
	data, err := s.object(id)
	if err != nil {
		return fetch.Commit{}, err
	}
	c := fetch.Commit{ID: id}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "tree":
			c.Tree = fetch.ID(fields[1])
		case len(fields) > 3 && fields[0] == "committer":
			n, err := strconv.ParseInt(fields[len(fields)-2], 10, 64)
			if err != nil {
				return c, err
			}
			c.Time = time.Unix(n, 0).UTC()
		}
	}
	return c, nil
}

// Tree implements fetch.Snapshot.
func (s *Snapshot) Tree(id fetch.ID) ([]fetch.Entry, error) {
	if list, ok := s.trees.Load(id); ok {
		return list.([]fetch.Entry), nil
	}
	data, err := s.object(id)
	if err != nil {
		return nil, err
	}
	var list []fetch.Entry
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		if !ok || !ok2 || err != nil || len(rest) < 20 {
			return nil, fmt.Errorf("tree %s is malformed", id)
		}
		list = append(list, fetch.Entry{Name: name, Mode: uint32(m), ID: fetch.ID(hex.EncodeToString(rest[:20]))})
		data = rest[20:]
	}
	s.trees.Store(id, list)
	return list, nil
}

// Blobs implements fetch.Snapshot.
func (s *Snapshot) Blobs(ctx context.Context, ids []fetch.ID, visit func(id fetch.ID, data []byte) error) error {
	if len(ids) > 0 {
		s.Batches.Add(1)
	}
	for _, id := range ids {
		data, err := s.object(id)
		if err != nil {
			return err
		}
		if err := visit(id, data); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Close implements fetch.Snapshot.
func (s *Snapshot) Close() error { return nil }
