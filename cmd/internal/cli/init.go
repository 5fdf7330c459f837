package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/project"
)

type initResult struct{ *project.InitResult }

// Text says what was written, found, and what comes next.
func (r initResult) Text(s *ui.Streams) {
	s.Infof("%s written; skills go to %s\n", r.Manifest, strings.Join(r.Targets, ", "))
	if len(r.Agents) > 0 {
		s.Infof("agents found: %s\n", strings.Join(r.Agents, ", "))
	}
	for _, place := range r.Existing {
		s.Infof("note: %s is there already and no lock names it\n", diag.Escape(place))
	}
	switch {
	case r.AttributesWritten:
		s.Infof(".gitattributes: %s\n", r.Attributes)
	case r.Attributes != "":
		s.Infof("note: put `%s` into .gitattributes, or a Windows checkout changes the lock's line ends\n", r.Attributes)
	}
	s.Infof("next: skillpm add owner/repo//path\n")
}

func newInitCmd(app *App) *cobra.Command {
	var s scope
	var in project.InitOptions
	cmd := &cobra.Command{
		Use: "init", Args: cobra.NoArgs, Short: "Start a project: write skills.toml",
		Long: `Start a project: write skills.toml, with the agents that are used here, and say
which skills lie there already.`,
	}
	s.add(cmd)
	cmd.Flags().StringSliceVar(&in.Agents, "agent", nil, "install for the agent `ID` (claude-code, codex, …) instead of those detected")
	cmd.Flags().StringSliceVar(&in.Targets, "target", nil, "install into `DIR` too")
	cmd.Flags().BoolVar(&in.GitAttributes, "gitattributes", false, "add the lock to .gitattributes without asking")
	return app.command(cmd, "init", func(context.Context, []string) (Result, error) {
		opt, err := app.options(s.global)
		if err != nil {
			return nil, err
		}
		if opt.Ask != nil && !in.GitAttributes {
			in.GitAttributes = opt.Ask("Keep the lock's line ends by a line in .gitattributes?")
		}
		r, err := project.Init(opt, in)
		return resultOr(r, err, func(r *project.InitResult) Result { return initResult{r} })
	})
}
