package mirroring

import (
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// rangesOf returns for every key what a lock's graph demands of its version:
// ranges, and "ref:NAME" where a ref is asked for. An override stands in place of
// all other requirements on its key. The error is lock_corrupt.
func rangesOf(l *lockfile.Lock) (map[string][]string, error) {
	out := map[string][]string{}
	add := func(key, text string) error {
		r, err := skill.ParseRequirement(text, nil)
		if err != nil {
			return diag.New(diag.LockCorrupt, "the requirement on `%s`: %s", key, diag.Escape(err.Error()))
		}
		if r.Ref != "" {
			r.Range = "ref:" + r.Ref
		}
		out[key] = append(out[key], r.Range)
		return nil
	}
	for key, text := range l.Root.Overrides {
		if err := add(key, text); err != nil {
			return nil, err
		}
	}
	for _, e := range l.Edges() {
		if _, overridden := l.Root.Overrides[e.To]; overridden {
			continue
		}
		if err := add(e.To, e.Requirement); err != nil {
			return nil, err
		}
	}
	return out, nil
}
