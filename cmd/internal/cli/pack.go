package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/derive"
)

type packResult struct{ *derive.ContextPack }

// Text prints the texts of the pack, each under its citation.
func (r packResult) Text(s *ui.Streams) {
	for _, k := range r.Skills {
		s.Printf("%s %s\n", s.Paint(ui.Strong, diag.Escape(k.SkillID)), diag.Escape(string(k.Digest)))
		if k.Guidance != nil {
			s.Printf("[%s]\n%s\n", diag.Escape(k.Guidance.Citation), escapeLines(k.Guidance.Excerpt))
		}
		for _, f := range slices.Concat(k.References, k.Examples, k.Assets) {
			s.Printf("[%s]\n%s\n", diag.Escape(f.Citation), escapeLines(f.Content))
		}
	}
	for _, d := range r.Diagnostics {
		s.Infof("%s: %s %s: %s\n", d.Level, diag.Escape(d.SkillID), diag.Escape(d.Path), diag.Escape(d.Message))
	}
	s.Infof("%d of %d characters\n", r.UsedChars, r.BudgetChars)
}

func newPackContextCmd(app *App) *cobra.Command {
	var s scope
	var opt derive.PackOptions
	var raw bool
	var references, examples, assets string
	cmd := &cobra.Command{
		Use: "pack-context NAME…", Short: "Cut skills' guidance and resources to a budget, with citations",
		Long: `Cut the guidance and the resources of locked skills to a budget of characters, each
piece cited by path and digest. The same skills and flags give the same pack. The
document (agently.skills.context_pack.v1) proposes no action and grants nothing.`,
		Args: cobra.MinimumNArgs(1),
	}
	s.add(cmd)
	f := cmd.Flags()
	f.IntVar(&opt.Budget, "budget-chars", derive.DefaultPackBudget, "all texts together have at most `N` characters")
	f.StringVar(&opt.Intent, "intent", "", "what the skills are wanted for, such as generate_code")
	f.StringVar(&opt.Task, "task", "", "the task in words; files whose path holds one of them come first")
	f.StringVar(&references, "references", string(derive.IncludeAuto), "take references: auto, always or never")
	f.StringVar(&examples, "examples", string(derive.IncludeAuto), "take examples: auto, always or never")
	f.StringVar(&assets, "assets", string(derive.IncludeAuto), "take assets: auto, always or never")
	f.BoolVar(&raw, "raw", false, "print the pack alone, without the envelope of --json")
	return app.command(cmd, "pack-context", func(ctx context.Context, args []string) (Result, error) {
		if opt.Budget < 1 {
			return nil, usageError("--budget-chars is 1 to %d, not %d", derive.MaxPackBudget, opt.Budget)
		}
		for _, c := range []struct {
			flag, value string
			to          *derive.Include
		}{{"references", references, &opt.References}, {"examples", examples, &opt.Examples}, {"assets", assets, &opt.Assets}} {
			*c.to = derive.Include(c.value)
			if !slices.Contains([]derive.Include{derive.IncludeAuto, derive.IncludeAlways, derive.IncludeNever}, *c.to) {
				return nil, usageError("--%s is auto, always or never, not `%s`", c.flag, c.value)
			}
		}
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			pack, err := views.Pack(ctx, p.Local, args, opt)
			if err != nil || !raw {
				return resultOr(pack, err, func(r *derive.ContextPack) Result { return packResult{r} })
			}
			data, err := pack.JSON()
			if err != nil {
				return nil, err
			}
			return Raw{data}, nil
		})
	})
}
