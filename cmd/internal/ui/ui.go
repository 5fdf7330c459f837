// Package ui is the one way skillpm speaks to a person: streams that know
// whether they are a terminal, five colour roles, findings, tables that respect
// the width, one progress line and yes/no questions. Data goes to Out,
// everything else to Err. It decides nothing about what is said.
package ui

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/skillpm/skillpm/internal/diag"
)

// Streams are the three standard streams with what is known of them.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// InTTY, OutTTY and ErrTTY say which are terminals.
	InTTY, OutTTY, ErrTTY bool
	// Width is the terminal's width in cells, 0 when Out is no terminal.
	Width int
	// Color says whether to style text.
	Color bool
	// Quiet leaves out everything but data and errors.
	Quiet bool
	// Progress allows a progress line on Err.
	Progress bool

	mu     sync.Mutex
	line   string // the progress line that stands on the terminal
	outErr error  // the first error of writing to Out
}

// Std returns the process's own streams.
func Std() *Streams {
	s := &Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	s.InTTY = term.IsTerminal(int(os.Stdin.Fd()))
	s.OutTTY = term.IsTerminal(int(os.Stdout.Fd()))
	s.ErrTTY = term.IsTerminal(int(os.Stderr.Fd()))
	if s.OutTTY {
		if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			s.Width = w
		}
	}
	return s
}

// Role is a meaning that a colour carries. Text reads the same without it.
type Role string

// The roles.
const (
	Strong  Role = "1"
	Good    Role = "32"
	Bad     Role = "31"
	Warn    Role = "33"
	Accent  Role = "36"
	Subdued Role = "2"
)

// Paint returns text in a role, or text itself where colour is off.
func (s *Streams) Paint(r Role, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + string(r) + "m" + text + "\x1b[0m"
}

// Printf writes data to Out.
func (s *Streams) Printf(format string, args ...any) { s.write(s.Out, format, args...) }

// Infof writes a message to Err unless Quiet.
func (s *Streams) Infof(format string, args ...any) {
	if !s.Quiet {
		s.write(s.Err, format, args...)
	}
}

func (s *Streams) write(w io.Writer, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
	if _, err := fmt.Fprintf(w, format, args...); err != nil && w == s.Out && s.outErr == nil {
		s.outErr = err
	}
}

// OutErr returns the first error of writing data to Out.
func (s *Streams) OutErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outErr
}

// Finding writes one finding to Err in the form that docs/errors.md describes.
// Notes and warnings are left out when Quiet.
func (s *Streams) Finding(e *diag.Error) {
	severity := e.Severity
	if severity == "" {
		severity = diag.SeverityError
	}
	if s.Quiet && severity != diag.SeverityError {
		return
	}
	e = e.Redacted()
	var b strings.Builder
	role := map[diag.Severity]Role{diag.SeverityError: Bad, diag.SeverityWarning: Warn, diag.SeverityNote: Accent}[severity]
	fmt.Fprintf(&b, "%s: %s\n", s.Paint(role, fmt.Sprintf("%s[%s]", severity, e.Code)), s.Paint(Strong, diag.Escape(e.Message)))
	if place := Place(e); place != "" {
		fmt.Fprintf(&b, "  %s %s\n", s.Paint(Accent, "-->"), diag.Escape(place))
	}
	for _, d := range e.Details {
		for line := range strings.SplitSeq(d, "\n") {
			fmt.Fprintf(&b, "  %s\n", diag.Escape(line))
		}
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, "  cause: %s\n", diag.Escape(e.Cause.Error()))
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "%s %s\n", s.Paint(Accent, "hint:"), diag.Escape(e.Hint))
	}
	s.write(s.Err, "%s", b.String())
}

// Place returns file:line:column with the unknown parts left out.
func Place(e *diag.Error) string {
	switch {
	case e.File == "":
		return ""
	case e.Line == 0:
		return e.File
	case e.Column == 0:
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

// Status replaces the progress line. It does nothing unless Err is a terminal
// and progress is wanted; an empty text removes the line.
func (s *Streams) Status(text string) {
	if !s.ErrTTY || !s.Progress || s.Quiet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
	if text == "" {
		return
	}
	width := s.Width
	if width == 0 {
		width = 80
	}
	s.line = Truncate(diag.Escape(text), width-1)
	fmt.Fprint(s.Err, s.line)
}

func (s *Streams) clearLocked() {
	if s.line != "" {
		fmt.Fprint(s.Err, "\r\x1b[K")
		s.line = ""
	}
}

// CanAsk reports whether a person is there to answer.
func (s *Streams) CanAsk() bool { return s.InTTY && s.ErrTTY }

// Ask puts a yes/no question and reads one line. Anything but y or yes is no,
// as is a missing terminal.
func (s *Streams) Ask(question string) bool {
	answer := strings.ToLower(s.Prompt(question + " [y/N] "))
	return answer == "y" || answer == "yes"
}

// Prompt prints text and returns the answer without surrounding blanks, ""
// without a terminal.
func (s *Streams) Prompt(text string) string {
	if !s.CanAsk() {
		return ""
	}
	s.write(s.Err, "%s", text)
	line, err := bufio.NewReader(io.LimitReader(s.In, 4096)).ReadString('\n')
	if err != nil && line == "" {
		return ""
	}
	return strings.TrimSpace(line)
}
