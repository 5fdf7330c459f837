package project_test

import (
	"github.com/skillpm/skillpm/internal/views"

	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/skillpm/skillpm/internal/diag"
)

// watch reports, once it is called, which files of the directories were opened
// since, as the kernel saw it.
func watch(t *testing.T, dirs []string) (opened func() []string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for _, dir := range dirs {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN); err != nil {
			t.Fatal(err)
		}
	}
	return func() []string {
		var names []string
		buffer := make([]byte, 64<<10)
		for {
			n, err := unix.Read(fd, buffer)
			if err == unix.EAGAIN {
				return names
			}
			if err != nil {
				t.Fatal(err)
			}
			for b := buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
				size := int(binary.NativeEndian.Uint32(b[12:]))
				name := b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+size]
				mask := binary.NativeEndian.Uint32(b[4:])
				if text := string(bytes.TrimRight(name, "\x00")); text != "" && mask&unix.IN_ISDIR == 0 {
					names = append(names, text)
				}
				b = b[unix.SizeofInotifyEvent+size:]
			}
		}
	}
}

// Progressive disclosure, as the kernel sees it: what a runtime reads before a
// skill is used opens no file of an installed skill.
func TestTierOneOpensNoSkill(t *testing.T) {
	for _, read := range tierOne {
		t.Run(read.name, func(t *testing.T) {
			opt := installed(t, 4)
			dirs, err := filepath.Glob(filepath.Join(opt.Dir, ".agents", "skills", "*"))
			if err != nil {
				t.Fatal(err)
			}
			opened := watch(t, dirs)
			read.run(t, opt)
			if names := opened(); len(names) > 0 {
				t.Errorf("opened %v", names)
			}
		})
	}
}

// The watch sees what it is there to see.
func TestWatchSeesACard(t *testing.T) {
	opt := installed(t, 4)
	opened := watch(t, []string{filepath.Join(opt.Dir, ".agents", "skills", "skill-0001")})
	must(views.Card(t.Context(), open(t, opt).Local, "skill-0001"))(t)
	if len(opened()) == 0 {
		t.Error("a card was made and no file opened")
	}
}

// A pipe in the place of a SKILL.md would make whoever opens it wait for ever.
func TestNothingWaitsForAPipe(t *testing.T) {
	opt := installed(t, 4)
	for _, name := range []string{"skill-0001", "skill-0003"} {
		file := filepath.Join(opt.Dir, ".agents", "skills", name, "SKILL.md")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pipe := filepath.Join(opt.Dir, ".agents", "skills", "loose", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(pipe), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"project found skill-0000", "project refused skill-0001 skill_file_not_regular", "project found skill-0002",
		"project refused skill-0003 skill_file_not_regular", "project refused loose skill_file_not_regular",
	}
	if diff := cmp.Diff(want, seen(t, opt, views.LayersOptions{})); diff != "" {
		t.Error(diff)
	}
	if _, err := views.Card(t.Context(), open(t, opt).Local, "skill-0001"); diag.CodeOf(err) != diag.PathUnsafe {
		t.Errorf("a card of a pipe: %v", err)
	}
	if _, err := views.Prompt(open(t, opt).Project, nil); err != nil {
		t.Error(err)
	}
}
