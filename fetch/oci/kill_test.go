package oci_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	orasoci "oras.land/oras-go/v2/content/oci"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
)

const (
	childSpec = "SKILLPM_TEST_CHILD_SPEC"
	childKill = "SKILLPM_TEST_CHILD_KILL"
	childSize = 24
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childSpec); spec != "" {
		pushAndDie(spec)
	}
	os.Exit(m.Run())
}

// pushAndDie pushes and kills its own process once so many items are finished:
// no deferred function runs, other items are in the middle of their writes.
func pushAndDie(spec string) {
	after, _ := strconv.Atoi(os.Getenv(childKill))
	m, err := oci.Open(context.Background(), spec, oci.Options{Write: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, err = m.Push(context.Background(), items(samples(fakeTB{}, childSize)), oci.RunOptions{
		Progress: func(_ oci.Outcome, done, _ int) {
			if done == after {
				self, _ := os.FindProcess(os.Getpid())
				self.Kill()
				select {}
			}
		},
	})
	fmt.Fprintln(os.Stderr, "not killed:", err)
	os.Exit(1)
}

// fakeTB lets the child use the helpers of tests.
type fakeTB struct{ testing.TB }

func (fakeTB) Helper() {}

func killedPush(t *testing.T, spec string, after int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childSpec+"="+spec, childKill+"="+strconv.Itoa(after))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child was not killed: %v\n%s", err, out)
	}
}

// After a kill at any item, the mirror holds whole items only, and pushing again
// moves what is left.
func TestKillAndResume(t *testing.T) {
	list := samples(t, childSize)
	for _, after := range []int{1, 7, 16, childSize} {
		for name, spec := range map[string]string{
			"folder":   "dir:" + filepath.Join(t.TempDir(), "mirror"),
			"registry": first(serve(t, inProcess())),
		} {
			t.Run(fmt.Sprintf("%s/%d", name, after), func(t *testing.T) {
				killedPush(t, spec, after)
				checkWholeItems(t, spec, list, after)
				m := open(t, spec, oci.Options{Write: true})
				report := push(t, m, items(list), oci.RunOptions{})
				if present := report.Count(oci.Present); present < after || present+report.Count(oci.Done) != len(list) {
					t.Errorf("present %d after %d were finished", present, after)
				}
				verified, err := m.Verify(t.Context(), wants(list), oci.RunOptions{})
				if err != nil || verified.Err() != nil {
					t.Fatalf("verify: %v, %v", err, verified.Err())
				}
				if path, ok := strings.CutPrefix(spec, "dir:"); ok {
					checkIndex(t, path, len(list))
				}
			})
		}
	}
}

func first(spec string, _ *requestLog) string { return spec }

func checkWholeItems(t *testing.T, spec string, list []sample, atLeast int) {
	t.Helper()
	m := open(t, spec, oci.Options{})
	present := 0
	for _, s := range list {
		ok, err := m.Has(t.Context(), s.want().Ref)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			present++
			s.mustRead(t, m)
		}
	}
	if present < atLeast {
		t.Errorf("%d items present after %d were finished", present, atLeast)
	}
}

// checkIndex demands that another OCI tool sees n tags in the folder, and that
// no journal or temporary file is left.
func checkIndex(t *testing.T, path string, n int) {
	t.Helper()
	store, err := orasoci.NewFromFS(t.Context(), os.DirFS(path))
	if err != nil {
		t.Fatal(err)
	}
	tags := 0
	err = store.Tags(t.Context(), "", func(list []string) error { tags += len(list); return nil })
	if err != nil || tags != n {
		t.Errorf("index.json has %d tags, want %d (%v)", tags, n, err)
	}
	left, _ := filepath.Glob(filepath.Join(path, "skillpm", "push-*.journal"))
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// Runs that push into one folder at once lose none of each other's items.
func TestConcurrentPushes(t *testing.T) {
	dir := t.TempDir()
	list := samples(t, 40)
	var wg sync.WaitGroup
	for part := range 4 {
		m := open(t, "dir:"+dir, oci.Options{Write: true})
		wg.Go(func() {
			// Neighbours overlap, so that some items are stored twice.
			mine := list[part*8 : part*8+16]
			if _, err := m.Push(t.Context(), items(mine), oci.RunOptions{Parallel: 2}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkIndex(t, dir, len(list))
	m := open(t, "dir:"+dir, oci.Options{})
	for _, s := range list {
		s.mustRead(t, m)
	}
}

// What a power cut leaves (files of the right name, the wrong content, and a
// journal) is found and pushed again.
func TestPowerCut(t *testing.T) {
	dir := t.TempDir()
	list := samples(t, 6)
	m := open(t, "dir:"+dir, oci.Options{Write: true})
	for _, s := range list {
		if _, err := m.PutTree(t.Context(), s.tree, s.open); err != nil {
			t.Fatal(err)
		}
	}
	m.Close() // no commit: the journal stays
	damaged := 0
	blobs, _ := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	for i, name := range blobs {
		if i%5 == 0 {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			os.Chmod(name, 0o644)
			if err := os.WriteFile(name, make([]byte, info.Size()), 0o644); err != nil {
				t.Fatal(err)
			}
			damaged++
		}
	}
	m = open(t, "dir:"+dir, oci.Options{Write: true})
	report := push(t, m, items(list), oci.RunOptions{})
	if done := report.Count(oci.Done); damaged == 0 || done == 0 || done > damaged {
		t.Errorf("%d blobs damaged, %d items stored again", damaged, done)
	}
	verified, err := m.Verify(t.Context(), wants(list), oci.RunOptions{})
	if err != nil || verified.Err() != nil {
		t.Errorf("verify: %v, %v", err, verified.Err())
	}
	checkIndex(t, dir, len(list))
}

// A damaged item is reported, and pushed again on demand.
func TestVerifyAndReplace(t *testing.T) {
	dir := t.TempDir()
	list := samples(t, 4)
	m := open(t, "dir:"+dir, oci.Options{Write: true})
	push(t, m, items(list[:3]), oci.RunOptions{})
	layer := largestBlob(t, dir)
	b, err := os.ReadFile(layer)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	os.Chmod(layer, 0o644)
	if err := os.WriteFile(layer, b, 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := m.Verify(t.Context(), wants(list), oci.RunOptions{})
	if err != nil || report.Count(oci.Invalid) != 1 || report.Count(oci.Missing) != 1 || report.Count(oci.Present) != 2 {
		t.Fatalf("verify: %v, %+v", err, report)
	}
	if got := diag.Exit(report.Err()); got != 2 {
		t.Errorf("exit status %d, want 2", got)
	}
	quick, err := m.Verify(t.Context(), wants(list), oci.RunOptions{Quick: true})
	if err != nil || quick.Count(oci.Missing) != 1 || quick.Count(oci.Present) != 3 {
		t.Fatalf("quick: %v, %+v", err, quick)
	}
	push(t, m, items(list), oci.RunOptions{Replace: true})
	report, err = m.Verify(t.Context(), wants(list), oci.RunOptions{})
	if err != nil || report.Err() != nil {
		t.Errorf("after replace: %v, %v", err, report.Err())
	}
}

func largestBlob(t *testing.T, dir string) string {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	best, size := "", int64(0)
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Size() > size {
			best, size = name, info.Size()
		}
	}
	return best
}
