package decide

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// solveTime bounds the search itself; time spent on the network does not count.
const solveTime = 10 * time.Second

// ResolveOptions say what may move.
type ResolveOptions struct {
	Unlock    []skill.Key
	UnlockAll bool
	Prefer    []skill.Key
	// Lock is the previous lock; nil means none.
	Lock *lockfile.Lock
	// Consent says yes once to new repositories.
	Consent bool
}

// resolution is a solved manifest.
type resolution struct {
	input    resolver.Input
	solution *resolver.Solution
	universe *Provider
	// newSources are repositories that were agreed to and are not in [trust] yet.
	newSources []string
}

// resolve solves the manifest: ask the solver, load what it lacks, ask again.
func resolve(ctx context.Context, p *world.World, opt ResolveOptions) (*resolution, error) {
	if err := p.LoadRegistries(ctx); err != nil {
		return nil, err
	}
	r := &resolution{universe: NewProvider(p)}
	if err := input(ctx, p, r, opt); err != nil {
		return nil, err
	}
	solution, err := solveAsking(ctx, &r.input, r.universe, r.universe.load, func(need *resolver.NeedConsent) error {
		return askConsent(p.Project, r, need, opt)
	})
	err = r.universe.outcome(err)
	if failure, ok := errors.AsType[*resolver.Failure](err); ok {
		return nil, &SolveError{failure, failureFindings(failure)}
	}
	if err != nil {
		return nil, err
	}
	r.solution = solution
	for _, w := range solution.Warnings {
		p.Opt.Report(diag.Warn(w.Code, "%s", w.Message).WithHint("%s", w.Hint))
	}
	return r, nil
}

// SolveError is a refusal of the solver together with the finding it became.
type SolveError struct {
	failure *resolver.Failure
	err     error
}

func (e *SolveError) Error() string { return e.err.Error() }

// Unwrap returns the finding.
func (e *SolveError) Unwrap() error { return e.err }

// Roots names the project's own requirements that lead to the fault.
func (e *SolveError) Roots() []skill.Key {
	var keys []skill.Key
	for _, path := range append(slices.Clone(e.failure.Why), e.failure.Cycle) {
		if len(path) > 1 && !slices.Contains(keys, skill.Key(path[1].Name)) {
			keys = append(keys, skill.Key(path[1].Name))
		}
	}
	return keys
}

func failureFindings(f *resolver.Failure) error {
	if len(f.Refusals) > 0 {
		return f.Refusals.Err()
	}
	return f.Diag()
}

// askConsent asks for new repositories, or refuses naming them all.
func askConsent(p *workspace.Project, r *resolution, need *resolver.NeedConsent, opt ResolveOptions) error {
	var repos []string
	e := diag.New(diag.SourceNotAllowed, "a dependency comes from a repository that the project has not approved")
	for _, u := range need.List {
		repo := u.Repository
		if src, err := skill.ParseSource(u.Source); err == nil {
			repo = src.Repository()
		}
		if !slices.Contains(repos, repo) {
			repos = append(repos, repo)
		}
		e.WithDetail("%s: `%s`, wanted by %s", repo, u.Name, pathText(u.By))
	}
	e.Data = map[string]any{"repositories": repos}
	e.WithHint("look at the repositories, then say yes once with --resolve-subskills, or list them in skills.toml under [trust] sources")
	agreed := opt.Consent
	if !agreed && p.Opt.Ask != nil {
		agreed = p.Opt.Ask("Dependencies come from " + strings.Join(repos, ", ") + ", which this project has not used before. Contact them?")
	}
	if !agreed {
		return e
	}
	r.universe.p = r.universe.p.With(r.universe.p.Permit.Agree(repos...))
	r.newSources = append(r.newSources, repos...)
	return nil
}

func pathText(path resolver.Path) string {
	names := make([]string, 0, len(path))
	for _, s := range path {
		text := s.Name
		if s.Version != "" {
			text += " " + s.Version
		}
		names = append(names, text)
	}
	return strings.Join(names, " > ")
}

// input turns manifest and lock into the solver's problem.
func input(ctx context.Context, p *world.World, r *resolution, opt ResolveOptions) error {
	r.input = resolver.Input{
		Unlock: opt.Unlock, UnlockAll: opt.UnlockAll, Prefer: opt.Prefer, Offline: p.Opt.Offline,
	}
	u := r.universe
	u.held = opt.held()
	var faults diag.List
	for _, s := range p.Manifest.Skills {
		s.Requirement.Source = opt.lockedPlace(s)
		edge, src, fault, err := rootEdge(ctx, p, s)
		if err != nil {
			return err
		}
		if fault != nil {
			fault.File, fault.Line, fault.Column = p.Manifest.File, s.Line, s.Column
			faults = append(faults, fault)
			continue
		}
		u.rootNames[s.Key] = src
		u.pin(s.Key, s.Requirement.Ref)
		if s.Requirement.Ref != "" {
			u.rootRefs[s.Key] = s.Requirement.Ref
		}
		r.input.Root = append(r.input.Root, edge)
	}
	for _, s := range p.Manifest.Overrides {
		o := resolver.Override{Name: s.Key, Range: s.Requirement.Range, Ref: s.Requirement.Ref, Digest: s.Requirement.Digest}
		if !s.Requirement.Source.IsZero() {
			src, fault, err := p.WithSubpath(ctx, s.Requirement.Source)
			if err != nil {
				return err
			}
			if fault != nil {
				faults = append(faults, fault.At(p.Manifest.File, s.Line, s.Column))
				continue
			}
			o.Source = src.Identity()
		}
		u.pin(s.Key, s.Requirement.Ref)
		r.input.Overrides = append(r.input.Overrides, o)
	}
	if opt.Lock != nil {
		r.input.Lock = lockedEntries(p, opt.Lock, u)
	}
	return faults.Err()
}

// lockedPlace completes a source that names a repository alone by the lock, so
// that what stays locked costs no request; a skill that may move is looked for.
func (opt *ResolveOptions) lockedPlace(s manifest.Skill) skill.Source {
	src := s.Requirement.Source
	if opt.Lock == nil || opt.UnlockAll || src.Kind() != skill.SourceGit || src.HasSubpath() ||
		slices.Contains(opt.Unlock, s.Key) || slices.Contains(opt.Prefer, s.Key) {
		return src
	}
	if e := opt.Lock.Get(string(s.Key)); e != nil {
		if have, ok := workspace.EntrySource(e); ok && have.Kind() == skill.SourceGit && have.Repository() == src.Repository() {
			return src.WithSubpath(have.Subpath())
		}
	}
	return src
}

// rootEdge settles one line of [skills].
func rootEdge(ctx context.Context, p *world.World, s manifest.Skill) (resolver.Edge, skill.Source, *diag.Error, error) {
	req := s.Requirement
	e := resolver.Edge{Name: s.Key, Range: req.Range, Ref: req.Ref, Digest: req.Digest, Delegate: req.Delegate}
	src := req.Source
	if src.IsZero() {
		found, fault, ok := p.FromRegistries(s.Key)
		switch {
		case fault != nil:
			return e, src, fault, nil
		case ok:
			src = found
			e.OrLocked = true
		default:
			if locked := lockedSource(p.Project, s.Key); !locked.IsZero() {
				src = locked
				break
			}
			e.Missing = "`" + string(s.Key) + "` has no source, and no configured registry names it"
			return e, src, nil, nil
		}
	}
	src, fault, err := p.WithSubpath(ctx, src)
	if err != nil || fault != nil {
		return e, src, fault, err
	}
	if src.Kind() == skill.SourcePath {
		if err := world.CheckPathSource(p.Project, src); err != nil {
			return e, src, nil, err
		}
	}
	e.Sources = []string{src.Identity()}
	return e, src, nil, nil
}

func lockedSource(p *workspace.Project, key skill.Key) skill.Source {
	if p.Lock == nil {
		return skill.Source{}
	}
	if e := p.Lock.Get(string(key)); e != nil {
		src, _ := workspace.EntrySource(e)
		return src
	}
	return skill.Source{}
}

// lockedEntries turns the lock into what the solver holds on to. Path skills are
// being edited and are no facts.
func lockedEntries(p *world.World, l *lockfile.Lock, u *Provider) []resolver.Locked {
	var out []resolver.Locked
	asked := refsAsked(l)
	for _, e := range l.Skills {
		src, ok := workspace.EntrySource(e)
		if !ok || e.Source.Type == lockfile.TypePath || !versionHolds(e) {
			continue
		}
		v, _ := skill.ParseVersion(e.Version)
		c := resolver.Candidate{
			Name: skill.Key(e.Key), Source: src.Identity(), Version: v, Commit: e.Source.Commit,
			Retracted: e.Retracted != "", RetractedReason: e.Retracted, Cached: p.Opt.Offline && p.Cache.Has(e.Digest), // two thousand looks that only --offline needs
		}
		u.Remember(c, Candidate{Source: src, Tag: e.Source.Tag, ref: e.Source.Ref, Want: workspace.EntryWant(e)})
		out = append(out, resolver.Locked{Candidate: c, Digest: e.Digest, Edges: lockedEdges(l, e, src, u), Refs: refNames(e, asked[e.Key]), RegistryChanged: registryChanged(p, skill.Key(e.Key), src)})
	}
	return out
}

// registryChanged reports whether the project requires name without a source and
// the registries now give it another one than locked.
func registryChanged(p *world.World, name skill.Key, locked skill.Source) bool {
	s := p.Manifest.Get(string(name))
	if s == nil || !s.Requirement.Source.IsZero() {
		return false
	}
	now, _, ok := p.FromRegistries(name)
	return ok && now.Identity() != locked.Identity()
}

// lockedEdges settles an entry's requirements from the lock itself, the root's
// own entries first.
func lockedEdges(l *lockfile.Lock, e *lockfile.Entry, src skill.Source, u *Provider) []resolver.Edge {
	var edges []resolver.Edge
	for _, name := range workspace.SortedKeys(e.Requires) {
		r, err := skill.ParseRequirement(e.Requires[name], nil)
		if err != nil {
			continue
		}
		edges = append(edges, lockedOne(l, e, src, skill.Key(name), r, u))
	}
	if e.Chain == nil {
		return edges
	}
	seen := map[string]bool{}
	for _, step := range e.Chain.Steps {
		if seen[step] {
			continue
		}
		seen[step] = true
		r := skill.Requirement{Range: "*"}
		if text, ok := e.Requires[step]; ok {
			if parsed, err := skill.ParseRequirement(text, nil); err == nil {
				r = parsed
			}
		}
		edge := lockedOne(l, e, src, skill.Key(step), r, u)
		edge.Chain = true
		edges = append(edges, edge)
	}
	return edges
}

func lockedOne(l *lockfile.Lock, e *lockfile.Entry, src skill.Source, name skill.Key, r skill.Requirement, u *Provider) resolver.Edge {
	edge := resolver.Edge{Name: name, Range: r.Range, Ref: r.Ref, Digest: r.Digest, Delegate: r.Delegate}
	u.pin(name, r.Ref)
	dep := l.Get(string(name))
	switch {
	case !r.Source.IsZero():
		edge.Sources = []string{r.Source.Identity()}
		if dep != nil && !r.Source.HasSubpath() {
			if have, ok := workspace.EntrySource(dep); ok && have.Repository() == r.Source.Repository() {
				edge.Sources = []string{have.Identity()}
			}
		}
		return edge
	case !u.rootNames[name].IsZero():
		edge.Sources, edge.OrRoot = []string{u.rootNames[name].Identity()}, true
		return edge
	case dep == nil:
		edge.Missing = "the lock has no entry for it"
		return edge
	}
	have, ok := workspace.EntrySource(dep)
	if !ok {
		edge.Missing = "its locked source is not readable"
		return edge
	}
	edge.Sources, edge.OrLocked = []string{have.Identity()}, true
	if have.Kind() == skill.SourceGit && have.Repository() == src.Repository() {
		edge.LookedUp = true
		// A sibling without version tags was compared with what stands at e's own
		// commit when both were locked. It may be locked at another one that holds
		// the same, and that is where this edge leads until something moves.
		if v, err := skill.ParseVersion(dep.Version); err == nil && v.IsPseudo() {
			edge.Exact = dep.Source.Commit
		}
	}
	return edge
}
