package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
)

type promptResult struct{ *views.PromptResult }

// Text prints the XML, which is escaped already.
func (r promptResult) Text(s *ui.Streams) {
	s.Printf("%s\n", r.Document)
	s.Infof("%s, about %d tokens\n", plural(len(r.Skills), "skill"), r.Tokens)
}

func newPromptCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use: "prompt [NAME…]", Short: "Print the XML catalogue for a prompt",
		Long: `Print the catalogue of the locked skills as skills-ref to-prompt does: name,
description and the absolute path of SKILL.md, in the order of the lock. No body is
opened. Skills that are training targets alone are left out unless named.`,
	}
	s.add(cmd)
	return app.command(cmd, "prompt", func(_ context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			r, err := views.Prompt(p.Project, args)
			return resultOr(r, err, func(r *views.PromptResult) Result { return promptResult{r} })
		})
	})
}
