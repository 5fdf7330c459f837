package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/project"
)

type updateResult struct{ *project.UpdateResult }

// maxFiles bounds how many changed files of a skill are listed.
const maxFiles = 20

// Text prints what moved, and which files that changes.
func (r updateResult) Text(s *ui.Streams) {
	for _, c := range r.Content {
		if c.Same {
			s.Infof("%s: same files, another version\n", diag.Escape(c.Key))
			continue
		}
		s.Infof("%s: what differs\n", s.Paint(ui.Strong, diag.Escape(c.Key)))
		for i, f := range c.Files {
			if i == maxFiles {
				s.Infof("    … and %d more; `skillpm diff %s A..B` shows all\n", len(c.Files)-i, c.Key)
				break
			}
			s.Infof("    %s\n", diag.Escape(f))
		}
		if c.ToolsBefore != c.ToolsAfter {
			s.Infof("    allowed-tools: %q -> %q\n", c.ToolsBefore, c.ToolsAfter)
		}
	}
	if r.Change != nil {
		changeResult{r.Change}.Text(s)
	}
}

func newUpdateCmd(app *App) *cobra.Command {
	var s scope
	var f installFlags
	var opt project.UpdateOptions
	cmd := &cobra.Command{
		Use: "update [NAME…]", Aliases: []string{"upgrade"}, Short: "Move skills to newer versions, within their ranges",
		Long: `Move the named skills, or all, to the newest versions that skills.toml allows,
changing as little else as possible. What changes in the files is shown. A change
of allowed-tools, of scripts or of the signer is asked for on a terminal, else
refused without --yes or the flag that the refusal names.`,
	}
	s.add(cmd)
	f.add(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&opt.Latest, "latest", false, "go past the ranges and rewrite skills.toml")
	fl.StringSliceVar(&opt.Prefer, "prefer", nil, "bring `NAME` up first where not all can be newest")
	fl.BoolVar(&opt.AcceptTools, "accept-tools", false, "accept changes of allowed-tools")
	fl.BoolVar(&opt.AcceptScripts, "accept-scripts", false, "accept changes of scripts")
	fl.BoolVar(&opt.AcceptMovedTag, "accept-moved-tag", false, "accept a tag that names another commit than the lock")
	return app.command(cmd, "update", func(ctx context.Context, args []string) (Result, error) {
		opt.InstallOptions, opt.Yes = f.opt, f.yes
		return app.with(project.Open, s, f.change, func(p *project.Project) (Result, error) {
			r, err := p.Update(ctx, args, opt)
			return resultOr(r, err, func(r *project.UpdateResult) Result { return updateResult{r} })
		})
	})
}

type outdatedResult struct{ *project.OutdatedResult }

// Text prints one row a skill that could move.
func (r outdatedResult) Text(s *ui.Streams) {
	if len(r.Skills) == 0 {
		s.Infof("every skill is at its newest version\n")
		return
	}
	rows := make([][]string, len(r.Skills))
	for i, k := range r.Skills {
		note := ""
		if k.Wanted != "" && !k.Content {
			note = "same files"
		}
		rows[i] = []string{diag.Escape(k.Key), k.Locked, orDash(k.Wanted), orDash(k.Latest), diag.Escape(k.Range), note}
	}
	s.Printf("%s", ui.Table([]string{"NAME", "LOCKED", "IN RANGE", "NEWEST", "RANGE", ""}, rows, s.Width))
}

func newOutdatedCmd(app *App) *cobra.Command {
	var s scope
	var exitCode bool
	cmd := &cobra.Command{Use: "outdated", Short: "Show which skills have newer versions", Args: cobra.NoArgs}
	s.add(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit 3 if any skill has one")
	return app.command(cmd, "outdated", func(ctx context.Context, _ []string) (Result, error) {
		return app.with(project.Open, s, nil, func(p *project.Project) (Result, error) {
			r, err := p.Outdated(ctx)
			if err == nil && exitCode && len(r.Skills) > 0 {
				err = shown(diag.New(diag.LockOutdated, "%d skills have newer versions", len(r.Skills)))
			}
			return resultOr(r, err, func(r *project.OutdatedResult) Result { return outdatedResult{r} })
		})
	})
}

type diffResult struct{ *project.DiffResult }

// Text prints unified diffs, and one line for what has none.
func (r diffResult) Text(s *ui.Streams) {
	for _, f := range r.Files {
		if f.Text == "" {
			s.Printf("%s %s\n", f.Change, diag.Escape(f.Path))
			continue
		}
		s.Printf("%s", escapeLines(f.Text))
	}
	if len(r.Files) == 0 {
		s.Infof("%s: no difference between %s and %s\n", diag.Escape(r.Key), r.From, r.To)
	}
}

func newDiffCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use: "diff NAME [A..B]", Args: cobra.RangeArgs(1, 2),
		Short: "Show local edits of a skill, or what differs between two versions",
	}
	s.add(cmd)
	return app.command(cmd, "diff", func(ctx context.Context, args []string) (Result, error) {
		return app.with(project.Open, s, nil, func(p *project.Project) (Result, error) {
			var r *project.DiffResult
			var err error
			if len(args) == 2 {
				r, err = p.DiffVersions(ctx, args[0], args[1])
			} else {
				r, err = p.Diff(ctx, args[0])
			}
			return resultOr(r, err, func(r *project.DiffResult) Result { return diffResult{r} })
		})
	})
}
