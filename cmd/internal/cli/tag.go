package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/author"
	"github.com/skillpm/skillpm/internal/diag"
)

type tagResult struct {
	*author.Tagged
	DryRun bool `json:"dryRun,omitempty"`
}

// Text says which tag there is now, and what is left to do.
func (r tagResult) Text(s *ui.Streams) {
	verb := "tagged"
	if r.DryRun {
		verb = "would tag"
	}
	signed := "not signed"
	if r.Signed {
		signed = "signed"
	}
	s.Infof("%s %s %s as %s (%s)\n", verb, diag.Escape(r.Name), r.Version, diag.Escape(r.Tag), signed)
	if !r.Pushed && !r.DryRun {
		s.Infof("publish it: git push origin %s\n", diag.Escape(r.Tag))
	}
}

func newTagCmd(app *App) *cobra.Command {
	var flags signerFlags
	opt := author.TagOptions{}
	cmd := &cobra.Command{
		Use:   "tag NAME X.Y.Z",
		Short: "Release a skill: validate it, sign it, tag its version",
		Long: `Release the skill NAME of this repository as version X.Y.Z; its path does as well,
where two have one name. It is validated, must be committed, is signed if a key is
named (the signature is committed), and gets the annotated tag that installers
look for: PATH/vX.Y.Z, vX.Y.Z for a skill at the repository's root. An existing tag
is never moved.`,
		Args: cobra.ExactArgs(2),
	}
	flags.add(app, cmd)
	cmd.Flags().BoolVar(&opt.Push, "push", false, "push the tag")
	cmd.Flags().StringVar(&opt.Remote, "remote", "origin", "push to `REMOTE`")
	cmd.Flags().BoolVar(&opt.DryRun, "dry-run", false, "check everything and change nothing")
	return app.command(cmd, "tag", func(ctx context.Context, args []string) (Result, error) {
		opt.Base, opt.Now = app.dir(), time.Now()
		if flags.key != "" {
			key := app.path(flags.key)
			var err error
			opt.Signer, err = author.LoadSigner(key, app.path(flags.cert), func() ([]byte, error) { return app.passphrase("passphrase of " + key) })
			if err != nil {
				return nil, err
			}
		}
		t, err := author.Tag(ctx, args[0], args[1], opt)
		if t == nil {
			return nil, err
		}
		for _, e := range t.Skill.Report.Findings() {
			app.report(e)
		}
		return tagResult{t, opt.DryRun}, err
	})
}
