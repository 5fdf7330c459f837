package cli

import "github.com/spf13/cobra"

// runtimeCommands are those that agent runtimes and their authors call.
func runtimeCommands(app *App) []*cobra.Command {
	return []*cobra.Command{
		newPromptCmd(app),
		newCardCmd(app),
		newResourcesCmd(app),
		newNeedsCmd(app),
		newPackContextCmd(app),
		newMaterializeCmd(app),
		newExportCmd(app),
		newDoctorCmd(app),
	}
}
