// Package local reads skills from a directory on disk with the rules of package
// fetch, so that a path skill and a fetched one are judged alike: it offers the
// directory as a fetch.Snapshot with one commit.
//
//	snap, err := local.Open(root)
//	defer snap.Close()
//	content, err := fetch.Load(ctx, snap, local.Commit, "skills/house", opt, sink)
//
// A .git of any spelling is skipped. Ids are made up and mean nothing outside
// the snapshot: Content.GitTree, Content.Time and Found.Tree must not be
// recorded. The directory is read through an os.Root, so a link that is swapped
// in while it is read leads nowhere else.
package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
)

// Commit is the id of the one commit of every Snapshot of this package.
const Commit fetch.ID = "0000000000000000000000000000000000000001"

// maxFile bounds one file: over it no skill could hold it, whatever its limits.
const maxFile = 1 << 30

// Open returns a snapshot of the directory root. Links may lead anywhere inside
// root and nowhere else. Files are read when they are asked for.
func Open(root string) (fetch.Snapshot, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, diag.New(diag.PathMissing, "cannot open the directory `%s`", root).WithCause(err)
	}
	return &snapshot{root: r, name: root, paths: map[fetch.ID]string{idOf("tree", "."): "."}}, nil
}

type snapshot struct {
	root *os.Root
	name string

	mu    sync.Mutex
	paths map[fetch.ID]string // what each id was made of
}

func idOf(kind, p string) fetch.ID {
	sum := sha256.Sum256([]byte(kind + "\x00" + p))
	return fetch.ID(hex.EncodeToString(sum[:20]))
}

func (s *snapshot) id(kind, p string) fetch.ID {
	id := idOf(kind, p)
	s.mu.Lock()
	s.paths[id] = p
	s.mu.Unlock()
	return id
}

func (s *snapshot) path(id fetch.ID) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.paths[id]
	if !ok {
		return "", diag.New(diag.Internal, "%s: no object %s", s.name, id)
	}
	return p, nil
}

// Commit implements fetch.Snapshot.
func (s *snapshot) Commit(id fetch.ID) (fetch.Commit, error) {
	if id != Commit {
		return fetch.Commit{}, diag.New(diag.Internal, "%s: a directory has no commit %s", s.name, id)
	}
	return fetch.Commit{ID: id, Tree: idOf("tree", ".")}, nil
}

// Tree implements fetch.Snapshot.
func (s *snapshot) Tree(id fetch.ID) ([]fetch.Entry, error) {
	dir, err := s.path(id)
	if err != nil {
		return nil, err
	}
	f, err := s.root.Open(dir)
	if err != nil {
		return nil, s.fault(dir, err)
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil, s.fault(dir, err)
	}
	entries := make([]fetch.Entry, 0, len(list))
	for _, d := range list {
		if isDotGit(d.Name()) {
			continue
		}
		e, err := s.entry(path.Join(dir, d.Name()), d)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since it was listed
		}
		if err != nil {
			return nil, s.fault(path.Join(dir, d.Name()), err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// isDotGit recognises the names under which some file system finds .git.
func isDotGit(name string) bool {
	return strings.EqualFold(strings.TrimRight(name, ". "), ".git") || strings.EqualFold(name, "git~1")
}

func (s *snapshot) entry(p string, d fs.DirEntry) (fetch.Entry, error) {
	e := fetch.Entry{Name: d.Name()}
	switch d.Type() {
	case fs.ModeDir:
		e.Mode, e.ID = 0o040000, s.id("tree", p)
	case fs.ModeSymlink:
		e.Mode, e.ID = 0o120000, s.id("link", p)
	case 0:
		info, err := d.Info()
		if err != nil {
			return e, err
		}
		e.Mode, e.ID = 0o100644, s.id("file", p)
		if info.Mode()&0o100 != 0 {
			e.Mode = 0o100755
		}
	default: // a socket or a device: of no type that a tree has
		e.Mode, e.ID = 0, s.id("other", p)
	}
	return e, nil
}

// Blobs implements fetch.Snapshot.
func (s *snapshot) Blobs(ctx context.Context, ids []fetch.ID, visit func(id fetch.ID, data []byte) error) error {
	for _, id := range ids {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p, err := s.path(id)
		if err != nil {
			return err
		}
		data, err := s.read(id, p)
		if err != nil {
			return s.fault(p, err)
		}
		if err := visit(id, data); err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) read(id fetch.ID, p string) ([]byte, error) {
	if id == idOf("link", p) {
		target, err := s.root.Readlink(p)
		return []byte(filepath.ToSlash(target)), err
	}
	f, err := s.root.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file any more")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, diag.New(diag.TreeTooLarge, "%s: `%s` has more than %d bytes", s.name, p, maxFile)
	}
	return data, err
}

// Close implements fetch.Snapshot.
func (s *snapshot) Close() error { return s.root.Close() }

func (s *snapshot) fault(p string, err error) error {
	if _, ok := errors.AsType[*diag.Error](err); ok {
		return err
	}
	code := diag.DiskFailed
	if errors.Is(err, fs.ErrPermission) {
		code = diag.PermissionDenied
	}
	return diag.New(code, "cannot read `%s`", diag.Escape(p)).WithCause(err).At(fmt.Sprintf("%s/%s", s.name, p), 0, 0)
}
