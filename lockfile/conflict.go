package lockfile

import (
	"errors"
	"strings"
)

// The markers of a merge that git could not finish stand at a line's start, are
// seven characters long and end the line or are followed by a blank. No line of
// JSON that we write can begin so.
const (
	markOurs   = "<<<<<<<"
	markBase   = "|||||||"
	markMiddle = "======="
	markTheirs = ">>>>>>>"
)

func isMark(line, mark string) bool {
	rest, ok := strings.CutPrefix(line, mark)
	return ok && (rest == "" || rest[0] == ' ')
}

// HasConflict reports whether data holds git's conflict markers.
func HasConflict(data []byte) bool { return conflictAt(string(unixLines(data))) >= 0 }

// conflictAt returns the offset of the first conflict marker, or -1.
func conflictAt(text string) int {
	at := 0
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, "\n")
		if isMark(trimmed, markOurs) || isMark(trimmed, markTheirs) {
			return at
		}
		at += len(line)
	}
	return -1
}

// Conflicted reads the two sides of a lock with conflict markers (also in
// diff3 style), so that a new resolution can prefer what both decided. A side
// that cannot be read, as when both sides added one key, is nil; err holds the
// faults of each such side. ours and theirs are both nil if data has no marker.
func Conflicted(data []byte) (ours, theirs *Lock, err error) {
	left, right, ok := splitConflict(string(unixLines(data)))
	if !ok {
		return nil, nil, Errors{{Fault: corrupt("the lock has no conflict markers in pairs")}}
	}
	ours, errOurs := Parse([]byte(left))
	theirs, errTheirs := Parse([]byte(right))
	return ours, theirs, errors.Join(errOurs, errTheirs)
}

func splitConflict(text string) (ours, theirs string, ok bool) {
	const (
		outside = iota
		inOurs
		inBase
		inTheirs
	)
	var left, right strings.Builder
	state := outside
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, "\n")
		switch {
		case state == outside && isMark(trimmed, markOurs):
			state, ok = inOurs, true
		case state == inOurs && isMark(trimmed, markBase):
			state = inBase
		case (state == inOurs || state == inBase) && isMark(trimmed, markMiddle):
			state = inTheirs
		case state == inTheirs && isMark(trimmed, markTheirs):
			state = outside
		case state == outside:
			left.WriteString(line)
			right.WriteString(line)
		case state == inOurs:
			left.WriteString(line)
		case state == inTheirs:
			right.WriteString(line)
		}
	}
	return left.String(), right.String(), ok && state == outside
}
