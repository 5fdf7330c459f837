package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/docs"
	"github.com/skillpm/skillpm/internal/diag"
)

type codeHelp struct {
	Code    string `json:"code"`
	Exit    int    `json:"exit"`
	Kind    string `json:"kind"`
	Meaning string `json:"meaning"`
	Entry   string `json:"entry"`
}

func (h codeHelp) Text(s *ui.Streams) { s.Printf("%s", h.Entry) }

// newHelpCmd explains a command or an error code.
func newHelpCmd(app *App, root *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: "help [COMMAND | CODE]", Short: "Explain a command or an error code"}
	run := func(_ context.Context, args []string) (Result, error) {
		if len(args) == 0 {
			return nil, root.Help()
		}
		if info, ok := diag.Lookup(diag.Code(args[0])); ok {
			entry, _ := docs.Entry(args[0])
			return codeHelp{args[0], info.Exit, info.Kind, info.Meaning, entry}, nil
		}
		if target, _, err := root.Find(args); err == nil && target != root {
			return nil, target.Help()
		}
		return nil, usageError("`%s` is neither a command nor an error code", args[0]).WithHint("`skillpm help` lists the commands; docs/errors.md lists the codes")
	}
	return app.command(cmd, "help", run)
}
