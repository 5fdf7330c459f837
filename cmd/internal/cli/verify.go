package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/report"
	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type verifyResult struct{ *views.VerifyResult }

// Text prints one line a skill with its judgement.
func (r verifyResult) Text(s *ui.Streams) {
	rows := make([][]string, len(r.Skills))
	bad := 0
	for i, k := range r.Skills {
		verdict := s.Paint(ui.Good, "ok")
		if !k.OK {
			verdict = s.Paint(ui.Bad, "bad")
			bad++
		}
		rows[i] = []string{verdict, diag.Escape(k.Key), orDash(k.Version), orDash(k.State), k.Signature}
	}
	if len(rows) > 0 && !s.Quiet {
		s.Printf("%s", ui.Table(nil, rows, s.Width))
	}
	if bad == 0 && len(r.Findings) == 0 {
		s.Infof("verified: %s, %s, %s\n", plural(len(r.Skills), "skill"), plural(r.Files, "file"), bytesText(r.Bytes))
	}
}

// verifyCases sorts findings under the skills they are about; what is about none
// stands under the lock.
func verifyCases(r *views.VerifyResult, list diag.List) []report.Case {
	cases := make([]report.Case, len(r.Skills), len(r.Skills)+1)
	for i, k := range r.Skills {
		cases[i].Name = k.Key
	}
	lock := report.Case{Name: "skills.lock"}
	for _, e := range list {
		i := slices.IndexFunc(r.Skills, func(k views.Verified) bool {
			return strings.HasPrefix(e.File, k.Place+"/") || e.File == k.Place || strings.Contains(e.Message, "`"+k.Key+"`")
		})
		if i < 0 {
			lock.Findings = append(lock.Findings, e)
			continue
		}
		cases[i].Findings = append(cases[i].Findings, e)
	}
	return append(cases, lock)
}

func newVerifyCmd(app *App) *cobra.Command {
	var s scope
	var opt views.VerifyOptions
	var format string
	cmd := &cobra.Command{
		Use: "verify", Short: "Prove that installed skills are what skills.lock says", Args: cobra.NoArgs,
		Long: `Prove that installed skills are what skills.lock says, file by file, and that
signatures hold under the trust policy. Hashes everything, uses no network, writes
nothing. A changed, missing or extra file and a missing skill are findings
(exit 2); a skill that no lock names is a note, with --strict a finding.`,
	}
	s.add(cmd)
	cmd.Flags().BoolVar(&opt.Strict, "strict", false, "a skill that no lock names is a finding")
	cmd.Flags().BoolVar(&opt.NoManifest, "no-manifest", false, "take skills.lock alone, without skills.toml")
	cmd.Flags().StringVar(&format, "format", "text", "text, sarif, github, gitlab or junit")
	return app.command(cmd, "verify", func(ctx context.Context, _ []string) (Result, error) {
		if format != "text" && !slices.Contains(report.Formats, format) {
			return nil, usageError("`%s` is no format; expected text, %s", format, strings.Join(report.Formats, ", "))
		}
		open := opener(world.Open)
		if opt.NoManifest {
			open = world.OpenLock
		}
		change := func(opt *workspace.Options) error {
			opt.RootPaths = format != "text"
			return nil
		}
		return app.with(open, s, change, func(p *world.World) (Result, error) {
			r, err := views.Verify(ctx, p.Local, opt)
			if r != nil && format != "text" {
				return app.rendered(format, "verify", p.Root, verifyCases(r, append(diag.All(err), app.diagnostics...)), err)
			}
			return resultOr(r, err, func(r *views.VerifyResult) Result { return verifyResult{r} })
		})
	})
}
