package project_test

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
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
	must(open(t, opt).Card(t.Context(), "skill-0001"))(t)
	if len(opened()) == 0 {
		t.Error("a card was made and no file opened")
	}
}
