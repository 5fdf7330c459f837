package views

import (
	"slices"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
)

// markSame finds skills that stand in several directories by a link: one skill,
// not two of one name. The real directory is the one that counts.
func (r *LayersResult) markSame() {
	first := map[string]string{}
	each(r.Layers, func(s *LayerSkill) {
		if _, ok := first[s.real]; s.State == stateFound && s.direct && !ok {
			first[s.real] = s.Path
		}
	})
	each(r.Layers, func(s *LayerSkill) {
		if s.State != stateFound {
			return
		}
		if path, ok := first[s.real]; !ok {
			first[s.real] = s.Path
		} else if path != s.Path {
			s.State, s.By = StateSame, path
		}
	})
}

func each(dirs []LayerDir, visit func(*LayerSkill)) {
	for i := range dirs {
		for k := range dirs[i].Skills {
			visit(&dirs[i].Skills[k])
		}
	}
}

// judge applies one runtime's rule to what it reads.
func (r *LayersResult) judge(l agents.Loader) {
	winner := map[string]*LayerSkill{}
	each(r.Layers, func(s *LayerSkill) {
		if s.State == stateFound && s.outside && l.Contained {
			*s = s.refuse(diag.SymlinkEscapes, "a link out of the project")
		}
		if s.State != stateFound {
			return
		}
		name := s.Name
		if l.ByDirectory {
			name = s.dir
		}
		won := winner[name]
		switch {
		case won == nil:
			winner[name] = s
		case l.Rule == agents.FirstWins:
			s.State, s.By = StateShadowed, won.Path
		case l.Rule == agents.Undetermined:
			s.State, won.State = StateUnclear, StateUnclear
		}
	})
}

// conflicts lists the names that stand in more than one place, and what every
// runtime whose rule is known makes of each.
func conflicts(p *workspace.Project, dirs []LayerDir) []Conflict {
	places := map[string][]string{}
	known := map[string]string{} // by real path: a link is named by what it leads to
	each(dirs, func(s *LayerSkill) {
		if s.State == stateFound {
			places[s.Name] = append(places[s.Name], s.Path)
			known[s.real] = s.Path
		}
	})
	list := []Conflict{}
	for _, name := range workspace.SortedKeys(places) {
		if len(places[name]) > 1 {
			list = append(list, Conflict{Name: name, Places: places[name], Runtimes: []Choice{}})
		}
	}
	if len(list) == 0 {
		return list
	}
	for _, l := range agents.Loaders() {
		if _, ok := agents.Get(l.ID); !ok {
			continue // not one that installs here
		}
		loads := loads(p, l, known)
		for i := range list {
			if at := loads[list[i].Name]; len(at) > 0 {
				list[i].Runtimes = append(list[i].Runtimes, Choice{Runtime: l.ID, Rule: l.Rule, Loads: at})
			}
		}
	}
	return list
}

// loads returns the places of each name that a runtime may load, those that are
// known by their real path under the name they are known by.
func loads(p *workspace.Project, l agents.Loader, known map[string]string) map[string][]string {
	r := &LayersResult{Layers: loaderDirs(p, l, nil)}
	for i := range r.Layers {
		scan(p, &r.Layers[i])
	}
	r.markSame()
	r.judge(l)
	loads := map[string][]string{}
	each(r.Layers, func(s *LayerSkill) {
		if s.State != stateFound && s.State != StateUnclear {
			return
		}
		path := s.Path
		if at, ok := known[s.real]; ok {
			path = at
		}
		loads[s.Name] = append(loads[s.Name], path)
	})
	return loads
}

// Disputed reports whether the runtimes disagree on a name, or one of them may
// load either.
func (c Conflict) Disputed() bool {
	return slices.ContainsFunc(c.Runtimes, func(r Choice) bool {
		return len(r.Loads) > 1 || !slices.Equal(r.Loads, c.Runtimes[0].Loads)
	})
}
