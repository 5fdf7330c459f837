package cli

import (
	"github.com/skillpm/skillpm/internal/world"

	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/project"
)

type materializeResult struct{ *project.MaterializeResult }

// Text prints where each skill lies now.
func (r materializeResult) Text(s *ui.Streams) {
	for _, k := range r.Skills {
		s.Printf("%s\n", diag.Escape(k.Path))
		what := k.State
		if r.DryRun && what == "materialized" {
			what = "would be materialized"
		}
		if k.Dependency {
			what += ", required by others"
		}
		s.Infof("%s %s: %s\n", diag.Escape(k.Key), diag.Escape(k.Version), what)
	}
}

func newMaterializeCmd(app *App) *cobra.Command {
	var s scope
	var f installFlags
	cmd := &cobra.Command{
		Use: "materialize NAME…", Short: "Bring single locked skills to disk when they are needed", Args: cobra.MinimumNArgs(1),
		Long: `Bring locked skills, and what they depend on, to disk and leave all others where
they are. The bytes come from the cache, else from mirrors or the repository;
--offline forbids the network. The lock is only read, and the trust rules hold as
for install.`,
	}
	s.add(cmd)
	f.add(cmd)
	return app.command(cmd, "materialize", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, f.change, func(p *world.World) (Result, error) {
			r, err := project.Materialize(ctx, p, args, f.opt)
			return resultOr(r, err, func(r *project.MaterializeResult) Result { return materializeResult{r} })
		})
	})
}
