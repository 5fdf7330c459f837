package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"sync"

	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// faultError says why a directory is no skill tree. It is an observation, not a
// failure: such a directory is never ours.
type faultError struct{ why string }

func (e *faultError) Error() string { return e.why }

func fault(format string, args ...any) error { return &faultError{fmt.Sprintf(format, args...)} }

func faultOf(err error) (string, bool) {
	if e, ok := errors.AsType[*faultError](err); ok {
		return e.why, true
	}
	if e, ok := errors.AsType[*skill.Error](err); ok {
		return e.Message, true
	}
	return "", false
}

// content is a directory with every file hashed.
type content struct {
	files  []skill.File
	bundle skill.Digest // of the signature file, or empty
	sig    signature
	odd    []entry // links and special files, which no tree may hold
	empty  []entry // directories without a file, which no tree describes
}

// tree returns the content as a tree; the error is a faultError or a
// *skill.Error where it is none.
func (c *content) tree(limits skill.Limits) (*skill.Tree, error) {
	if len(c.odd) > 0 {
		return nil, fault("`%s` is no regular file", c.odd[0].path)
	}
	return skill.NewTree(c.files, limits)
}

// hasher is a hash and its buffer: one per goroutine keeps memory flat however
// many and however large the files are.
type hasher struct {
	sum hash.Hash
	buf []byte
}

var hashers = sync.Pool{New: func() any { return &hasher{sha256.New(), make([]byte, 128<<10)} }}

// file reads r to its end, at most limit bytes, and copies to out where given.
func (h *hasher) file(r io.Reader, out io.Writer, limit int64) (sum [sha256.Size]byte, n int64, err error) {
	h.sum.Reset()
	for {
		got, err := r.Read(h.buf)
		if n += int64(got); n > limit {
			return sum, n, fault("a file has more than %d bytes", limit)
		}
		h.sum.Write(h.buf[:got])
		if out != nil && got > 0 {
			if _, err := out.Write(h.buf[:got]); err != nil {
				return sum, n, err
			}
		}
		if errors.Is(err, io.EOF) {
			h.sum.Sum(sum[:0])
			return sum, n, nil
		}
		if err != nil {
			return sum, n, err
		}
	}
}

// read hashes the directory dir below root. A missing directory is
// fs.ErrNotExist. The tree is not judged; see content.tree.
func (s *site) read(ctx context.Context, root *fsx.Root, dir string) (*content, error) {
	top, err := root.Lstat(dir)
	if err != nil {
		return nil, err
	}
	entries, sig, err := s.walk(root, dir, top)
	if err != nil {
		return nil, err
	}
	return s.hashEntries(ctx, root, dir, entries, sig)
}

func (s *site) hashEntries(ctx context.Context, root *fsx.Root, dir string, entries []entry, sig signature) (*content, error) {
	c := &content{sig: sig}
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	var total int64
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.info.IsDir() {
			c.empty = append(c.empty, e)
			continue
		}
		if !e.info.Mode().IsRegular() {
			c.odd = append(c.odd, e)
			continue
		}
		if total += e.info.Size(); total > s.opt.Limits.Bytes {
			return nil, fault("it holds more than %d bytes", s.opt.Limits.Bytes)
		}
		f, err := s.hashFile(h, root, path.Join(dir, e.path))
		if err != nil {
			return nil, err
		}
		if e.path == skill.SignatureFile {
			c.bundle = skill.DigestFromSum(f.SHA256)
			continue
		}
		f.Path, f.Exec = e.path, e.info.Mode()&0o100 != 0
		c.files = append(c.files, f)
	}
	return c, nil
}

func (s *site) hashFile(h *hasher, root *fsx.Root, p string) (skill.File, error) {
	f, err := root.Open(p)
	if err != nil {
		return skill.File{}, err
	}
	defer f.Close()
	s.hashed.Add(1)
	sum, n, err := h.file(f, nil, s.opt.Limits.FileBytes)
	return skill.File{Size: n, SHA256: sum}, err
}

// noEmpty is the fault of an installed skill with a directory that no file of
// the skill needs: somebody added it.
func (c *content) noEmpty() error {
	if len(c.empty) == 0 {
		return nil
	}
	return fault("`%s` is a directory without a file", c.empty[0].path)
}

// extraDirs returns the empty directories that no file of model lies in.
func (c *content) extraDirs(model *skill.Tree) []entry {
	return slices.DeleteFunc(slices.Clone(c.empty), func(e entry) bool {
		return slices.ContainsFunc(model.Files(), func(f skill.File) bool { return within(f.Path, e.path) })
	})
}

// keepsExec reports whether the disk has an executable bit.
func (s *site) keepsExec() bool {
	return runtime.GOOS != "windows" && (s.opt.FS == nil || !s.opt.FS.Fakes.NoExec)
}

// digest returns the digest of c.
func (s *site) digest(c *content, candidates ...skill.Digest) (skill.Digest, error) {
	tree, err := s.identify(c, candidates...)
	if err != nil {
		return "", err
	}
	return tree.Digest(), nil
}

// identify returns the tree of c. Where the disk has no executable bit, modes
// come from the manifests of the candidates: the first that then matches is it.
func (s *site) identify(c *content, candidates ...skill.Digest) (*skill.Tree, error) {
	tree, err := c.tree(s.opt.Limits)
	if err != nil || s.keepsExec() {
		return tree, err
	}
	for _, d := range candidates {
		if d == "" || s.opt.Store == nil {
			continue
		}
		manifest, err := s.opt.Store.Manifest(d)
		if err != nil {
			continue
		}
		if with := withModes(tree, manifest, s.opt.Limits); with.Digest() == d {
			return with, nil
		}
	}
	return tree, nil
}

// withModes returns t with the executable bits of model.
func withModes(t, model *skill.Tree, limits skill.Limits) *skill.Tree {
	files := append([]skill.File{}, t.Files()...)
	for i := range files {
		if m, ok := model.File(files[i].Path); ok {
			files[i].Exec = m.Exec
		}
	}
	out, err := skill.NewTree(files, limits)
	if err != nil {
		return t
	}
	return out
}

// isMissing reports whether err says that the store does not have something.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
