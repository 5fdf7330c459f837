package lockfile

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skillpm/skillpm/skill"
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

// Conflicted reads the two sides of a lock with conflict markers (also in the
// diff3 styles), so that a new resolution can prefer what both decided. git also
// merges lines that did not run into each other, so a side need not be a lock any
// more (what Salvage finds stands for it then), and an entry may hold fields of two:
// take nothing from the result unchecked. The error is an Errors: markers
// that do not pair, or a side that a newer skillpm or another tool wrote.
func Conflicted(data []byte) (ours, theirs *Lock, err error) {
	left, right, ok := splitConflict(string(unixLines(data)))
	if !ok {
		return nil, nil, Errors{{Fault: corrupt("the lock has no conflict markers in pairs")}}
	}
	ours, errOurs := parseSide(left)
	theirs, errTheirs := parseSide(right)
	if errOurs != nil {
		return nil, nil, errOurs
	}
	if errTheirs != nil {
		return nil, nil, errTheirs
	}
	return ours, theirs, nil
}

func parseSide(text string) (*Lock, error) {
	l, err := Parse([]byte(text))
	if err != nil && skill.CodeOf(err) == "lock_corrupt" {
		return Salvage([]byte(text)), nil
	}
	return l, err
}

// entryStart is where an entry begins in a canonical lock.
var entryStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^    "([A-Za-z0-9][A-Za-z0-9._-]{0,63})": \{$`)
})

// Salvage returns a lock with the entries that can still be read whole in a
// damaged one, such as after a merge that lost a comma or has a key twice (the
// last counts). It is good for preferences of a new resolution and nothing else:
// nothing says that the entries fit together.
func Salvage(data []byte) *Lock {
	text := string(unixLines(data))
	l := &Lock{Root: Root{Requires: map[string]string{}}}
	for _, at := range entryStart().FindAllStringSubmatchIndex(text, -1) {
		e := salvageEntry(text[:min(len(text), maxLockBytes)], text[at[2]:at[3]], at[1]-1)
		if e == nil {
			continue
		}
		l.Skills = slices.DeleteFunc(l.Skills, func(old *Entry) bool { return strings.EqualFold(old.Key, e.Key) })
		l.Skills = append(l.Skills, e)
	}
	return l
}

func salvageEntry(text, key string, at int) *Entry {
	if at >= len(text) {
		return nil
	}
	p := &parser{text: text, at: at}
	n, fault := p.value()
	if fault != nil {
		return nil
	}
	d := &decoder{text: text}
	o := d.object(n, "the entry `"+key+"`")
	if o == nil {
		return nil
	}
	e := o.entry(key)
	if _, err := skill.ParseKey(key); err != nil || len(d.errs) > 0 {
		return nil
	}
	return e
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
