package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
)

// App is what every command needs from outside the program.
type App struct {
	UI *ui.Streams
	// LookupEnv reads the environment.
	LookupEnv func(string) (string, bool)
	// WorkDir is the directory the process was started in.
	WorkDir string

	flags globals
	// diagnostics are the warnings and notes of this run.
	diagnostics diag.List
	// saidWhere: the project that is worked on was named.
	saidWhere bool
}

// globals are the flags every command has; each has a SKILLPM_* variable.
type globals struct {
	dir        string
	json       bool
	quiet      bool
	verbose    bool
	color      string
	noProgress bool
	offline    bool
	cacheDir   string
}

// Result is what a command found. It is printed as text, or marshalled as the
// "result" of the JSON envelope.
type Result interface {
	// Text writes the result for people. Data goes to s.Out.
	Text(s *ui.Streams)
}

// Raw is a Result printed as it is even with --json: a foreign document.
type Raw struct{ Data []byte }

// Text writes the document.
func (r Raw) Text(s *ui.Streams) { s.Printf("%s", r.Data) }

// shownError is findings that the Result's text already tells, so that they
// are not printed a second time.
type shownError struct{ err error }

func (e *shownError) Error() string { return e.err.Error() }
func (e *shownError) Unwrap() error { return e.err }

// shown marks err as told by the result's text; it still decides the status
// and stands in the JSON diagnostics.
func shown(err error) error {
	if err == nil {
		return nil
	}
	return &shownError{err}
}

// usageError returns a finding about how the command was called.
func usageError(format string, args ...any) *diag.Error { return diag.New(diag.Usage, format, args...) }

// runFunc is a command's work.
type runFunc func(ctx context.Context, args []string) (Result, error)

// command wires run into a cobra command. name is the canonical name used in
// the JSON schema, such as "add" or "mirror-push".
func (app *App) command(cmd *cobra.Command, name string, run runFunc) *cobra.Command {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.DisableFlagsInUseLine = true
	cmd.Annotations = map[string]string{canonicalName: name}
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			found := "no argument"
			if len(args) > 0 {
				found = plural(len(args), "argument")
			}
			return usageError("expected `%s`, found %s", c.UseLine(), found).WithHint("`%s --help` shows how it is called", c.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(c *cobra.Command, args []string) error {
		var result Result
		err := diag.Guard(func() (err error) {
			result, err = run(c.Context(), args)
			return err
		})
		return app.finish(name, result, err)
	}
	return cmd
}

// canonicalName is the annotation under which a command's name for the JSON
// schema is found where it could not even start.
const canonicalName = "skillpm.name"

// finished carries the exit status of a run whose output is written.
type finished struct{ status int }

func (f *finished) Error() string { return "exit status " + strconv.Itoa(f.status) }

// envelope is the one object that --json prints.
type envelope struct {
	Schema      string           `json:"schema"`
	Exit        int              `json:"exit"`
	Result      any              `json:"result"`
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
}

type jsonDiagnostic struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity"`
	Message  string   `json:"message"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Details  []string `json:"details,omitempty"`
	Cause    string   `json:"cause,omitempty"`
	Hint     string   `json:"hint,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Data     any      `json:"data,omitempty"`
}

func toJSON(e *diag.Error) jsonDiagnostic {
	e = e.Redacted()
	d := jsonDiagnostic{
		Code: string(e.Code), Severity: string(e.Severity), Message: e.Message,
		File: e.File, Line: e.Line, Column: e.Column, Details: e.Details, Hint: e.Hint, Reason: e.Reason, Data: e.Data,
	}
	if d.Severity == "" {
		d.Severity = string(diag.SeverityError)
	}
	if e.Cause != nil {
		d.Cause = e.Cause.Error()
	}
	return d
}

// finish prints result and findings and returns the status as *finished.
func (app *App) finish(name string, result Result, err error) error {
	status := diag.Exit(err)
	if errors.Is(err, context.Canceled) && status == 70 {
		err = diag.New(diag.Interrupted, "interrupted")
		status = diag.Exit(err)
	}
	app.UI.Status("")
	raw, isRaw := result.(Raw)
	switch {
	case isRaw:
		app.printDiagnostics(nil)
		raw.Text(app.UI)
	case app.flags.json:
		app.printEnvelope(name, status, result, err)
	default:
		_, told := errors.AsType[*shownError](err)
		if result != nil {
			result.Text(app.UI)
		}
		if told {
			err = nil
		}
		app.printDiagnostics(diag.All(err))
	}
	if err := app.UI.OutErr(); err != nil && status == 0 { // what was asked for was not delivered
		app.UI.Finding(diag.All(fsx.Diag(err, "write the result"))[0])
		status = 1
	}
	return &finished{status}
}

func (app *App) printEnvelope(name string, status int, result Result, err error) {
	env := envelope{Schema: "skillpm/" + name + "/1", Exit: status, Diagnostics: []jsonDiagnostic{}}
	if result != nil {
		env.Result = result
	}
	for _, e := range append(diag.All(err), app.diagnostics...) {
		env.Diagnostics = append(env.Diagnostics, toJSON(e))
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if encodeErr := encoder.Encode(env); encodeErr != nil {
		app.UI.Finding(diag.New(diag.Internal, "the result cannot be written as JSON").WithCause(encodeErr))
	}
	app.UI.Printf("%s", escapeJSON(b.String()))
}

// maxFindings bounds how many findings of a run are printed for people.
const maxFindings = 20

func (app *App) printDiagnostics(findings diag.List) {
	for _, e := range app.diagnostics {
		app.UI.Finding(e)
	}
	for i, e := range findings {
		if i == maxFindings {
			app.UI.Infof("… and %d more; --json lists all\n", len(findings)-i)
			break
		}
		app.UI.Finding(e)
	}
}

// report keeps a warning or note for the end of the run.
func (app *App) report(e *diag.Error) { app.diagnostics = append(app.diagnostics, e) }

// dir returns the directory the command works in: -C, else the start directory.
func (app *App) dir() string {
	switch {
	case app.flags.dir == "":
		return app.WorkDir
	case filepath.IsAbs(app.flags.dir):
		return app.flags.dir
	}
	return filepath.Join(app.WorkDir, app.flags.dir)
}

func (app *App) env(name string) string {
	v, _ := app.LookupEnv(name)
	return v
}

// envTrue reports whether a variable is set to something that means yes.
func (app *App) envTrue(name string) bool {
	switch strings.ToLower(app.env(name)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

func firstLower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// Main runs one command line and returns the exit status.
func Main(ctx context.Context, app *App, args []string) (status int) {
	root := newRoot(app)
	app.closeGroups(root)
	root.SetArgs(args)
	root.SetOut(app.UI.Out)
	root.SetErr(io.Discard)
	var cmd *cobra.Command
	err := diag.Guard(func() (err error) {
		cmd, err = root.ExecuteContextC(ctx)
		return err
	})
	if done, ok := errors.AsType[*finished](err); ok {
		return done.status
	}
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[*diag.Error](err); !ok {
		err = usageError("%s", firstLower(err.Error())).WithHint("`skillpm help` lists the commands")
	}
	app.flags.json = app.flags.json || hasJSONFlag(args)
	name := "skillpm"
	if cmd != nil && cmd.Annotations[canonicalName] != "" {
		name = cmd.Annotations[canonicalName]
	}
	done, _ := errors.AsType[*finished](app.finish(name, nil, err))
	return done.status
}

// hasJSONFlag looks for --json where flag parsing failed before reaching it.
func hasJSONFlag(args []string) bool {
	for _, a := range args {
		if a == "--" {
			return false
		}
		if a == "--json" || a == "--json=true" {
			return true
		}
	}
	return false
}

// NewApp returns the App of the running process. The error says that the current
// directory is not to be had; Refuse then ends the run.
func NewApp() (*App, error) {
	wd, err := os.Getwd()
	return &App{UI: ui.Std(), LookupEnv: os.LookupEnv, WorkDir: wd}, err
}

// Refuse ends a run that cannot begin, and returns the exit status.
func Refuse(app *App, args []string, err error) int {
	app.flags.json = hasJSONFlag(args) || app.envTrue("SKILLPM_JSON")
	done, _ := errors.AsType[*finished](app.finish("skillpm", nil, err))
	return done.status
}
