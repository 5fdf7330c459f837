package cli

import "github.com/spf13/cobra"

// closeGroups makes commands that only hold others refuse a name they do not
// have, which cobra would answer with the help text and status 0, and answer
// --json with one object.
func (app *App) closeGroups(root *cobra.Command) {
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && app.flags.json && !cmd.Flags().Changed("version") {
			return noSubcommand(cmd)
		}
		return run(cmd, args)
	}
	for _, c := range root.Commands() {
		if c.HasSubCommands() && !c.Runnable() {
			c.Args, c.RunE = cobra.ArbitraryArgs, app.runGroup
		}
	}
}

func (app *App) runGroup(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return usageError("`%s` is no command of `%s`", args[0], cmd.CommandPath()).
			WithHint("`%s --help` lists them", cmd.CommandPath())
	case app.flags.json:
		return noSubcommand(cmd)
	}
	return cmd.Help()
}

func noSubcommand(cmd *cobra.Command) error {
	return usageError("`%s` needs the name of a command", cmd.CommandPath()).
		WithHint("`%s --help` lists them", cmd.CommandPath())
}
