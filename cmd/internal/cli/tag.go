package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/author"
	"github.com/skillpm/skillpm/internal/diag"
)

type tagResult struct {
	*author.Tagged
	DryRun bool `json:"dryRun,omitempty"`
	remote string
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
	for i, e := range r.Effects {
		if e.Path != r.ownPath() && len(e.Lost) == 0 {
			r.others(s, r.Effects[i:])
			break
		}
		s.Infof("%s: %s -> %s\n", diag.Escape(e.Name), versionsText(e.Before), versionsText(e.After))
	}
	if !r.Pushed && !r.DryRun {
		s.Infof("publish it: git push %s %s\n", r.remote, diag.Escape(r.Tag))
	}
}

func (r tagResult) ownPath() string {
	if r.Path == "." {
		return ""
	}
	return r.Path
}

// others counts the skills that merely get the version too.
func (r tagResult) others(s *ui.Streams, effects []author.Effect) {
	names := make([]string, len(effects))
	for i, e := range effects {
		names[i] = diag.Escape(e.Name)
	}
	get := "get"
	if len(names) == 1 {
		get = "gets"
	}
	s.Infof("%s %s the version: %s\n", plural(len(names), "other skill"), get, firstFew(names, 5))
}

// versionsText is the newest few of a list of versions.
func versionsText(versions []string) string {
	if len(versions) == 0 {
		return "no versions"
	}
	return firstFew(versions, 3)
}

func firstFew(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}

func newTagCmd(app *App) *cobra.Command {
	var flags signerFlags
	var form string
	opt := author.TagOptions{}
	cmd := &cobra.Command{
		Use:   "tag NAME X.Y.Z",
		Short: "Release a skill: validate it, sign it, tag its version",
		Long: `Release the skill NAME of this repository as version X.Y.Z; its path does as well,
where two have one name. It is validated, must be committed, is signed if a key is
named (the signature is committed), and gets an annotated tag: in the form of the
newest tag that counts for the skill, else PATH/vX.Y.Z, vX.Y.Z for a skill at the
repository's root. Before that the commit is read as installers will read it, and
what they see of each skill's versions is shown before -> after: a tag that would
hide versions is refused. An existing tag is never moved.`,
		Args: cobra.ExactArgs(2),
	}
	flags.add(app, cmd)
	cmd.Flags().StringVar(&form, "form", "", "`FORM` of the tag: skill (this skill alone) or repository (every skill without tags of its own)")
	cmd.Flags().BoolVar(&opt.HideVersions, "hide-versions", false, "make the tag also if installers lose versions by it")
	cmd.Flags().BoolVar(&opt.Push, "push", false, "push the tag")
	cmd.Flags().StringVar(&opt.Remote, "remote", "origin", "push to `REMOTE`")
	cmd.Flags().BoolVar(&opt.DryRun, "dry-run", false, "check everything and change nothing")
	return app.command(cmd, "tag", func(ctx context.Context, args []string) (Result, error) {
		if opt.Form = author.Form(form); form != "" && opt.Form != author.FormSkill && opt.Form != author.FormRepository {
			return nil, usageError("`%s` is no form; expected skill or repository", form)
		}
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
		return tagResult{t, opt.DryRun, opt.Remote}, err
	})
}
