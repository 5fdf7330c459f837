package apply

import (
	"slices"

	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
)

// Retarget returns the manifest's bytes with the agents and targets of opt added,
// nil where there is nothing to add. Where skills go is part of what is
// recorded, so a run that only reads the lock cannot change it.
func Retarget(p *workspace.Project, opt InstallOptions) ([]byte, error) {
	if len(opt.Agents) == 0 && len(opt.Targets) == 0 {
		return nil, nil
	}
	if opt.Frozen || opt.NoManifest {
		return nil, workspace.Usage("--agent and --target change skills.toml, which this run only reads")
	}
	if err := workspace.CheckAgents(opt.Agents); err != nil {
		return nil, err
	}
	edit, err := manifest.NewEdit(p.ManifestData)
	if err != nil {
		return nil, err
	}
	in := p.Manifest.Install
	if ids := union(in.Agents, opt.Agents); len(ids) > len(in.Agents) {
		if err := edit.SetAgents(ids); err != nil {
			return nil, err
		}
	}
	if dirs := union(in.Targets, opt.Targets); len(dirs) > len(in.Targets) {
		if err := edit.SetTargets(dirs); err != nil {
			return nil, err
		}
	}
	return edit.Bytes()
}

// union appends to a what of b it does not hold.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
