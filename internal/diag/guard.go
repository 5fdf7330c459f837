package diag

import (
	"runtime/debug"
	"strings"
)

// Guard calls f and turns a panic in it into a finding with code internal, so
// that our own mistake still ends the run with status 70 and, with --json, one
// object. A goroutine needs its own Guard: a panic cannot be caught from
// another one.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v, string(debug.Stack()))
		}
	}()
	return f()
}

// maxFrames is how much of a stack a report needs to name the place.
const maxFrames = 12

// panicked names the frames below the panic itself.
func panicked(v any, stack string) *Error {
	e := New(Internal, "panic: %v", v).WithHint("this is a mistake of skillpm: please report it with this text")
	if _, below, ok := strings.Cut(stack, "\npanic("); ok {
		stack = below
	}
	frames := 0
	for line := range strings.Lines(stack) {
		place, ok := strings.CutPrefix(line, "\t")
		if !ok || frames == maxFrames {
			continue
		}
		place, _, _ = strings.Cut(strings.TrimSpace(place), " +0x")
		if strings.HasPrefix(place, "/") && strings.Contains(place, "/src/runtime/") {
			continue
		}
		e = e.WithDetail("at %s", shortPlace(place))
		frames++
	}
	return e
}

// shortPlace leaves out the directories of the machine that built the program.
func shortPlace(place string) string {
	parts := strings.Split(place, "/")
	return strings.Join(parts[max(0, len(parts)-3):], "/")
}
