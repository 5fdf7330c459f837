package git

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// errTooLarge is anything over one of the limits.
type errTooLarge struct{ what string }

func (e errTooLarge) Error() string { return e.what }

func tooLarge(format string, args ...any) error { return errTooLarge{fmt.Sprintf(format, args...)} }

// packStore holds the bytes of one pack: in memory up to spillAt, beyond that
// in a temporary file that is gone with the process.
type packStore struct {
	mem  []byte
	file *os.File
	size int64
}

// Write implements io.Writer; over maxPackBytes it is errTooLarge.
func (s *packStore) Write(b []byte) (int, error) {
	if s.size+int64(len(b)) > maxPackBytes {
		return 0, tooLarge("the pack is larger than %d bytes", int64(maxPackBytes))
	}
	if s.file == nil && s.size+int64(len(b)) > spillAt {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	if s.file == nil {
		s.mem = append(s.mem, b...)
	} else if _, err := s.file.Write(b); err != nil {
		return 0, err
	}
	s.size += int64(len(b))
	return len(b), nil
}

func (s *packStore) spill() error {
	f, err := os.CreateTemp("", "skillpm-pack-*")
	if err != nil {
		return err
	}
	// Where an open file can be removed nothing stays behind after a kill;
	// elsewhere Close removes it.
	_ = os.Remove(f.Name())
	s.file = f
	_, err = f.Write(s.mem)
	s.mem = nil
	return err
}

// ReadAt implements io.ReaderAt.
func (s *packStore) ReadAt(b []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(b, off)
	}
	if off >= int64(len(s.mem)) {
		return 0, io.EOF
	}
	n := copy(b, s.mem[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// discard is Close for a store that may be nil.
func (s *packStore) discard() {
	if s != nil {
		_ = s.Close()
	}
}

// Close frees the bytes.
func (s *packStore) Close() error {
	s.mem = nil
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if e := os.Remove(s.file.Name()); e != nil && !errors.Is(e, os.ErrNotExist) && err == nil {
		err = e
	}
	s.file = nil
	return err
}

// packCursor reads a pack forward from any offset. It implements io.ByteReader,
// so that inflating takes not one byte too many and pos stays exact.
type packCursor struct {
	src  io.ReaderAt
	next int64 // offset of what follows buf
	buf  []byte
	r, w int
	// check is asked before each read of the pack, so that a long object does
	// not delay a cancellation; nil asks nobody.
	check func() error
}

func newPackCursor(src io.ReaderAt) *packCursor {
	return &packCursor{src: src, buf: make([]byte, 32<<10)}
}

func (c *packCursor) seek(off int64) {
	if start := c.next - int64(c.w); off >= start && off <= c.next {
		c.r = int(off - start)
		return
	}
	c.next, c.r, c.w = off, 0, 0
}

func (c *packCursor) pos() int64 { return c.next - int64(c.w-c.r) }

func (c *packCursor) fill() error {
	if c.r < c.w {
		return nil
	}
	if c.check != nil {
		if err := c.check(); err != nil {
			return err
		}
	}
	n, err := c.src.ReadAt(c.buf, c.next)
	if n == 0 {
		if err == nil {
			err = io.ErrNoProgress
		}
		return err
	}
	c.next, c.r, c.w = c.next+int64(n), 0, n
	return nil
}

func (c *packCursor) ReadByte() (byte, error) {
	if err := c.fill(); err != nil {
		return 0, err
	}
	b := c.buf[c.r]
	c.r++
	return b, nil
}

func (c *packCursor) Read(b []byte) (int, error) {
	if err := c.fill(); err != nil {
		return 0, err
	}
	n := copy(b, c.buf[c.r:c.w])
	c.r += n
	return n, nil
}
