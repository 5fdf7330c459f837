package oci

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillpm/skillpm/skill"
)

// spoolMemory is how much of a layer stays in memory: nine in ten skills pack
// into less, and eight at once stay within 8 MiB.
const spoolMemory = 1 << 20

// spool holds a blob whose digest is known only when it is complete: in memory
// while it is small, then in a temporary file.
type spool struct {
	dir  string
	mem  []byte
	file *os.File
	sum  hash.Hash
	size int64
}

func newSpool(dir string) *spool { return &spool{dir: dir, sum: sha256.New()} }

func (s *spool) Write(p []byte) (int, error) {
	s.sum.Write(p)
	s.size += int64(len(p))
	if s.file == nil && len(s.mem)+len(p) <= spoolMemory {
		s.mem = append(s.mem, p...)
		return len(p), nil
	}
	if err := s.spill(); err != nil {
		return 0, err
	}
	return s.file.Write(p)
}

func (s *spool) spill() error {
	if s.file != nil {
		return nil
	}
	f, err := os.CreateTemp(s.dir, "skillpm-layer-")
	if err != nil {
		return err
	}
	s.file = f
	_, err = f.Write(s.mem)
	s.mem = nil
	return err
}

// descriptor returns the descriptor of what was written.
func (s *spool) descriptor(mediaType string) ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: mediaType,
		Digest:    digest.NewDigest(digest.SHA256, s.sum),
		Size:      s.size,
	}
}

// reader returns a new reader of the whole. The one over memory is a
// *bytes.Reader, which net/http knows how to send again after a 401.
func (s *spool) reader() io.Reader {
	if s.file == nil {
		return bytes.NewReader(s.mem)
	}
	return io.NewSectionReader(s.file, 0, s.size)
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}

// countingHash is the SHA-256 and the number of the bytes written to it.
type countingHash struct {
	sum hash.Hash
	n   int64
}

func newCountingHash() *countingHash { return &countingHash{sum: sha256.New()} }

func (c *countingHash) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.sum.Write(p)
}

func (c *countingHash) digest() skill.Digest {
	return skill.DigestFromSum([sha256.Size]byte(c.sum.Sum(nil)))
}
