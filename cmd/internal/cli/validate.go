package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/report"
	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/author"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/derive"
	"github.com/skillpm/skillpm/skill/parse"
)

// validateResult is a report in plain data.
type validateResult struct {
	Skills int            `json:"skills"`
	Lines  []validateLine `json:"lines"`
	Fixes  []validateFix  `json:"fixes,omitempty"`

	report *parse.Report
}

type validateLine struct {
	Verdict parse.Verdict `json:"verdict"`
	Path    string        `json:"path"`
	Code    diag.Code     `json:"code"`
	Name    string        `json:"name,omitempty"`
	File    string        `json:"file,omitempty"`
	Line    int           `json:"line,omitempty"`
	Column  int           `json:"column,omitempty"`
	Message string        `json:"message,omitempty"`
	Hint    string        `json:"hint,omitempty"`
}

type validateFix struct {
	Path string   `json:"path"`
	File string   `json:"file"`
	What []string `json:"what"`
	Diff string   `json:"diff"`
}

// Text prints one line a finding, problems alone when quiet.
func (r *validateResult) Text(s *ui.Streams) {
	roles := map[parse.Verdict]ui.Role{parse.OK: ui.Good, parse.Problem: ui.Bad, parse.Note: ui.Accent}
	for _, l := range r.report.Lines {
		if s.Quiet && l.Verdict != parse.Problem {
			continue
		}
		word, rest, _ := strings.Cut(l.String(), " ")
		s.Printf("%s %s\n", s.Paint(roles[l.Verdict], word), rest)
	}
}

func newValidateResult(r *parse.Report) *validateResult {
	out := &validateResult{Skills: r.Skills, Lines: make([]validateLine, len(r.Lines)), report: r}
	for i, l := range r.Lines {
		line := validateLine{Verdict: l.Verdict, Path: l.Path, Code: l.Code(), Name: l.Name}
		if e := l.Finding; e != nil {
			line.File, line.Line, line.Column, line.Message, line.Hint = e.File, e.Line, e.Column, e.Error(), e.Hint
		}
		out.Lines[i] = line
	}
	return out
}

// validateFlags are the flags of validate; inspect shares the rules among them.
type validateFlags struct {
	strict, unicode, deps bool
	profile, format       string
	ignore                []string
	fix, dryRun           bool
}

func (f *validateFlags) addRules(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.strict, "strict-spec", false, "what the reference validator refuses is a problem, not a note")
	cmd.Flags().StringVar(&f.profile, "profile", "", "add the rules of a host: agently or chock")
	cmd.Flags().BoolVar(&f.unicode, "allow-unicode-names", false, "a name beyond a-z, 0-9 and hyphen is a note")
	cmd.Flags().StringSliceVar(&f.ignore, "ignore", nil, "leave out the note `CODE`; repeatable")
}

// options turns flags and the [validate] tables into the validator's options.
func (f *validateFlags) options(app *App) (parse.ValidateOptions, error) {
	opt := parse.ValidateOptions{
		Base: app.dir(), StrictSpec: f.strict, Profile: f.profile, AllowUnicodeNames: f.unicode, Tokens: derive.Tokens,
		Load: author.Load,
	}
	if !slices.Contains([]string{"", parse.ProfileAgently, parse.ProfileChock}, f.profile) {
		return opt, usageError("`%s` is no profile; expected agently or chock", f.profile)
	}
	for _, code := range append(slices.Clone(f.ignore), app.ignoredNotes()...) {
		info, ok := diag.Lookup(diag.Code(code))
		if !ok || info.Exit != 0 {
			return opt, usageError("--ignore: `%s` is no note", code).WithHint("docs/errors.md lists the codes; problems cannot be ignored")
		}
		opt.Ignore = append(opt.Ignore, info.Code)
	}
	if f.deps {
		opt.Deps = app.lockedDeps()
	}
	return opt, nil
}

func newValidateCmd(app *App) *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use: "validate [PATH…]", Short: "Check skills: ok, problem or note",
		Long: `Check skills against the Agent Skills specification, the way that agents load
them. A directory with a SKILL.md is one skill; any other directory is searched for
skills. Each line says ok, problem or note; a problem makes the run exit 2.
Uses no network and writes nothing without --fix.`,
	}
	f.addRules(cmd)
	cmd.Flags().BoolVar(&f.deps, "deps", false, "resolve requirements against the lock and the skills beside")
	cmd.Flags().StringVar(&f.format, "format", "text", "text, sarif, github, gitlab or junit")
	cmd.Flags().BoolVar(&f.fix, "fix", false, "show and make the repairs that need no guess")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "with --fix: show the repairs only")
	return app.command(cmd, "validate", func(ctx context.Context, args []string) (Result, error) {
		if f.format != "text" && !slices.Contains(report.Formats, f.format) {
			return nil, usageError("`%s` is no format; expected text, %s", f.format, strings.Join(report.Formats, ", "))
		}
		if len(args) == 0 {
			args = []string{"."}
		}
		opt, err := f.options(app)
		if err != nil {
			return nil, err
		}
		return app.validate(ctx, args, opt, f)
	})
}

func (app *App) validate(ctx context.Context, paths []string, opt parse.ValidateOptions, f validateFlags) (Result, error) {
	var made []validateFix
	if f.fix {
		var err error
		if made, err = app.fix(ctx, paths, opt, f.dryRun); err != nil {
			return nil, err
		}
	}
	r, err := parse.Validate(ctx, paths, opt)
	if err != nil {
		return nil, err
	}
	findings := r.Findings()
	if f.format != "text" {
		return app.rendered(f.format, "validate", app.dir(), validateCases(r), findings.Err())
	}
	result := newValidateResult(r)
	result.Fixes = made
	return result, shown(findings.Err())
}

// validateCases sorts findings under the skills they are about.
func validateCases(r *parse.Report) []report.Case {
	var cases []report.Case
	for _, l := range r.Lines {
		if len(cases) == 0 || cases[len(cases)-1].Name != l.Path {
			cases = append(cases, report.Case{Name: l.Path})
		}
		if l.Finding != nil {
			c := &cases[len(cases)-1]
			c.Findings = append(c.Findings, l.Finding)
		}
	}
	return cases
}

// maxFixRounds bounds --fix: quoting what is no YAML comes first, what can be
// seen only then comes after.
const maxFixRounds = 3

// fix shows the repairs and, unless dry, makes them.
func (app *App) fix(ctx context.Context, paths []string, opt parse.ValidateOptions, dry bool) ([]validateFix, error) {
	var made []validateFix
	for range maxFixRounds {
		fixes, _, err := parse.Fixes(ctx, paths, opt)
		if err != nil || len(fixes) == 0 {
			return made, err
		}
		for i := range fixes {
			app.UI.Infof("%s", fixes[i].Diff())
		}
		if dry || app.UI.CanAsk() && !app.UI.Ask("Make these changes?") {
			return made, nil
		}
		for i := range fixes {
			if err := author.Repair(&fixes[i]); err != nil {
				return made, err
			}
			made = append(made, validateFix{Path: fixes[i].Label, File: fixes[i].To, What: fixes[i].What, Diff: fixes[i].Diff()})
		}
	}
	return made, nil
}

// beside reports whether a skill's directory of that name lies beside dir.
func beside(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(filepath.Dir(dir), name, parse.FileName))
	return err == nil
}
