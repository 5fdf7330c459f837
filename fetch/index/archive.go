package index

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// archive is an unpacked artefact as a fetch.Snapshot of one commit, so that
// links, names and limits are judged in one place. Its ids are made up.
type archive struct {
	where  string
	limits skill.Limits
	files  map[string]file // by slash path
	dirs   map[fetch.ID][]fetch.Entry
	blobs  map[fetch.ID][]byte
	size   int64
}

type file struct {
	mode uint32
	data []byte
}

const (
	modeDir  = 0o040000
	modeFile = 0o100644
	modeExec = 0o100755
	modeLink = 0o120000

	onlyCommit fetch.ID = "0000000000000000000000000000000000000001"
)

func newArchive(opt fetch.LoadOptions) *archive {
	return &archive{where: opt.Repository, limits: opt.Limits, files: map[string]file{}, dirs: map[fetch.ID][]fetch.Entry{}, blobs: map[fetch.ID][]byte{}}
}

// add takes one file or link. Names are refused here already where they would
// mean another place than they say.
func (a *archive) add(name string, mode uint32, data []byte) error {
	clean := strings.TrimPrefix(name, "./")
	if err := skill.CheckPath(clean); err != nil {
		return diag.New(diag.PathUnsafe, "%s: %v", a.where, err)
	}
	if _, twice := a.files[clean]; twice {
		return diag.New(diag.PathUnsafe, "%s: %q stands twice in the archive", a.where, clean)
	}
	if len(a.files) > a.limits.Files {
		return a.tooLarge("more than %d files", a.limits.Files)
	}
	a.files[clean] = file{mode, data}
	return nil
}

// read reads one member, of which at most the limits for a file and for all are
// unpacked.
func (a *archive) read(name string, r io.Reader) ([]byte, error) {
	limit := min(a.limits.FileBytes, a.limits.Bytes-a.size)
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, a.damaged(err)
	}
	if int64(len(data)) > limit {
		return nil, a.tooLarge("file %q unpacks to more than %d bytes", name, limit)
	}
	a.size += int64(len(data))
	return data, nil
}

func (a *archive) tooLarge(format string, args ...any) error {
	return diag.New(diag.TreeTooLarge, "%s: %s", a.where, fmt.Sprintf(format, args...)).
		WithHint("the limits can be raised in the configuration")
}

func (a *archive) damaged(err error) error {
	return diag.New(diag.FetchFailed, "%s: the archive cannot be unpacked", a.where).WithCause(err).
		WithHint("its digest is right, so it was published so: tell the site's owner")
}

func (a *archive) readTarGz(body []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return a.damaged(err)
	}
	// Headers and padding of what is skipped are bounded too.
	r := tar.NewReader(io.LimitReader(z, a.limits.Bytes+int64(a.limits.Files)*4096))
	for n := 0; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return a.damaged(err)
		}
		if n > 4*(a.limits.Files+1) {
			return a.tooLarge("more than %d members", n)
		}
		if err := a.tarMember(h, r); err != nil {
			return err
		}
	}
}

func (a *archive) tarMember(h *tar.Header, r io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return nil
	case tar.TypeSymlink:
		return a.add(h.Name, modeLink, []byte(h.Linkname))
	case tar.TypeReg:
		data, err := a.read(h.Name, r)
		if err != nil {
			return err
		}
		mode := uint32(modeFile)
		if h.Mode&0o100 != 0 {
			mode = modeExec
		}
		return a.add(h.Name, mode, data)
	}
	return diag.New(diag.PathUnsafe, "%s: %q is neither file, directory nor symbolic link", a.where, h.Name)
}

func (a *archive) readZip(body []byte) error {
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are judged in add
		return a.damaged(err)
	}
	if len(z.File) > 4*(a.limits.Files+1) {
		return a.tooLarge("more than %d members", 4*a.limits.Files)
	}
	for _, f := range z.File {
		mode := f.Mode()
		if mode.IsDir() {
			continue
		}
		if !mode.IsRegular() && mode.Type() != fs.ModeSymlink {
			return diag.New(diag.PathUnsafe, "%s: %q is neither file, directory nor symbolic link", a.where, f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return a.damaged(err)
		}
		data, err := a.read(f.Name, r)
		_ = r.Close() // reading to the end has checked the sum
		if err != nil {
			return err
		}
		if err := a.add(f.Name, zipMode(mode), data); err != nil {
			return err
		}
	}
	return nil
}

func zipMode(m fs.FileMode) uint32 {
	switch {
	case m.Type() == fs.ModeSymlink:
		return modeLink
	case m&0o100 != 0:
		return modeExec
	}
	return modeFile
}

// finish makes directories of the files' paths.
func (a *archive) finish() error {
	children := map[string]map[string]fetch.Entry{"": {}}
	for name, f := range a.files {
		id := fetch.ID("file " + name)
		a.blobs[id] = f.data
		children[put(children, path.Dir(name))][path.Base(name)] = fetch.Entry{Name: path.Base(name), Mode: f.mode, ID: id}
	}
	for dir := range children {
		if _, isFile := a.files[dir]; isFile {
			return diag.New(diag.PathUnsafe, "%s: %q is both a file and a directory", a.where, dir)
		}
	}
	for dir, entries := range children {
		list := make([]fetch.Entry, 0, len(entries))
		for _, e := range entries {
			list = append(list, e)
		}
		slices.SortFunc(list, func(a, b fetch.Entry) int { return strings.Compare(a.Name, b.Name) })
		a.dirs[fetch.ID("dir "+dir)] = list
	}
	return nil
}

// put makes sure that dir and those above it exist, and returns its key.
func put(children map[string]map[string]fetch.Entry, dir string) string {
	if dir == "." {
		return ""
	}
	if children[dir] == nil {
		children[dir] = map[string]fetch.Entry{}
		children[put(children, path.Dir(dir))][path.Base(dir)] = fetch.Entry{Name: path.Base(dir), Mode: modeDir, ID: fetch.ID("dir " + dir)}
	}
	return dir
}

// Commit implements fetch.Snapshot.
func (a *archive) Commit(id fetch.ID) (fetch.Commit, error) {
	return fetch.Commit{ID: id, Tree: "dir "}, nil
}

// Tree implements fetch.Snapshot.
func (a *archive) Tree(id fetch.ID) ([]fetch.Entry, error) { return a.dirs[id], nil }

// Blobs implements fetch.Snapshot.
func (a *archive) Blobs(ctx context.Context, ids []fetch.ID, visit func(id fetch.ID, data []byte) error) error {
	for _, id := range ids {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := visit(id, a.blobs[id]); err != nil {
			return err
		}
	}
	return nil
}

// Close implements fetch.Snapshot.
func (a *archive) Close() error { return nil }
