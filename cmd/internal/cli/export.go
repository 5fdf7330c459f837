package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type exportResult struct{ *views.ExportResult }

// Text prints the files that were written, one a line.
func (r exportResult) Text(s *ui.Streams) {
	for _, f := range r.Files {
		s.Printf("%s\n", diag.Escape(f))
	}
	s.Infof("%s written to %s\n", plural(len(r.Files), "file"), diag.Escape(r.Dir))
}

func newExportCmd(app *App) *cobra.Command {
	var s scope
	var opt views.ExportOptions
	cmd := &cobra.Command{
		Use: "export FORMAT [DIR]", Short: "Write what another system keeps about the locked skills", Args: cobra.RangeArgs(1, 2),
		Long: `Write what another system keeps about the locked skills:

  agently DIR    install.json, decision_card.json, resource_index.json and
                 checksums.json in a directory for each skill
  clever [DIR]   the agent_skills section of a CleverAgents skill file
  chock [DIR]    the layers with their default and action; with DIR also the
                 locked skills as a packaged layer in DIR/share/agent-skills

Without DIR the document goes to stdout as it is. Nothing is written into an
installed skill or a directory that agents scan.`,
	}
	s.add(cmd)
	cmd.Flags().StringSliceVar(&opt.Packaged, "packaged", nil, "chock: a `DIR` of skills that came with the environment")
	return app.command(cmd, "export", func(ctx context.Context, args []string) (Result, error) {
		opt.Format = args[0]
		if len(args) > 1 {
			opt.Dir = args[1]
		}
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			r, err := views.Export(ctx, p.Local, opt)
			if err != nil || r.Document == nil {
				return resultOr(r, err, func(r *views.ExportResult) Result { return exportResult{r} })
			}
			return Raw{r.Document}, nil
		})
	})
}
