package cli

import (
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

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
	r.stayed(s)
}

// stayed tells what did not move and why.
func (r updateResult) stayed(s *ui.Streams) {
	past := 0
	moved := map[string]bool{}
	if r.Change != nil {
		for _, c := range r.Change.Skills {
			moved[c.Key] = c.Action != decide.Kept
		}
	}
	for i := range r.Rows {
		k := &r.Rows[i]
		switch text := rowText(k); {
		case moved[k.Key]:
		case k.Hint != "":
			s.Infof("= %s %s: %s is past `%s`; %s\n", diag.Escape(k.Key), k.Locked, k.Latest, diag.Escape(k.Range), diag.Escape(k.Hint))
		case k.State == views.RowPastRange || k.State == views.RowPinned:
			past++
		case k.State != views.RowCurrent && k.State != views.RowNewer && k.State != views.RowBranchMoved && text != "":
			s.Infof("= %s %s: %s\n", diag.Escape(k.Key), k.Locked, diag.Escape(text))
		}
	}
	if past > 0 && r.Change != nil {
		s.Infof("%s; `skillpm outdated` lists what is past ranges and pins\n", newerText(past))
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
refused without --yes or the flag that the refusal names. No version goes down,
but one that the newer version of another skill needs lower, with --yes.

Without a name, a skill that is gone upstream, held, or whose repository does not
answer stays as it is and the others move; a repository that did not answer makes
the status 1. A named skill that cannot move is refused, and nothing is written.`,
	}
	s.add(cmd)
	f.add(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&opt.Latest, "latest", false, "go past the ranges and raise them in skills.toml")
	fl.StringSliceVar(&opt.Prefer, "prefer", nil, "bring `NAME` up first where not all can be newest")
	fl.BoolVar(&opt.AcceptTools, "accept-tools", false, "accept changes of allowed-tools")
	fl.BoolVar(&opt.AcceptScripts, "accept-scripts", false, "accept changes of scripts")
	fl.BoolVar(&opt.AcceptMovedSource, "accept-moved-source", false, "take skills from where a registry now names them")
	fl.BoolVar(&opt.AcceptMovedTag, "accept-moved-tag", false, "accept a tag that names another commit than the lock")
	return app.command(cmd, "update", func(ctx context.Context, args []string) (Result, error) {
		opt.InstallOptions, opt.Yes = f.opt, f.yes
		return app.with(world.Open, s, f.change, func(p *world.World) (Result, error) {
			r, err := project.Update(ctx, p, args, opt)
			return resultOr(r, err, func(r *project.UpdateResult) Result { return updateResult{r} })
		})
	})
}

type diffResult struct{ *views.DiffResult }

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
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			var r *views.DiffResult
			var err error
			if len(args) == 2 {
				r, err = views.DiffVersions(ctx, p, args[0], args[1])
			} else {
				r, err = views.Diff(ctx, p.Local, args[0])
			}
			return resultOr(r, err, func(r *views.DiffResult) Result { return diffResult{r} })
		})
	})
}
