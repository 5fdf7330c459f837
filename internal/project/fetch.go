package project

import (
	"context"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// FetchedSkill is one skill of Fetch's answer.
type FetchedSkill struct {
	Key     string       `json:"key"`
	Version string       `json:"version,omitempty"`
	Digest  skill.Digest `json:"digest"`
	// State is present (was in the cache), fetched or failed.
	State string `json:"state"`
}

// FetchResult says what Fetch brought into the cache.
type FetchResult struct {
	Locks  int            `json:"locks"`
	Skills []FetchedSkill `json:"skills"`
}

// Fetch brings everything that locks name into the cache, from mirrors and
// repositories, and touches no project. Without files it is the project's own
// lock. A skill that several locks name is fetched once.
func Fetch(ctx context.Context, p *world.World, files []string) (*FetchResult, error) {
	locks, err := readLocks(p.Project, files)
	if err != nil {
		return nil, err
	}
	r := &FetchResult{Locks: len(locks), Skills: []FetchedSkill{}}
	var orders []world.Request
	seen := map[skill.Digest]bool{}
	p = p.With(p.Permit.NameRoots(locks...))
	for _, l := range locks {
		for _, e := range l.Skills {
			if e.Source.Type == lockfile.TypePath || seen[e.Digest] {
				continue
			}
			seen[e.Digest] = true
			o, ok := world.WantOf(e)
			if !ok {
				return nil, diag.New(diag.LockCorrupt, "the source of `%s` is not readable", e.Key)
			}
			o.Independent = true
			state := "fetched"
			if _, have := p.FromStore(o); have {
				state = "present"
			}
			orders = append(orders, o)
			r.Skills = append(r.Skills, FetchedSkill{e.Key, e.Version, e.Digest, state})
		}
	}
	_, errs := p.ObtainEach(ctx, orders)
	for i, err := range errs {
		if err != nil {
			r.Skills[i].State = "failed"
		}
	}
	p.Cache.Flush(ctx)
	return r, world.JoinFindings(errs)
}

// readLocks parses the named locks, or takes the project's own.
func readLocks(p *workspace.Project, files []string) ([]*lockfile.Lock, error) {
	if len(files) == 0 {
		if p.Lock == nil {
			return nil, p.NoLock()
		}
		return []*lockfile.Lock{p.Lock}, nil
	}
	var locks []*lockfile.Lock
	var faults diag.List
	for _, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.Opt.Dir, file)
		}
		data, err := workspace.ReadBounded(file)
		if err != nil {
			faults = append(faults, diag.New(diag.LockCorrupt, "the lock cannot be read").At(p.Display(file), 0, 0).WithCause(err))
			continue
		}
		l, err := lockfile.Parse(data)
		if err != nil {
			faults = append(faults, diag.All(workspace.LockFindings(p.Display(file), err))...)
			continue
		}
		locks = append(locks, l)
	}
	return locks, faults.Err()
}
