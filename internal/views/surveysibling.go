package views

import (
	"slices"

	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// stayWithParents takes back what is wanted of skills that update leaves where
// they are: those that are there only for others of their repository, at the
// commit of these, which do not move either.
func stayWithParents(p *workspace.Project, rows map[string]OutdatedRow) {
	entries := workspace.EntriesByKey(p.Lock)
	for changed := true; changed; { // a parent may itself stay for its own parents
		changed = false
		for key, row := range rows {
			if row.Wanted == "" || p.Manifest.Get(key) != nil || p.Lock.Root.Overrides[key] != "" || !parentsStay(p.Lock, entries, entries[key], rows) {
				continue
			}
			row.Wanted = ""
			row.settle(append(slices.DeleteFunc(append([]RowState{row.State}, row.Also...), func(s RowState) bool { return s == RowNewer }), RowPinned))
			rows[key], changed = row, true
		}
	}
}

// parentsStay reports whether all that require e are siblings at its own commit
// for which nothing newer is wanted.
func parentsStay(l *lockfile.Lock, entries map[string]*lockfile.Entry, e *lockfile.Entry, rows map[string]OutdatedRow) bool {
	parents := l.Dependents(e.Key)
	return len(parents) > 0 && !slices.ContainsFunc(parents, func(key string) bool {
		parent := entries[key]
		if parent == nil || parent.Source.URL != e.Source.URL || parent.Source.Commit != e.Source.Commit || rows[key].Wanted != "" {
			return true
		}
		r, err := skill.ParseRequirement(parent.Requires[e.Key], nil)
		return err == nil && !r.Source.IsZero() // it names the place, and is no look-up
	})
}
