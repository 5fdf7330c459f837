package cli

import (
	"github.com/skillpm/skillpm/internal/world"

	"slices"

	"github.com/spf13/cobra"
)

// completed are the commands whose arguments are names of locked skills; how many
// of them each takes, 0 for any number.
var completed = map[string]int{
	"remove": 0, "update": 0, "why": 1, "info": 1, "diff": 1, "plan": 1, "card": 0, "resources": 0, "needs": 0,
}

// addCompletion adds `completion SHELL`, whose scripts are cobra's own, and lets
// the shell complete the names of locked skills.
func addCompletion(app *App, root *cobra.Command) {
	root.SetOut(app.UI.Out) // cobra takes the stream when the command is made
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usageError("`%s` is no shell that is known", args[0]).WithHint("bash, zsh, fish or powershell")
		}
	}
	for _, cmd := range root.Commands() {
		most, ok := completed[cmd.Name()]
		if !ok {
			continue
		}
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if most > 0 && len(args) >= most {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			global, _ := cmd.Flags().GetBool("global") // false where there is no such flag
			return app.lockedNames(global, args), cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// lockedNames returns the keys of the lock that are not among args. Whatever goes
// wrong, a shell that completes is no place to say so.
func (app *App) lockedNames(global bool, args []string) []string {
	opt, err := app.options(global)
	if err != nil {
		return nil
	}
	p, err := world.Open(opt)
	if err != nil {
		return nil
	}
	defer p.Close()
	if p.Lock == nil {
		return nil
	}
	var names []string
	for _, e := range p.Lock.Skills {
		if !slices.Contains(args, e.Key) {
			names = append(names, e.Key+"\t"+e.Version)
		}
	}
	return names
}
