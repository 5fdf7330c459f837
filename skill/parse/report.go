package parse

import "github.com/skillpm/skillpm/internal/diag"

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

// Text returns the report as `skillpm validate` prints it, one line a finding:
// "ok PATH NAME", "problem PATH[:LINE] CODE: message", "note …".
func (r *Report) Text() string { return "" }
