package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type planResult struct{ *views.PlanResult }

// Text prints the steps in order, nested chains indented.
func (r planResult) Text(s *ui.Streams) {
	s.Printf("%s: %s, stops on failure: %s\n", s.Paint(ui.Strong, diag.Escape(r.Root)), r.Mode, yesNo(!r.Policy.ContinueOnError))
	printSteps(s, r.Steps, 1)
	for _, name := range r.Unresolved {
		s.Infof("note: `%s` does not exist; the chain says not to check (validate_on_load)\n", diag.Escape(name))
	}
}

func printSteps(s *ui.Streams, steps []views.PlanStep, depth int) {
	for i, step := range steps {
		text := diag.Escape(step.Name)
		if step.Version != "" {
			text += " " + step.Version
		}
		if step.Mode != "" {
			text += " (" + step.Mode + " chain)"
		}
		s.Printf("%s%d. %s  %s\n", strings.Repeat("   ", depth-1), i+1, text, s.Paint(ui.Subdued, diag.Escape(step.Path)))
		printSteps(s, step.Steps, depth+1)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func newPlanCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{Use: "plan CHAIN", Short: "Print the order in which a chain's skills run", Args: cobra.ExactArgs(1)}
	s.add(cmd)
	return app.command(cmd, "plan", func(_ context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			r, err := views.Plan(p.Project, args[0])
			return resultOr(r, err, func(r *views.PlanResult) Result { return planResult{r} })
		})
	})
}
