package cli

import (
	"errors"

	"github.com/skillpm/skillpm/internal/adopt"
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"

	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type importResult struct{ *adopt.ImportResult }

// Text tells what each entry became and what was installed. The report is for
// people, so it goes to Err.
func (r importResult) Text(s *ui.Streams) {
	for _, f := range r.Files {
		s.Infof("read %s (%s)\n", diag.Escape(f.Path), f.Tool)
	}
	for _, k := range r.Imported {
		s.Infof("imported %s = %s\n", s.Paint(ui.Strong, diag.Escape(k.Key)), diag.Escape(k.Requirement))
	}
	for _, key := range r.Present {
		s.Infof("%s is in skills.toml already\n", diag.Escape(key))
	}
	if r.Change != nil {
		changeResult{r.Change}.Text(s)
	}
	s.Infof("%d imported, %d already there, %d skipped\n", len(r.Imported), len(r.Present), len(r.Skipped))
}

// importFlags are those of import and of init --from.
type importFlags struct {
	install installFlags
	opt     adopt.ImportOptions
}

func (f *importFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.opt.Unpin, "unpin", false, "write what was asked for instead of the commits the other tool had locked")
	fl.StringSliceVar(&f.opt.Skills, "skill", nil, "take the skill `NAME` only")
}

func (f *importFlags) options() adopt.ImportOptions {
	f.opt.InstallOptions = f.install.opt
	return f.opt
}

func newImportCmd(app *App) *cobra.Command {
	var s scope
	var f importFlags
	cmd := &cobra.Command{
		Use: "import [FILE | DIR]…", Short: "Take over the skills of another tool",
		Long: `Take over the skills that another tool lists: add them to skills.toml, lock and
install them. Without FILE or DIR every known file of the project is read. The
other tool's files stay as they are.

What the other tool has locked is kept: a commit is written as the version whose
tag names it, else as ref:COMMIT. Every entry ends imported, or skipped with the
reason, and a skipped one makes the exit status 2.

Known: skills-lock.json and .skill-lock.json (vercel-labs/skills), SKILL.md
installed by gh skill, .claude-plugin/marketplace.json, apm.yml, agents.toml
(dotagents), agr.toml, Skillfile, toolhive.lock.yaml, skills.json (spm), the
field skills of package.json, .skillspkg.toml, .clawhub/lock.json,
.openskills.json, sx.lock; each with its lock. Without a file there is nothing to
guess from: a name alone is never looked up.`,
		Example: `  skillpm import
  skillpm import skills-lock.json --dry-run
  skillpm import -g ~/.agents/.skill-lock.json
  skillpm init --from auto`,
	}
	s.add(cmd)
	f.install.add(cmd)
	f.add(cmd)
	return app.command(cmd, "import", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, f.install.change, func(p *world.World) (Result, error) {
			r, err := adopt.Import(ctx, p, args, f.options())
			err = withOtherCopies(ctx, p.Opt, r, err)
			return resultOr(r, err, func(r *adopt.ImportResult) Result { return importResult{r} })
		})
	})
}

// withOtherCopies tells, once something was installed, of copies that the other tool
// left where agents look first. It returns err, joined by a failure of its own.
func withOtherCopies(ctx context.Context, opt workspace.Options, r *adopt.ImportResult, err error) error {
	if r == nil || r.Change == nil || r.Change.DryRun || r.Change.NoInstall {
		return err
	}
	report := opt.Report
	opt.Report = func(*diag.Error) {} // the run itself has said it
	found, failed := views.OtherCopies(ctx, opt)
	if found != nil {
		report(found)
	}
	return errors.Join(err, failed)
}

type initFromResult struct{ *adopt.InitFromResult }

// Text is init's and then import's.
func (r initFromResult) Text(s *ui.Streams) {
	initResult{r.InitResult}.begun(s)
	if r.Import != nil {
		importResult{r.Import}.Text(s)
	}
}

// initFrom starts a project with what other tools' files list.
func (app *App) initFrom(ctx context.Context, opt workspace.Options, in adopt.InitOptions, from []string, f *importFlags) (Result, error) {
	if err := f.install.change(&opt); err != nil {
		return nil, err
	}
	r, err := adopt.InitFrom(ctx, opt, in, from, f.options())
	if r != nil {
		err = withOtherCopies(ctx, opt, r.Import, err)
	}
	return resultOr(r, err, func(r *adopt.InitFromResult) Result { return initFromResult{r} })
}
