package parse

import (
	"github.com/skillpm/skillpm/internal/diag"
)

// findings collects what the rules say of one file.
type findings struct {
	file string
	list diag.List
}

func (f *findings) problem(code diag.Code, at Position, format string, args ...any) *diag.Error {
	e := diag.New(code, format, args...).At(f.file, at.Line, at.Column)
	f.list = append(f.list, e)
	return e
}

func (f *findings) note(code diag.Code, at Position, format string, args ...any) *diag.Error {
	e := f.problem(code, at, format, args...)
	e.Severity = diag.SeverityNote
	return e
}

// add appends a finding that was made without a file, and returns it.
func (f *findings) add(e *diag.Error) *diag.Error {
	e.File = f.file
	f.list = append(f.list, e)
	return e
}
