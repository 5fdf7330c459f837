package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	orasoci "oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"

	"github.com/skillpm/skillpm/internal/diag"
)

// markerName says that the layout has descriptor files, and of which version.
const (
	markerName = descriptorDir + "/format"
	markerText = "skillpm-mirror 1\n"
	// tmpPrefix begins the names of files that are not complete.
	tmpPrefix = ".tmp-"
)

func (m *Mirror) openFolder(ctx context.Context) (reader, error) {
	root := m.spec.file(m.opt.Dir)
	if m.opt.Write {
		f, err := createFolder(ctx, root)
		if err != nil {
			return nil, folderError(m.spec, err)
		}
		return f, nil
	}
	r, err := openDirFiles(root)
	if err != nil {
		return nil, folderError(m.spec, err)
	}
	l := newLayout(r)
	if err := l.checkLayout(ctx); err != nil {
		r.close()
		return nil, folderError(m.spec, err)
	}
	return l, nil
}

func folderError(spec Spec, err error) error {
	if _, ok := errors.AsType[*diag.Error](err); ok {
		return err
	}
	code, hint := classify(err)
	if code == diag.MirrorIncomplete || code == diag.FetchFailed {
		code, hint = diag.MirrorInvalid, "`skillpm mirror push` makes a mirror"
	}
	e := diag.New(code, "mirror `%s` cannot be opened", spec).WithCause(err)
	e.Hint = hint
	return e
}

// dirFiles are the files of a folder. Links that lead out of it are refused by
// os.Root, and only regular files are opened: a FIFO would block.
type dirFiles struct{ root *os.Root }

func openDirFiles(path string) (dirFiles, error) {
	root, err := os.OpenRoot(path)
	return dirFiles{root}, err
}

func (d dirFiles) open(_ context.Context, name string) (io.ReadCloser, error) {
	info, err := d.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, malformed("`%s` is no regular file", name)
	}
	return d.root.Open(name)
}

func (d dirFiles) close() error { return d.root.Close() }

// folder is a layout on disk that can be written. Blobs and descriptor files
// appear by rename, so readers see whole items at any time; index.json follows
// in commit. Between the two a journal holds what index.json still lacks, so a
// killed run loses nothing (journal.go).
type folder struct {
	*layout
	path  string
	blobs *orasoci.Storage

	mu      sync.Mutex
	session *session // nil until the first item is stored
}

var _ writer = (*folder)(nil)

// createFolder opens the folder for writing, and makes it where it is absent. A
// folder with other things in it is refused.
func createFolder(ctx context.Context, path string) (*folder, error) {
	if err := checkVacant(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(path, "blobs", "sha256"), 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(path, descriptorDir), 0o755); err != nil {
		return nil, err
	}
	layoutFile := filepath.Join(path, ocispec.ImageLayoutFile)
	if _, err := os.Stat(layoutFile); errors.Is(err, fs.ErrNotExist) {
		if err := writeFile(layoutFile, []byte(`{"imageLayoutVersion":"`+ocispec.ImageLayoutVersion+`"}`)); err != nil {
			return nil, err
		}
	}
	files, err := openDirFiles(path)
	if err != nil {
		return nil, err
	}
	blobs, err := orasoci.NewStorage(path)
	if err != nil {
		return nil, err
	}
	f := &folder{layout: newLayout(files), path: path, blobs: blobs}
	if err := f.prepare(ctx); err != nil {
		files.close()
		return nil, err
	}
	return f, nil
}

// checkVacant lets only an absent, an empty or a layout folder pass, so that a
// typing error does not scatter blobs over somebody's directory. A folder that
// a killed run left before its layout file counts as a layout.
func checkVacant(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours := map[string]bool{ocispec.ImageLayoutFile: true, ocispec.ImageBlobsDir: true, descriptorDir: true}
	for _, e := range entries {
		if e.Name() == ocispec.ImageLayoutFile {
			return nil
		}
	}
	for _, e := range entries {
		if !ours[e.Name()] && !strings.HasPrefix(e.Name(), tmpPrefix) {
			return malformed("the folder is no OCI image layout and not empty (it holds `%s`)", diag.Escape(e.Name()))
		}
	}
	return nil
}

// prepare checks the layout's version, takes in what a killed run left, and
// writes descriptor files for a layout of another tool.
func (f *folder) prepare(ctx context.Context) error {
	if err := f.checkLayout(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(f.path, ocispec.ImageIndexFile)); errors.Is(err, fs.ErrNotExist) {
		if err := f.updateIndex(ctx, func() (change, error) { return change{}, nil }); err != nil {
			return err
		}
	}
	marker := filepath.Join(f.path, filepath.FromSlash(markerName))
	if _, err := os.Stat(marker); errors.Is(err, fs.ErrNotExist) {
		tags, err := f.index()
		if err != nil {
			return err
		}
		for tag, d := range tags {
			if err := f.writeDescriptor(tag, d); err != nil {
				return err
			}
		}
		if err := writeFile(marker, []byte(markerText)); err != nil {
			return err
		}
		f.layout.index = nil
	}
	return f.recover(ctx)
}

// Exists reports whether the blob is there with its size; one of another size is
// what a power cut left, and goes.
func (f *folder) Exists(_ context.Context, d ocispec.Descriptor) (bool, error) {
	path, err := f.blobPath(d)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Size() != d.Size {
		return false, os.Remove(path)
	}
	return true, nil
}

func (f *folder) blobPath(d ocispec.Descriptor) (string, error) {
	name, err := blobName(d.Digest)
	return filepath.Join(f.path, filepath.FromSlash(name)), err
}

// Push stores a blob under a temporary name and renames it.
func (f *folder) Push(ctx context.Context, d ocispec.Descriptor, r io.Reader) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.blobs.Push(ctx, d, r)
}

// PushReference stores a manifest and makes the item visible.
func (f *folder) PushReference(ctx context.Context, d ocispec.Descriptor, r io.Reader, tag string) error {
	b, err := io.ReadAll(io.LimitReader(r, maxManifestBytes))
	if err != nil {
		return err
	}
	if there, err := f.Exists(ctx, d); err != nil {
		return err
	} else if !there {
		if err := f.Push(ctx, d, bytes.NewReader(b)); err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
			return err
		}
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	d.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
	if err := f.record(tag, d); err != nil {
		return err
	}
	d.Data = b
	return f.writeDescriptor(tag, d)
}

// writeDescriptor writes the file through which readers find an item. The
// manifest is embedded (an OCI descriptor's own `data`), which saves a static
// reader one request of three.
func (f *folder) writeDescriptor(tag string, d ocispec.Descriptor) error {
	ref, ok := ParseTag(tag)
	if !ok {
		return nil
	}
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	path := filepath.Join(f.path, filepath.FromSlash(descriptorName(ref.Digest)))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return writeFile(path, append(b, '\n'))
}

func (f *folder) discard(_ context.Context, d ocispec.Descriptor) error {
	path, err := f.blobPath(d)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// intact reports whether the item's blobs are there with their sizes. A push
// asks that before it calls an item present.
func (f *folder) intact(ctx context.Context, ref Ref) (bool, error) {
	blobs, err := f.blobsOf(ctx, ref)
	if err != nil || blobs == nil {
		return false, err
	}
	for _, d := range blobs {
		if there, err := f.Exists(ctx, d); err != nil || !there {
			return false, err
		}
	}
	return true, nil
}

// blobsOf lists the blobs of an item, its manifest last; nil if the manifest is
// missing or damaged.
func (f *folder) blobsOf(ctx context.Context, ref Ref) ([]ocispec.Descriptor, error) {
	_, rc, err := f.FetchReference(ctx, ref.Tag())
	if err != nil {
		return nil, ignoreDamage(err)
	}
	b, err := readBody(rc, maxManifestBytes)
	if err != nil {
		return nil, ignoreDamage(err)
	}
	m, err := parseManifest(b, ref)
	if err != nil {
		return nil, nil
	}
	return append(m.Layers, m.Config, describe(ocispec.MediaTypeImageManifest, b)), nil
}

// ignoreDamage drops the errors that storing the item again repairs.
func ignoreDamage(err error) error {
	if code, _ := classify(err); code == diag.MirrorIncomplete || code == diag.MirrorInvalid {
		return nil
	}
	return err
}

// writeFile replaces a small file. It is not synced: whatever is lost in a power
// cut is missed by the next push.
func writeFile(path string, b []byte) error {
	pattern := filepath.Join(filepath.Dir(path), tmpPrefix)
	return replaceFile(path, pattern, false, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// replaceFile writes a file under a temporary name, a pattern as os.CreateTemp
// takes with its directory, and renames it. A failure leaves nothing.
func replaceFile(path, pattern string, sync bool, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(pattern), filepath.Base(pattern))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if err = write(tmp); err != nil {
		return err
	}
	if err = tmp.Chmod(0o644); err != nil {
		return err
	}
	if sync {
		if err = tmp.Sync(); err != nil {
			return err
		}
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
