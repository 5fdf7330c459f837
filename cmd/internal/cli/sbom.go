package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"

	"github.com/spf13/cobra"
)

func newSBOMCmd(app *App) *cobra.Command {
	var s scope
	format := "cyclonedx"
	cmd := &cobra.Command{
		Use: "sbom", Short: "Print a bill of materials of the lock", Args: cobra.NoArgs,
		Long: `Print a bill of materials of the lock as CycloneDX 1.6 in JSON: a component for
each skill with its version, digest, license, repository, commit and signer, and
the graph of what requires what. There is no time in it, and the serial number
comes from the lock, so the document is the same each time. A license is told
where the skill's files are at hand. The document is printed as it is, with --json
too.`,
		Example: "  skillpm sbom > skills.cdx.json",
	}
	s.add(cmd)
	cmd.Flags().StringVar(&format, "format", format, "the `FORMAT`: cyclonedx")
	return app.command(cmd, "sbom", func(ctx context.Context, _ []string) (Result, error) {
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			data, err := views.SBOM(ctx, p.Local, format)
			if err != nil {
				return nil, err
			}
			return Raw{data}, nil
		})
	})
}
