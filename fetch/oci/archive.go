package oci

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// maxArchiveEntries bounds an archive: a million items have four files each.
const maxArchiveEntries = 4 << 20

func (m *Mirror) openArchive(ctx context.Context) (reader, error) {
	if m.opt.Write {
		return m.createArchive(ctx)
	}
	file, temporary, err := m.archiveFile()
	if err != nil {
		return nil, folderError(m.spec, err)
	}
	a := &archiveFiles{file: file, temporary: temporary}
	if a.entries, err = scanArchive(ctx, file); err == nil {
		l := newLayout(a)
		if err = l.checkLayout(ctx); err == nil {
			return l, nil
		}
	}
	a.close()
	return nil, folderError(m.spec, err)
}

// archiveFile opens FILE, or copies standard input to a temporary file: an
// archive is read at random.
func (m *Mirror) archiveFile() (file *os.File, temporary bool, err error) {
	if m.spec.path != "-" {
		name := m.spec.file(m.opt.Dir)
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			return nil, false, malformed("`%s` is no regular file", name)
		}
		file, err = os.Open(name)
		return file, false, err
	}
	if m.opt.Stdin == nil {
		return nil, false, diag.New(diag.Usage, "`tar:-` needs an archive on standard input")
	}
	file, err = os.CreateTemp(m.opt.TempDir, "skillpm-mirror-*.tar")
	if err != nil {
		return nil, false, err
	}
	if _, err = io.Copy(file, m.opt.Stdin); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		os.Remove(file.Name())
		return nil, false, err
	}
	return file, true, nil
}

// archiveFiles are the files of a tar archive, found by an index of offsets.
type archiveFiles struct {
	file      *os.File
	temporary bool
	entries   map[string]span
}

type span struct{ offset, size int64 }

// scanArchive reads the headers. The tar reader takes whole blocks and seeks
// over content, so after a header the file stands at the content.
func scanArchive(ctx context.Context, file *os.File) (map[string]span, error) {
	entries := map[string]span{}
	archive := tar.NewReader(file)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, malformed("the archive is damaged: %w", err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		name := path.Clean(h.Name)
		if err := admitEntry(h, name, entries); err != nil {
			return nil, err
		}
		offset, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		entries[name] = span{offset, h.Size}
	}
}

func admitEntry(h *tar.Header, name string, entries map[string]span) error {
	_, twice := entries[name]
	switch {
	case h.Typeflag != tar.TypeReg || !fs.ValidPath(name):
		return malformed("the archive's entry %q is no regular file", h.Name)
	case twice:
		return malformed("the archive holds %q twice", h.Name)
	case len(entries) == maxArchiveEntries:
		return malformed("the archive has more than %d entries", maxArchiveEntries)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse") {
			return malformed("the archive's entry %q is sparse", h.Name)
		}
	}
	return nil
}

func (a *archiveFiles) open(_ context.Context, name string) (io.ReadCloser, error) {
	s, ok := a.entries[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(io.NewSectionReader(a.file, s.offset, s.size)), nil
}

func (a *archiveFiles) close() error {
	err := a.file.Close()
	if a.temporary {
		os.Remove(a.file.Name())
	}
	return err
}

// archiveWriter collects items in a temporary folder and packs that in commit:
// so memory stays flat, and the archive's bytes depend on what it holds alone,
// not on what came first.
type archiveWriter struct {
	*folder
	target string // "" is stdout
	stdout io.Writer
	stage  string
	digest skill.Digest
	size   int64
}

var _ writer = (*archiveWriter)(nil)

func (m *Mirror) createArchive(ctx context.Context) (reader, error) {
	a := &archiveWriter{stdout: m.opt.Stdout}
	parent := m.opt.TempDir
	if m.spec.path != "-" {
		a.target = m.spec.file(m.opt.Dir)
		parent = filepath.Dir(a.target)
	} else if a.stdout == nil {
		return nil, diag.New(diag.Usage, "`tar:-` needs standard output")
	}
	var err error
	if a.stage, err = os.MkdirTemp(parent, ".skillpm-mirror-"); err != nil {
		return nil, folderError(m.spec, err)
	}
	if a.folder, err = createFolder(ctx, a.stage); err != nil {
		os.RemoveAll(a.stage)
		return nil, folderError(m.spec, err)
	}
	return a, nil
}

func (a *archiveWriter) collect(context.Context, func(string) bool, bool) (*Removed, error) {
	return nil, diag.New(diag.Usage, "an archive cannot be collected").
		WithHint("write a new one with `skillpm mirror copy` or `skillpm mirror push`")
}

func (a *archiveWriter) close() error {
	err := a.folder.close()
	os.RemoveAll(a.stage)
	return err
}

// commit writes the archive: under a temporary name beside FILE, then renamed.
func (a *archiveWriter) commit(ctx context.Context) error {
	if err := a.folder.commit(ctx); err != nil {
		return err
	}
	if a.target == "" {
		return a.pack(ctx, a.stdout)
	}
	pattern := filepath.Join(filepath.Dir(a.target), ".skillpm-mirror-*.tar")
	return replaceFile(a.target, pattern, true, func(w io.Writer) error { return a.pack(ctx, w) })
}

// pack writes the staged layout in path order, files only, with no owner and no
// time: equal items give equal bytes.
func (a *archiveWriter) pack(ctx context.Context, w io.Writer) error {
	sum := newCountingHash()
	archive := tar.NewWriter(io.MultiWriter(w, sum))
	err := filepath.WalkDir(a.stage, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(a.stage, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if e.IsDir() {
			if rel == "ingest" {
				return fs.SkipDir
			}
			return nil
		}
		if isPrivate := path.Dir(rel) == descriptorDir && rel != markerName; isPrivate {
			return nil // locks
		}
		return packEntry(archive, name, rel)
	})
	if err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	a.digest, a.size = sum.digest(), sum.n
	return nil
}

func packEntry(archive *tar.Writer, name, rel string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	err = archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: rel, Size: info.Size(), Mode: 0o644, ModTime: time.Unix(0, 0),
	})
	if err != nil {
		return err
	}
	if _, err := io.Copy(archive, file); err != nil {
		return fmt.Errorf("pack %s: %w", rel, err)
	}
	return nil
}
