package cli

import (
	"github.com/skillpm/skillpm/internal/adopt"

	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type initResult struct{ *adopt.InitResult }

// Text says what was written, found, and what comes next.
func (r initResult) Text(s *ui.Streams) {
	r.begun(s)
	s.Infof("next: skillpm add owner/repo//path\n")
}

func (r initResult) begun(s *ui.Streams) {
	s.Infof("%s written; skills go to %s\n", r.Manifest, strings.Join(r.Targets, ", "))
	if len(r.Agents) > 0 {
		s.Infof("agents found: %s\n", strings.Join(r.Agents, ", "))
	}
	for _, place := range r.Existing {
		s.Infof("note: %s is there already and no lock names it\n", diag.Escape(place))
	}
	switch {
	case r.AttributesWritten:
		s.Infof(".gitattributes: %s\n", strings.Join(r.Attributes, ", "))
	case len(r.Attributes) > 0:
		s.Infof("note: a Windows checkout changes line ends unless .gitattributes has (--gitattributes writes it):\n")
		for _, line := range r.Attributes {
			s.Infof("  %s\n", line)
		}
	}
}

func newInitCmd(app *App) *cobra.Command {
	var s scope
	var in adopt.InitOptions
	var from []string
	var f importFlags
	cmd := &cobra.Command{
		Use: "init", Args: cobra.NoArgs, Short: "Start a project: write skills.toml",
		Long: `Start a project: write skills.toml, with the agents that are used here, and say
which skills lie there already. With --from the skills that another tool lists
are taken over, as by import.`,
	}
	s.add(cmd)
	f.add(cmd)
	cmd.Flags().BoolVar(&f.install.opt.NoInstall, "no-install", false, "with --from: change skills.toml and skills.lock only")
	cmd.Flags().StringArrayVar(&from, "from", nil, "import `FILE`, a directory, or auto: whatever is here")
	cmd.Flags().StringSliceVar(&in.Agents, "agent", nil, "install for the agent `ID` (claude-code, codex, …) instead of those detected")
	cmd.Flags().StringSliceVar(&in.Targets, "target", nil, "install into `DIR` too")
	cmd.Flags().BoolVar(&in.GitAttributes, "gitattributes", false, "add the lock to .gitattributes without asking")
	return app.command(cmd, "init", func(ctx context.Context, _ []string) (Result, error) {
		opt, err := app.options(s.global)
		if err != nil {
			return nil, err
		}
		in.Ask = opt.Ask
		if len(from) > 0 {
			return app.initFrom(ctx, opt, in, from, &f)
		}
		r, err := adopt.Init(ctx, opt, in)
		return resultOr(r, err, func(r *adopt.InitResult) Result { return initResult{r} })
	})
}
