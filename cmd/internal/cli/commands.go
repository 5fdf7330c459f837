package cli

import "github.com/spf13/cobra"

// commands lists every command but help, in the order of a first use.
func commands(app *App) []*cobra.Command {
	list := []*cobra.Command{
		newInitCmd(app),
		newImportCmd(app),
		newAddCmd(app),
		newRemoveCmd(app),
		newInstallCmd(app),
		newFetchCmd(app),
		newLockCmd(app),
		newUpdateCmd(app),
		newOutdatedCmd(app),
		newVersionsCmd(app),
		newListCmd(app),
		newTreeCmd(app),
		newWhyCmd(app),
		newPlanCmd(app),
		newInfoCmd(app),
		newDiffCmd(app),
		newVerifyCmd(app),
		newNewCmd(app),
		newValidateCmd(app),
		newInspectCmd(app),
		newTrustCmd(app),
		newSignCmd(app),
		newTagCmd(app),
		newCacheCmd(app),
		newMirrorCmd(app),
		newSearchCmd(app),
		newSBOMCmd(app),
		newVersionCmd(app),
	}
	return append(list, runtimeCommands(app)...)
}
