package project

import (
	"context"

	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/choose"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
)

// Add puts sources into skills.toml, resolves with what is locked held as it is,
// and installs, all in one transaction.
func Add(ctx context.Context, p *world.World, specs []string, opt choose.AddOptions) (*decide.Change, error) {
	if opt.As != "" && (len(specs) != 1 || opt.All || len(opt.Skills) > 1) {
		return nil, workspace.Usage("--as names one skill; give one source")
	}
	if err := p.LoadRegistries(ctx); err != nil {
		return nil, err
	}
	asked, err := choose.ParseSpecs(specs)
	if err != nil {
		return nil, err
	}
	asked = choose.Own(p.Project, asked)
	p = choose.NamingSpecs(p, asked)
	adds, skipped, err := choose.AllAdditions(ctx, p, asked, opt)
	if err != nil {
		return nil, err
	}
	if err := choose.DistinctKeys(adds); err != nil {
		return nil, err
	}
	if len(adds) == 0 {
		return nil, choose.SkippedFindings(skipped)
	}
	p, t, left, err := choose.AddSolvable(ctx, p, adds, opt)
	if err != nil {
		return nil, err
	}
	skipped = append(skipped, left...)
	t.Skipped = skipped
	change, err := apply.Apply(ctx, p, t, opt.InstallOptions)
	if err != nil {
		return change, err
	}
	return change, choose.SkippedFindings(skipped)
}
