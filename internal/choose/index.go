package choose

import (
	"context"
	"path"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// AddIndex adds skills of a discovery index.
func AddIndex(ctx context.Context, p *world.World, s Spec, opt AddOptions) ([]Addition, []decide.SkippedSkill, error) {
	if s.Rng != "" && s.Rng != "*" || s.Ref != "" {
		return nil, nil, workspace.Usage("a discovery index has no versions: `%s`", s.Text)
	}
	client, err := p.IndexClient()
	if err != nil {
		return nil, nil, err
	}
	list, err := client.List(ctx, s.Source)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range list.Skipped {
		p.Opt.Report(n)
	}
	var d fetch.Discovery
	for _, e := range list.Skills {
		d.Skills = append(d.Skills, fetch.Found{Path: e.Name, File: "SKILL.md", Tree: fetch.ID(e.Digest)})
	}
	paths, err := Choose(s, &d, opt)
	if err != nil {
		return nil, nil, err
	}
	var adds []Addition
	for _, name := range paths {
		if opt.As != "" && opt.As != name {
			return nil, nil, workspace.Usage("a skill of a discovery index keeps its name `%s`", name)
		}
		key, err := chooseKey("", path.Base(name), name, s.Source)
		if err != nil {
			return nil, nil, err
		}
		adds = append(adds, Addition{Key: key, Req: skill.Requirement{Range: "*", Source: s.Source}})
	}
	return adds, nil, nil
}
