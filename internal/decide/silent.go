package decide

import (
	"errors"
	"maps"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// When what is locked cannot stay as it is, the solver asks for other versions
// of everything, also in repositories that have no part in the fault. One of
// them that does not answer must not hide that fault, so the solver goes on with
// what is locked from there.

// held are the locked names that this run is not to move.
func (opt *ResolveOptions) held() map[skill.Key]bool {
	names := map[skill.Key]bool{}
	if opt.Lock == nil || opt.UnlockAll {
		return names
	}
	for _, e := range opt.Lock.Skills {
		key := skill.Key(e.Key)
		names[key] = !slices.Contains(opt.Unlock, key) && !slices.Contains(opt.Prefer, key)
	}
	return names
}

// spare reports whether the solver can go on without a repository that failed
// with err: nothing but other versions of held skills was asked of it.
func (u *Provider) spare(w *work, err error) bool {
	asked := append(slices.Clone(w.versions), w.at...)
	if diag.Exit(err) != 1 || len(w.reqs)+len(w.digests) > 0 || slices.ContainsFunc(asked, func(a resolver.Wanted) bool { return !u.held[a.Name] }) {
		return false
	}
	for _, a := range w.versions {
		u.setVersions(a.Name, a.Source, resolver.Versions{State: resolver.Unavailable})
	}
	for _, a := range w.at {
		u.setAt(a.Name, a.Source, a.Ref, atAnswer{state: resolver.Unavailable})
	}
	for _, a := range asked {
		u.silent[a.Name] = err
	}
	return true
}

// outcome is what solving ended with, unless that rests on what a silent
// repository was asked for: then it is the silence.
func (u *Provider) outcome(err error) error {
	failure, failed := errors.AsType[*resolver.Failure](err)
	if err != nil && !failed {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(u.silent)) {
		if silence := u.silent[name]; (!failed || atFault(failure, name)) && !slices.Contains(errs, silence) {
			errs = append(errs, silence)
		}
	}
	if len(errs) == 0 {
		return err
	}
	return allFindings(errs)
}

// atFault reports whether a skill is part of a failure.
func atFault(f *resolver.Failure, name skill.Key) bool {
	return slices.Contains(f.Culprits, name) || slices.ContainsFunc(append(slices.Clone(f.Why), f.Cycle), func(path resolver.Path) bool {
		return slices.ContainsFunc(path, func(s resolver.Step) bool { return s.Name == string(name) })
	})
}
