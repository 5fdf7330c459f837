package cli

import (
	"github.com/skillpm/skillpm/internal/views"

	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type doctorResult struct{ *views.DoctorResult }

// Text prints one check a line, what to do below it.
func (r doctorResult) Text(s *ui.Streams) {
	for _, c := range r.Checks {
		code := ""
		if c.Code != "" {
			code = string(c.Code) + ": "
		}
		s.Printf("%-7s %-9s %s%s\n", c.State, c.Check, code, diag.Escape(c.Message))
		if c.Line > 0 {
			s.Printf("        --> %s:%d\n", diag.Escape(c.File), c.Line)
		} else if c.File != "" {
			s.Printf("        --> %s\n", diag.Escape(c.File))
		}
		for _, line := range c.Details {
			s.Printf("        %s\n", diag.Escape(line))
		}
		if c.Hint != "" {
			s.Printf("        hint: %s\n", diag.Escape(c.Hint))
		}
	}
}

func newDoctorCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what keeps agents from seeing the locked skills", Args: cobra.NoArgs,
		Long: `Look at project, lock, targets, the directories that shadow them, unfinished runs,
the cache and the programs beside skillpm. It writes nothing, uses no network and
goes on where other commands stop. A problem ends it with status 2 (1 where the disk
refused, 3 for a lock that is out of date); warnings and notes do not.`,
	}
	s.add(cmd)
	return app.command(cmd, "doctor", func(ctx context.Context, _ []string) (Result, error) {
		opt, err := app.options(s.global)
		if err != nil {
			return nil, err
		}
		r, err := views.Doctor(ctx, opt)
		return resultOr(r, shown(err), func(r *views.DoctorResult) Result { return doctorResult{r} })
	})
}
