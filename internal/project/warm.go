package project

import (
	"context"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
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
func (p *Project) Fetch(ctx context.Context, files []string) (*FetchResult, error) {
	locks, err := p.readLocks(files)
	if err != nil {
		return nil, err
	}
	r := &FetchResult{Locks: len(locks), Skills: []FetchedSkill{}}
	var orders []order
	seen := map[skill.Digest]bool{}
	p = p.with(p.permit.nameRoots(locks...))
	for _, l := range locks {
		for _, e := range l.Skills {
			if e.Source.Type == lockfile.TypePath || seen[e.Digest] {
				continue
			}
			seen[e.Digest] = true
			o, ok := wantOf(e)
			if !ok {
				return nil, diag.New(diag.LockCorrupt, "the source of `%s` is not readable", e.Key)
			}
			o.independent = true
			state := "fetched"
			if _, have := p.fromStore(o); have {
				state = "present"
			}
			orders = append(orders, o)
			r.Skills = append(r.Skills, FetchedSkill{e.Key, e.Version, e.Digest, state})
		}
	}
	_, errs := p.obtainEach(ctx, orders)
	for i, err := range errs {
		if err != nil {
			r.Skills[i].State = "failed"
		}
	}
	p.cache.Flush(ctx)
	return r, joinFindings(errs)
}

// readLocks parses the named locks, or takes the project's own.
func (p *Project) readLocks(files []string) ([]*lockfile.Lock, error) {
	if len(files) == 0 {
		if p.lock == nil {
			return nil, p.noLock()
		}
		return []*lockfile.Lock{p.lock}, nil
	}
	var locks []*lockfile.Lock
	var faults diag.List
	for _, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.opt.Dir, file)
		}
		data, err := readBounded(file)
		if err != nil {
			faults = append(faults, diag.New(diag.LockCorrupt, "the lock cannot be read").At(p.display(file), 0, 0).WithCause(err))
			continue
		}
		l, err := lockfile.Parse(data)
		if err != nil {
			faults = append(faults, diag.All(lockFindings(p.display(file), err))...)
			continue
		}
		locks = append(locks, l)
	}
	return locks, faults.Err()
}

// nameRoots returns p with what the roots of locks require as named by the user,
// who handed the locks over. Hosts that only dependencies bring stay unnamed, as
// with a manifest.
func (p permit) nameRoots(locks ...*lockfile.Lock) permit {
	for _, l := range locks {
		for _, text := range l.Root.Requires {
			if r, err := skill.ParseRequirement(text, nil); err == nil && !r.Source.IsZero() {
				p = p.name(r.Source)
			}
		}
	}
	return p
}
