// Package regular reads files that may be anything: what a project, a rule or a
// flag names can be a pipe or a device, and opening or reading one of these waits
// for as long as its other end likes.
//
// It depends on nothing, so that every reader can use it.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// The errors of files that are not read, wrapped in an *fs.PathError.
var (
	ErrNotRegular = errors.New("it is no regular file")
	ErrTooLarge   = errors.New("it is larger than allowed here")
)

// tooLarge is ErrTooLarge with the numbers.
type tooLarge struct{ size, limit int64 }

func (e tooLarge) Error() string {
	return fmt.Sprintf("has %d bytes; the limit is %d", e.size, e.limit)
}

func (e tooLarge) Is(target error) bool { return target == ErrTooLarge }

// flags open without waiting for a writer; of a regular file they change nothing.
const flags = os.O_RDONLY | syscall.O_NONBLOCK

// Open opens a regular file, following links. Anything else is ErrNotRegular, at
// once. Errors are *fs.PathError.
func Open(name string) (*os.File, error) {
	return checked(os.OpenFile(name, flags, 0))
}

// OpenIn is Open below root.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return checked(root.OpenFile(name, flags, 0))
}

func checked(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read returns the content of a regular file of at most limit bytes; a longer one
// is ErrTooLarge.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		size := int64(len(data))
		if info, statErr := f.Stat(); statErr == nil {
			size = max(size, info.Size())
		}
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: tooLarge{size, limit}}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
