package oci

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// gzipWriters saves the 800 KB that each new compressor would allocate.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// packLayer writes the tree as tar+gzip: path order, files only, uid, gid and
// mtime 0, mode 0644 or 0755. What open returns must be what tree says, else
// the error is digest_mismatch. Equal trees give equal bytes for one Go release.
func packLayer(ctx context.Context, w io.Writer, tree *skill.Tree, open OpenFunc) error {
	zip := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(zip)
	zip.Reset(w)
	archive := tar.NewWriter(zip)
	for _, f := range tree.Files() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := packFile(archive, f, open); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return zip.Close()
}

func packFile(archive *tar.Writer, f skill.File, open OpenFunc) error {
	mode := int64(0o644)
	if f.Exec {
		mode = 0o755
	}
	err := archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: f.Path, Size: f.Size, Mode: mode, ModTime: time.Unix(0, 0),
	})
	if err != nil {
		return err
	}
	r, err := open(f.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(archive, sum), io.LimitReader(r, f.Size))
	if err != nil {
		return err
	}
	if extra, _ := r.Read(make([]byte, 1)); n != f.Size || extra != 0 || !bytes.Equal(sum.Sum(nil), f.SHA256[:]) {
		return diag.New(diag.DigestMismatch, "file `%s` is not what its tree says", f.Path)
	}
	return nil
}

// headerBytes is what one file may add to a layer beside its content: a header,
// its padding, and an extended header with a path of 4096 bytes.
const headerBytes = 8 << 10

// trailerBytes bounds what may follow the end mark: tar writers pad to 10 KiB.
const trailerBytes = 64 << 10

// formatError says how content breaks the mirror format; it becomes mirror_invalid.
type formatError struct{ error }

func malformed(format string, args ...any) error {
	return formatError{fmt.Errorf(format, args...)}
}

func (e formatError) Unwrap() error { return e.error }

// sinkError carries an error of the caller's sink through unchanged.
type sinkError struct{ error }

// readLayer unpacks a layer, handing every file to sink in order, and returns
// the tree that it holds. Everything is bounded by limits, whatever the headers
// claim. Errors: formatError, sinkError, *skill.Error with tree_too_large, or
// what r returned.
func readLayer(ctx context.Context, r io.Reader, limits skill.Limits, sink func(skill.File, []byte) error) (*skill.Tree, error) {
	packed := bufio.NewReader(r) // gzip reads no further in it than its own end
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return nil, malformed("the layer is not gzip: %w", err)
	}
	zip.Multistream(false)
	tree, err := readArchive(ctx, zip, limits, sink)
	if err != nil {
		return nil, err
	}
	if _, err := packed.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, malformed("data follows the end of the layer")
	}
	return tree, nil
}

// readArchive is readLayer of an archive that is inflated already.
func readArchive(ctx context.Context, r io.Reader, limits skill.Limits, sink func(skill.File, []byte) error) (*skill.Tree, error) {
	r = &bounded{r: r, left: limits.Bytes + int64(limits.Files+1)*headerBytes + trailerBytes}
	l := layerReader{archive: tar.NewReader(r), limits: limits, sink: sink}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if err := readTrailer(r); err != nil {
		return nil, err
	}
	tree, err := skill.NewTree(l.files, limits)
	if err != nil {
		return nil, treeFault(err)
	}
	return tree, nil
}

type layerReader struct {
	archive *tar.Reader
	limits  skill.Limits
	sink    func(skill.File, []byte) error
	files   []skill.File
	total   int64
	buf     bytes.Buffer
}

// next reads one file, or returns io.EOF after the last.
func (l *layerReader) next() error {
	h, err := l.archive.Next()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return archiveError(err)
	}
	f, err := l.admit(h)
	if err != nil {
		return err
	}
	// The header's size is a claim: memory grows with what really arrives.
	l.buf.Reset()
	if l.buf.Cap() > spoolMemory && f.Size < spoolMemory {
		l.buf = bytes.Buffer{}
	}
	if n, err := io.Copy(&l.buf, l.archive); err != nil {
		return archiveError(err)
	} else if n != f.Size {
		return malformed("file %q has %d bytes, its header says %d", f.Path, n, f.Size)
	}
	f.SHA256 = sha256.Sum256(l.buf.Bytes())
	l.files = append(l.files, f)
	if err := l.sink(f, l.buf.Bytes()); err != nil {
		return sinkError{err}
	}
	return nil
}

// admit checks a header before any of its content is read or handed on.
func (l *layerReader) admit(h *tar.Header) (f skill.File, err error) {
	if h.Typeflag != tar.TypeReg || h.Linkname != "" {
		return f, malformed("entry %q is no regular file (type %q)", h.Name, h.Typeflag)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse") {
			return f, malformed("entry %q is sparse", h.Name)
		}
	}
	if h.Mode != 0o644 && h.Mode != 0o755 {
		return f, malformed("entry %q has the mode %o; expected 644 or 755", h.Name, h.Mode)
	}
	if n := len(l.files); n > 0 && l.files[n-1].Path >= h.Name {
		return f, malformed("entry %q is not in path order", h.Name)
	}
	f = skill.File{Path: h.Name, Exec: h.Mode == 0o755, Size: h.Size}
	if _, err := skill.NewTree([]skill.File{f}, l.limits); err != nil {
		return f, treeFault(err)
	}
	if len(l.files) == l.limits.Files {
		return f, &skill.Error{Code: "tree_too_large", Offset: -1, Message: fmt.Sprintf("more than %d files", l.limits.Files)}
	}
	if l.total += f.Size; l.total > l.limits.Bytes {
		return f, &skill.Error{Code: "tree_too_large", Offset: -1, Message: fmt.Sprintf("more than %d bytes in all", l.limits.Bytes)}
	}
	return f, nil
}

// treeFault keeps the code of a limit, which the user can raise, and turns every
// other fault of a tree into one of the mirror.
func treeFault(err error) error {
	if skill.CodeOf(err) == "tree_too_large" {
		return err
	}
	return formatError{err}
}

// archiveError wraps what archive/tar and gzip say; a limit keeps its code.
func archiveError(err error) error {
	if skill.CodeOf(err) != "" {
		return err
	}
	return malformed("the layer is damaged: %w", err)
}

// readTrailer demands that nothing but padding follows the archive, and reaches
// the end, where gzip checks its sum.
func readTrailer(r io.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(r, trailerBytes+1))
	if err != nil {
		return archiveError(err)
	}
	if len(rest) > trailerBytes || len(bytes.Trim(rest, "\x00")) > 0 {
		return malformed("data follows the end of the layer's archive")
	}
	return nil
}

// bounded fails once more than left bytes were read.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		// One more byte tells a stream of exactly this size from a longer one.
		if n, err := b.r.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, &skill.Error{Code: "tree_too_large", Offset: -1, Message: "the layer unpacks to more than a tree may hold"}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}
