//go:build unix

package regular

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe that nobody writes to would be waited for without an end.
func TestNothingWaits(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pipe", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "link", "."} {
		if _, err := Read(filepath.Join(dir, name), 10); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := OpenIn(root, name); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s below a root: %v", name, err)
		}
	}
	if data, err := Read(filepath.Join(dir, "file"), 4); err != nil || string(data) != "text" {
		t.Errorf("a file: %q, %v", data, err)
	}
	if _, err := Read(filepath.Join(dir, "file"), 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file over the limit: %v", err)
	}
}
