package fsx_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
)

func open(t *testing.T, disk *fsx.FS) (*fsx.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := disk.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever path or link is tried, nothing outside the root is read or written.
func TestRootHolds(t *testing.T) {
	root, dir := open(t, nil)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644))
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, root.Mkdir("in", 0o755))
	for name, do := range map[string]func(p string) error{
		"ReadFile":    func(p string) error { _, err := root.ReadFile(p, 0); return err },
		"WriteFile":   func(p string) error { return root.WriteFile(p+"-new", nil, 0o644) },
		"WriteAtomic": func(p string) error { return root.WriteAtomic(p, nil, 0o644) },
		"Remove":      func(p string) error { return root.Remove(p) },
		"Mkdir":       func(p string) error { return root.Mkdir(p+"-dir", 0o755) },
		"Symlink":     func(p string) error { return root.Symlink("x", p+"-link") },
		"LinkFrom":    func(p string) error { return root.LinkFrom(filepath.Join(outside, "secret"), p+"-hard") },
		"Rename to":   func(p string) error { return root.Rename("in", p+"-moved") },
		"Rename from": func(p string) error { return root.Rename(p, "moved") },
	} {
		for _, p := range []string{"out/secret", "../" + filepath.Base(outside) + "/secret", outside + "/secret"} {
			if err := do(p); err == nil {
				t.Errorf("%s(%s) left the root", name, p)
			}
		}
	}
	entries, err := os.ReadDir(outside)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != "secret" {
		t.Errorf("outside holds %v", entries)
	}
}

func TestWriteAtomic(t *testing.T) {
	root, dir := open(t, nil)
	must(t, root.WriteAtomic("f", []byte("one"), 0o600))
	must(t, os.Chmod(filepath.Join(dir, "f"), 0o640))
	// What a killed run left is no obstacle.
	must(t, os.WriteFile(filepath.Join(dir, fsx.TemporaryName("f")), []byte("half"), 0o644))
	must(t, root.WriteAtomic("f", []byte("two"), 0o600))
	got, err := root.ReadFile("f", 0)
	if err != nil || string(got) != "two" {
		t.Errorf("content %q, %v", got, err)
	}
	info, err := root.Lstat("f")
	must(t, err)
	if info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v", info.Mode())
	}
	if _, err := root.ReadFile("f", 2); !errors.Is(err, fsx.ErrTooLarge) {
		t.Errorf("ReadFile over the limit = %v", err)
	}
	// A link in the file's place is replaced, not followed.
	outside := filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(outside, []byte("theirs"), 0o644))
	must(t, root.Remove("f"))
	must(t, os.Symlink(outside, filepath.Join(dir, "f")))
	must(t, root.WriteAtomic("f", []byte("three"), 0o600))
	if b, err := os.ReadFile(outside); err != nil || string(b) != "theirs" {
		t.Errorf("the link was followed: %q, %v", b, err)
	}
}

// At every call of an atomic write, killed or failing: the file is old or new.
func TestWriteAtomicFaults(t *testing.T) {
	for _, fault := range []error{syscall.ENOSPC, syscall.EROFS, errors.New("killed")} {
		for k := 1; ; k++ {
			n := 0
			disk := &fsx.FS{}
			root, dir := open(t, disk)
			must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("old"), 0o644))
			disk.Hook = func(c fsx.Call) error {
				if c.After {
					return nil
				}
				if n++; n == k || n > k && !errors.Is(fault, syscall.ENOSPC) {
					return fault
				}
				return nil
			}
			err := root.WriteAtomic("f", []byte("new"), 0o644)
			if n < k {
				break
			}
			got, readErr := os.ReadFile(filepath.Join(dir, "f"))
			must(t, readErr)
			if s := string(got); s != "old" && s != "new" || err == nil && s != "new" {
				t.Errorf("%v at call %d: WriteAtomic = %v, the file holds %q", fault, k, err, s)
			}
		}
	}
}

func TestHookSeesEveryCall(t *testing.T) {
	var calls []string
	disk := &fsx.FS{Hook: func(c fsx.Call) error {
		if c.After {
			calls = append(calls, fmt.Sprintf("%s %s", c.Op, filepath.Base(c.Path)))
		}
		return nil
	}}
	root, _ := open(t, disk)
	calls = nil
	must(t, root.WriteAtomic("f", []byte("x"), 0o644))
	must(t, root.MkdirAll("a/b", 0o755))
	must(t, root.Symlink("b", "a/l"))
	must(t, root.LinkFrom(filepath.Join(root.Name(), "f"), "a/b/h"))
	must(t, root.Chmod("a/b/h", 0o600))
	var writes []string
	for _, call := range calls {
		if op, _, _ := strings.Cut(call, " "); fsx.Op(op).Writes() {
			writes = append(writes, call)
		}
	}
	tmp := filepath.Base(fsx.TemporaryName("f"))
	want := []string{"remove " + tmp, "create " + tmp, "write " + tmp, "sync " + tmp, "rename f", "syncdir " + filepath.Base(root.Name()),
		"mkdir a", "mkdir b", "symlink l", "link h", "chmod h"}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	calls = nil
	must(t, root.RemoveAll("a"))
	n := 0
	for _, call := range calls {
		if strings.HasPrefix(call, "remove ") {
			n++
		}
	}
	if n != 4 {
		t.Errorf("RemoveAll showed %d removals, want 4: %v", n, calls)
	}
}

func TestErrorsNameTheWholePath(t *testing.T) {
	root, dir := open(t, nil)
	_, err := root.Open("no/such/file")
	if e, ok := errors.AsType[*fs.PathError](err); !ok || e.Path != filepath.Join(dir, "no/such/file") {
		t.Errorf("error %v does not name the whole path", err)
	}
	if !fsx.IsNotExist(err) {
		t.Errorf("IsNotExist(%v)", err)
	}
	must(t, root.WriteFile("f", nil, 0o644))
	if _, err := root.Open("f/below"); !fsx.IsNotExist(err) {
		t.Errorf("below a file: %v", err)
	}
}

func TestDiag(t *testing.T) {
	path := func(err error) error { return &fs.PathError{Op: "write", Path: "/x", Err: err} }
	plain := errors.New("no error of a disk")
	for _, tc := range []struct {
		err  error
		want diag.Code
	}{
		{path(syscall.ENOSPC), diag.DiskFull},
		{path(syscall.EDQUOT), diag.DiskFull},
		{path(syscall.EACCES), diag.PermissionDenied},
		{path(syscall.EROFS), diag.PermissionDenied},
		{path(syscall.EIO), diag.DiskFailed},
		{&os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: syscall.EXDEV}, diag.DiskFailed},
		{diag.New(diag.TargetUnsafe, "x").WithCause(path(syscall.ENOSPC)), diag.TargetUnsafe},
		{plain, diag.Internal},
	} {
		got := fsx.Diag(tc.err, "write `x`")
		if diag.CodeOf(got) != tc.want || !errors.Is(got, tc.err) {
			t.Errorf("Diag(%v) = %v (%s), want %s", tc.err, got, diag.CodeOf(got), tc.want)
		}
	}
	if fsx.Diag(nil, "x") != nil || fsx.Diag(plain, "x") != plain {
		t.Error("nil and foreign errors must stay as they are")
	}
}

func TestFakes(t *testing.T) {
	t.Run("no symbolic links", func(t *testing.T) {
		root, _ := open(t, &fsx.FS{Fakes: fsx.Fakes{NoSymlinks: true}})
		if err := root.Symlink("x", "l"); !fsx.IsNoLinks(err) {
			t.Errorf("Symlink = %v", err)
		}
	})
	t.Run("no hard links", func(t *testing.T) {
		root, _ := open(t, &fsx.FS{Fakes: fsx.Fakes{NoHardlinks: true}})
		must(t, root.WriteFile("f", nil, 0o644))
		if err := root.LinkFrom(filepath.Join(root.Name(), "f"), "h"); !fsx.IsNoLinks(err) {
			t.Errorf("LinkFrom = %v", err)
		}
	})
	t.Run("case is folded", func(t *testing.T) {
		root, _ := open(t, &fsx.FS{Fakes: fsx.Fakes{CaseInsensitive: true}})
		must(t, root.MkdirAll("Dir/Sub", 0o755))
		must(t, root.WriteFile("dir/SUB/File", []byte("x"), 0o644))
		if got, err := root.ReadFile("DIR/sub/fILE", 0); err != nil || string(got) != "x" {
			t.Errorf("read in another case: %q, %v", got, err)
		}
		if err := root.WriteFile("dir/sub/file", nil, 0o644); !os.IsExist(err) {
			t.Errorf("a second file in another case: %v", err)
		}
	})
	t.Run("names are reserved", func(t *testing.T) {
		root, _ := open(t, &fsx.FS{Fakes: fsx.Fakes{ReservedNames: true}})
		for _, name := range []string{"CON", "nul.md", "com1"} {
			if err := root.WriteFile(name, nil, 0o644); err == nil {
				t.Errorf("%s could be created", name)
			}
		}
		for _, name := range []string{"a:b", "a.", "a ", "a.:$DATA"} {
			if err := root.WriteFile(name, nil, 0o644); diag.CodeOf(fsx.Diag(err, "write")) != diag.PathUnsafe {
				t.Errorf("%q: %v, want path_unsafe", name, err)
			}
			if err := root.MkdirAll("d/"+name+"/e", 0o755); diag.CodeOf(fsx.Diag(err, "write")) != diag.PathUnsafe {
				t.Errorf("directory %q: %v, want path_unsafe", name, err)
			}
		}
		must(t, root.WriteFile("console", nil, 0o644))
	})
	t.Run("paths are bounded", func(t *testing.T) {
		root, dir := open(t, &fsx.FS{Fakes: fsx.Fakes{MaxPath: 260}})
		err := root.WriteFile(strings.Repeat("n", 260-len(dir)), nil, 0o644)
		if !errors.Is(err, syscall.ENAMETOOLONG) || diag.CodeOf(fsx.Diag(err, "write")) != diag.DiskFailed {
			t.Errorf("a long path: %v", err)
		}
	})
	t.Run("open files cannot be renamed", func(t *testing.T) {
		busy := new(atomic.Int64)
		root, _ := open(t, &fsx.FS{Fakes: fsx.Fakes{BusyRenames: busy}})
		must(t, root.WriteFile("a", nil, 0o644))
		busy.Store(4)
		must(t, root.Rename("a", "b")) // tried again until the file is closed
		if busy.Load() > 0 {
			t.Errorf("%d failures left", busy.Load())
		}
	})
	t.Run("no executable bit", func(t *testing.T) {
		root, _ := open(t, &fsx.FS{Fakes: fsx.Fakes{NoExec: true}})
		must(t, root.WriteFile("run", nil, 0o755))
		if info, err := root.Lstat("run"); err != nil || info.Mode()&0o111 != 0 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
}

// A real long path, beyond what Windows and many tools take.
func TestLongRealPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // covered by MaxPath
	}
	root, _ := open(t, nil)
	p := strings.TrimSuffix(strings.Repeat("directory/", 60), "/")
	must(t, root.MkdirAll(p, 0o755))
	must(t, root.WriteAtomic(p+"/file", []byte("deep"), 0o644))
	if got, err := root.ReadFile(p+"/file", 0); err != nil || string(got) != "deep" {
		t.Errorf("%q, %v", got, err)
	}
}
