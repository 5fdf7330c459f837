// Package diag is the vocabulary of skillpm's findings: permanent code words
// with their exit statuses, and Error, a finding with code, place, cause and
// hint. Libraries return *Error (or a List of them); only package cmd turns one
// into text and an exit status. It prints nothing and keeps no state.
//
//	return diag.New(diag.RefNotFound, "no branch, tag or commit `%s` in %s", ref, repo).
//		WithHint("`skillpm versions %s` lists what there is", repo)
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Severity is the weight of a finding.
type Severity string

// The severities; only Error makes a run end with a status other than 0.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// Error is one finding.
type Error struct {
	Code     Code
	Severity Severity // empty means error
	// Message is the headline: lower case, no full stop, names in backticks.
	Message string
	// File, Line and Column say where; Line and Column count from 1, 0 is unknown.
	File         string
	Line, Column int
	// Details are further lines, printed indented under the headline.
	Details []string
	// Cause is the lower-level error, printed once after "cause:".
	Cause error
	// Hint is one thing the user can do.
	Hint string
	// Reason refines the code for programs (see package resolver).
	Reason string
	// Data are further fields for --json: nil or a value encoding/json can write.
	Data any
}

// New returns an error with a formatted headline.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Severity: SeverityError, Message: fmt.Sprintf(format, args...)}
}

// Warn returns a warning, Note a note; neither makes a run fail.
func Warn(code Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.Severity = SeverityWarning
	return e
}

// Note returns a note.
func Note(code Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.Severity = SeverityNote
	return e
}

// At sets the place and returns e. Zero line or column means unknown.
func (e *Error) At(file string, line, column int) *Error {
	e.File, e.Line, e.Column = file, line, column
	return e
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithCause sets the cause and returns e.
func (e *Error) WithCause(err error) *Error {
	e.Cause = err
	return e
}

// WithReason sets the reason and returns e.
func (e *Error) WithReason(reason string) *Error {
	e.Reason = reason
	return e
}

// WithDetail appends an indented line and returns e.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Details = append(e.Details, fmt.Sprintf(format, args...))
	return e
}

// Error returns headline and cause on one line.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// List is several independent findings, in the order they are printed.
type List []*Error

// Error joins the headlines.
func (l List) Error() string {
	parts := make([]string, len(l))
	for i, e := range l {
		parts[i] = e.Error()
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns the findings, so that errors.Is and errors.As see each.
func (l List) Unwrap() []error {
	out := make([]error, len(l))
	for i, e := range l {
		out[i] = e
	}
	return out
}

// Err returns l as an error, nil when it is empty, its element when it has one.
func (l List) Err() error {
	switch len(l) {
	case 0:
		return nil
	case 1:
		return l[0]
	}
	return l
}

// All flattens err into findings, each once: those of a List and of errors that
// were joined, in their order. A finding stays one finding, with whatever caused
// it as its cause. An error of package skill keeps its code. An error that is no
// finding becomes one with code internal, or beside a finding one of its details.
// The findings of err itself are not changed.
func All(err error) List {
	if err == nil {
		return nil
	}
	var c collector
	if !c.collect(err) {
		return List{{Code: Internal, Severity: SeverityError, Message: err.Error()}}
	}
	return c.list
}

// collector gathers the findings of one error.
type collector struct {
	list List
	seen map[*Error]bool
}

// collect adds the findings of err, and reports whether there are any.
func (c *collector) collect(err error) bool {
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch e := e.(type) {
		case *Error:
			c.add(e)
			return true
		case *skill.Error:
			c.list = append(c.list, &Error{Code: Code(e.Code), Severity: SeverityError, Message: err.Error(), Hint: e.Hint})
			return true
		case interface{ Unwrap() []error }:
			return c.collectJoined(e.Unwrap())
		}
	}
	return false
}

// collectJoined adds the findings of errs. What is no finding becomes a detail of
// the first: its code would hide theirs.
func (c *collector) collectJoined(errs []error) bool {
	first, found := len(c.list), false
	var others []string
	for _, err := range errs {
		if c.collect(err) {
			found = true
		} else if err != nil {
			others = append(others, "also: "+err.Error())
		}
	}
	if len(others) > 0 && len(c.list) > first {
		e := *c.list[first]
		e.Details = append(slices.Clone(e.Details), others...)
		c.list[first] = &e
	}
	return found
}

// add adds e unless it was heard already, by itself or as another's cause.
func (c *collector) add(e *Error) {
	if c.seen[e] {
		return
	}
	c.list = append(c.list, e)
	c.hear(e)
}

// hear notes e and the findings that caused it.
func (c *collector) hear(link error) {
	if e, ok := link.(*Error); ok {
		if c.seen == nil {
			c.seen = map[*Error]bool{}
		}
		c.seen[e] = true
	}
	switch e := link.(type) {
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			c.hear(cause)
		}
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			c.hear(cause)
		}
	}
}

// CodeOf returns the code of the first finding in err, or "".
func CodeOf(err error) Code {
	if l := All(err); len(l) > 0 {
		return l[0].Code
	}
	return ""
}

// exitOrder is the precedence of exit statuses when a run has several findings.
var exitOrder = []int{130, 70, 64, 2, 3, 1}

// Exit returns the exit status of a run that ended with err: 0 for nil, else
// the first of 130, 70, 64, 2, 3, 1 that one of the findings has.
func Exit(err error) int {
	if err == nil {
		return 0
	}
	seen := map[int]bool{}
	for _, e := range All(err) {
		if e.Severity == SeverityError || e.Severity == "" {
			seen[exitOf(e.Code)] = true
		}
	}
	for _, status := range exitOrder {
		if seen[status] {
			return status
		}
	}
	return 0
}

func exitOf(c Code) int {
	info, ok := Lookup(c)
	switch {
	case !ok:
		return 70
	case info.Exit == 0: // a note raised to an error, as by --strict-spec
		return 2
	}
	return info.Exit
}

// Sort orders findings by file, line, column, severity (errors first) and code.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b *Error) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity.rank(), b.Severity.rank()),
			cmp.Compare(a.Code, b.Code),
		)
	})
}

// rank orders severities, the gravest first.
func (s Severity) rank() int {
	switch s {
	case SeverityNote:
		return 2
	case SeverityWarning:
		return 1
	}
	return 0
}

// Escape makes text taken from outside safe for a terminal: control characters,
// bidirectional overrides and invalid UTF-8 become visible escapes.
func Escape(s string) string {
	safe := true
	for _, r := range s {
		if unsafeRune(r) {
			safe = false
			break
		}
	}
	if safe {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) {
			fmt.Fprintf(&b, "\\u{%04x}", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return r == '\n'
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xfffd:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0x061c, r == 0xfeff:
		return true
	case r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}
