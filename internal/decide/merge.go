package decide

import (
	"context"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// MergeAttribute makes git hand the lock to the driver.
const MergeAttribute = lockfile.FileName + " merge=skillpm"

// HoldsAlone reports whether l is what its own root asks for: closed, in range,
// without circles, with every field that lock --check compares. Chains are
// measured anew, since a member may have become longer on the other side.
func HoldsAlone(opt workspace.Options, l *lockfile.Lock) bool {
	if world.MeasureChains(l) != nil || len(recordRefs(l, lockedRef)) > 0 {
		return false
	}
	m := &manifest.Manifest{File: lockfile.FileName}
	for _, part := range []struct {
		from map[string]string
		into *[]manifest.Skill
	}{{l.Root.Requires, &m.Skills}, {l.Root.Overrides, &m.Overrides}} {
		for _, key := range workspace.SortedKeys(part.from) {
			r, err := skill.ParseRequirement(part.from[key], nil)
			if err != nil {
				return false
			}
			*part.into = append(*part.into, manifest.Skill{Key: skill.Key(key), Requirement: r})
		}
	}
	p := workspace.New(opt)
	p.Manifest, p.Written, p.Lock = m, m, l
	p.Known = p.Files.Index()
	graph, err := staleGraph(context.Background(), world.Around(p))
	return err == nil && len(graph) == 0 && len(SelfCheck(p, diag.LockOutdated)) == 0
}

// MergeThree joins two locks where each key changed on one side only. It is not
// clean if both changed one key, the targets or unknown fields.
func MergeThree(base, ours, theirs *lockfile.Lock) (*lockfile.Lock, bool) {
	if ours == nil || theirs == nil {
		return nil, false
	}
	if base == nil {
		base = &lockfile.Lock{}
	}
	merged := *ours
	var ok1, ok2 bool
	merged.Root.Requires, ok1 = mergeMaps(base.Root.Requires, ours.Root.Requires, theirs.Root.Requires)
	merged.Root.Overrides, ok2 = mergeMaps(base.Root.Overrides, ours.Root.Overrides, theirs.Root.Overrides)
	if !ok1 || !ok2 || !sameJSON(ours.Targets, theirs.Targets) || !sameJSON(ours.Unknown, theirs.Unknown) {
		return nil, false
	}
	entries, clean := mergeMaps(entryTexts(base), entryTexts(ours), entryTexts(theirs))
	if !clean {
		return nil, false
	}
	merged.Skills = nil
	for _, l := range []*lockfile.Lock{ours, theirs} {
		for _, e := range l.Skills {
			if text, ok := entries[e.Key]; ok && text == entryText(e) && merged.Get(e.Key) == nil {
				merged.Skills = append(merged.Skills, e)
			}
		}
	}
	return &merged, len(merged.Open()) == 0 && len(merged.Unreachable()) == 0
}

// mergeMaps is a three-way merge by key.
func mergeMaps(base, ours, theirs map[string]string) (map[string]string, bool) {
	out := map[string]string{}
	keys := map[string]bool{}
	for _, m := range []map[string]string{base, ours, theirs} {
		for k := range m {
			keys[k] = true
		}
	}
	for k := range keys {
		b, inBase := base[k]
		o, inOurs := ours[k]
		t, inTheirs := theirs[k]
		switch {
		case inOurs == inTheirs && o == t:
			if inOurs {
				out[k] = o
			}
		case inBase == inOurs && b == o: // theirs changed
			if inTheirs {
				out[k] = t
			}
		case inBase == inTheirs && b == t: // ours changed
			if inOurs {
				out[k] = o
			}
		default:
			return nil, false
		}
	}
	if len(out) == 0 {
		return nil, true
	}
	return out, true
}

func entryTexts(l *lockfile.Lock) map[string]string {
	out := map[string]string{}
	for _, e := range l.Skills {
		out[e.Key] = entryText(e)
	}
	return out
}

// entryText is an entry's canonical bytes, for comparison.
func entryText(e *lockfile.Entry) string {
	one := lockfile.Lock{Root: lockfile.Root{Requires: map[string]string{}}, Skills: []*lockfile.Entry{e}}
	return string(one.Bytes())
}

// MergeLocks joins two locks for preference: entries of both, ours where both
// have one.
func MergeLocks(ours, theirs *lockfile.Lock) *lockfile.Lock {
	switch {
	case ours == nil:
		return theirs
	case theirs == nil:
		return ours
	}
	merged := *ours
	merged.Skills = nil
	merged.Skills = append(merged.Skills, ours.Skills...)
	for _, e := range theirs.Skills {
		if ours.Get(e.Key) == nil {
			merged.Skills = append(merged.Skills, e)
		}
	}
	return &merged
}
