package parse

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// Verdict is one of three words.
type Verdict string

// The verdicts: the skill loads; it is refused; it loads, and something in it
// reaches nothing or differs elsewhere.
const (
	OK      Verdict = "ok"
	Problem Verdict = "problem"
	Note    Verdict = "note"
)

// Line is one line of a report.
type Line struct {
	Verdict Verdict
	// Path is the skill as the user would name it: slash-separated, relative to
	// Base where the given path was.
	Path string
	// Name is the name a prompt gets; only on an ok line.
	Name string
	// Finding is nil on an ok line.
	Finding *diag.Error
}

// Report is the outcome of Validate.
type Report struct {
	// Lines are ordered by path, then ok before problem before note, then code.
	Lines []Line
	// Skills counts the skills looked at.
	Skills int
}

func (r *Report) sort() {
	rank := map[Verdict]int{OK: 0, Problem: 1, Note: 2}
	slices.SortStableFunc(r.Lines, func(a, b Line) int {
		return cmp.Or(
			strings.Compare(a.Path, b.Path),
			cmp.Compare(rank[a.Verdict], rank[b.Verdict]),
			strings.Compare(string(a.Code()), string(b.Code())),
			cmp.Compare(a.line(), b.line()),
		)
	})
}

// Code returns the finding's code, "ok" for none.
func (l Line) Code() diag.Code {
	if l.Finding == nil {
		return diag.Code(OK)
	}
	return l.Finding.Code
}

func (l Line) line() int {
	if l.Finding == nil {
		return 0
	}
	return l.Finding.Line
}

// Findings returns the problems and notes, in order; diag.Exit over them is the
// run's exit status.
func (r *Report) Findings() diag.List {
	var list diag.List
	for _, l := range r.Lines {
		if l.Finding != nil {
			list = append(list, l.Finding)
		}
	}
	return list
}

// Err returns the problems as one error, nil if there is none.
func (r *Report) Err() error {
	var list diag.List
	for _, l := range r.Lines {
		if l.Verdict == Problem {
			list = append(list, l.Finding)
		}
	}
	return list.Err()
}

// Text returns the report as `skillpm validate` prints it, one line a finding:
// "ok PATH NAME", "problem PATH[:LINE] CODE: message", "note …". What comes from
// outside is escaped. LINE counts in SKILL.md; a finding in another file names
// that file in its message.
func (r *Report) Text() string {
	var b strings.Builder
	for _, l := range r.Lines {
		b.WriteString(l.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// String returns the line without its end.
func (l Line) String() string {
	if l.Finding == nil {
		return fmt.Sprintf("%s %s %s", l.Verdict, diag.Escape(l.Path), diag.Escape(l.Name))
	}
	place, where := l.Path, ""
	switch file := l.Finding.File; {
	case file == l.Path || l.Finding.Line == 0:
	case path.Base(file) == FileName:
		place = fmt.Sprintf("%s:%d", l.Path, l.Finding.Line)
	default:
		where = fmt.Sprintf("%s:%d:%d: ", path.Base(file), l.Finding.Line, l.Finding.Column)
	}
	text := where + l.Finding.Error()
	if l.Finding.Hint != "" {
		text += "; " + l.Finding.Hint
	}
	return fmt.Sprintf("%s %s %s: %s", l.Verdict, diag.Escape(place), l.Finding.Code, diag.Escape(text))
}
