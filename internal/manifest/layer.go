package manifest

import "cmp"

// Layer returns the settings of several files, the weakest first. A value that a
// later one sets wins; a list replaces the earlier list, but registries and
// mirrors of a later file come before those of an earlier one, a name that
// stands in both taken from the later.
func Layer(layers ...Config) Config {
	var out Config
	for _, c := range layers {
		out.Install = layerInstall(c.Install, out.Install)
		out.Registries = layerNamed(c.Registries, out.Registries)
		out.Mirrors = layerNamed(c.Mirrors, out.Mirrors)
		out.Validate = layerValidate(c.Validate, out.Validate)
		out.Git.CLI = cmp.Or(c.Git.CLI, out.Git.CLI)
	}
	return out
}

func layerInstall(top, below Install) Install {
	out := Install{
		Agents: below.Agents, AgentPlaces: below.AgentPlaces, Targets: below.Targets,
		Link:         cmp.Or(top.Link, below.Link),
		Expose:       cmp.Or(top.Expose, below.Expose),
		Unmanaged:    cmp.Or(top.Unmanaged, below.Unmanaged),
		Validation:   cmp.Or(top.Validation, below.Validation),
		MaxFiles:     cmp.Or(top.MaxFiles, below.MaxFiles),
		MaxBytes:     cmp.Or(top.MaxBytes, below.MaxBytes),
		MaxFileBytes: cmp.Or(top.MaxFileBytes, below.MaxFileBytes),
	}
	if top.Agents != nil {
		out.Agents, out.AgentPlaces = top.Agents, top.AgentPlaces
	}
	if top.Targets != nil {
		out.Targets = top.Targets
	}
	return out
}

func layerValidate(top, below Validate) Validate {
	out := Validate{
		Ignore:            below.Ignore,
		StrictSpec:        cmp.Or(top.StrictSpec, below.StrictSpec),
		AllowUnicodeNames: cmp.Or(top.AllowUnicodeNames, below.AllowUnicodeNames),
		Profile:           cmp.Or(top.Profile, below.Profile),
	}
	if top.Ignore != nil {
		out.Ignore = top.Ignore
	}
	return out
}

func layerNamed(top, below []Named) []Named {
	var out []Named
	seen := map[string]bool{}
	for _, list := range [][]Named{top, below} {
		for _, n := range list {
			if !seen[n.Name] {
				seen[n.Name] = true
				out = append(out, n)
			}
		}
	}
	return out
}
