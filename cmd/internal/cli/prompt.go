package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/project"
)

type promptResult struct{ *project.PromptResult }

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
		return app.with(project.Open, s, nil, func(p *project.Project) (Result, error) {
			r, err := p.Prompt(args)
			return resultOr(r, err, func(r *project.PromptResult) Result { return promptResult{r} })
		})
	})
}
