package lockfile

import (
	"fmt"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Error is one fault of a lock. Its code, from Unwrap, is lock_corrupt,
// lock_version or lock_foreign.
type Error struct {
	// Line and Column count from 1, columns in code points; 0 is unknown.
	Line, Column int
	Fault        *skill.Error
}

// Error returns place and message.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Fault.Message
	}
	return fmt.Sprintf("line %d column %d: %s", e.Line, e.Column, e.Fault.Message)
}

// Unwrap returns the *skill.Error with code and hint.
func (e *Error) Unwrap() error { return e.Fault }

// Errors is every fault found in one lock, by position; never empty.
type Errors []*Error

// Error joins the faults.
func (l Errors) Error() string {
	parts := make([]string, len(l))
	for i, e := range l {
		parts[i] = e.Error()
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns the faults one by one.
func (l Errors) Unwrap() []error {
	out := make([]error, len(l))
	for i, e := range l {
		out[i] = e
	}
	return out
}
