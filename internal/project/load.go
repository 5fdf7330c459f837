package project

import (
	"context"
	"errors"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// readAhead is how many of the newest versions' SKILL.md come with a listing:
// more are read only when a conflict asks for them.
const readAhead = 8

// work is what one repository has to load.
type work struct {
	src      skill.Source
	versions []resolver.Wanted
	at       []resolver.Wanted
	reqs     []resolver.Wanted
	digests  []resolver.Wanted
}

// load answers a Need: all repositories in parallel, one after the other inside
// a repository. What comes back first cannot matter, since the solver runs anew
// over all of it.
func (u *universe) load(ctx context.Context, need *resolver.Need) error {
	byRepo := map[string]*work{}
	var order []string
	add := func(list []resolver.Wanted, into func(*work) *[]resolver.Wanted) error {
		for _, w := range list {
			text := w.Source
			if text == "" {
				text = w.Candidate.Source
			}
			src, err := skill.ParseSource(text)
			if err != nil {
				return err
			}
			id := src.Repository()
			if byRepo[id] == nil {
				byRepo[id] = &work{src: src}
				order = append(order, id)
			}
			slot := into(byRepo[id])
			*slot = append(*slot, w)
		}
		return nil
	}
	err := errors.Join(
		add(need.Versions, func(w *work) *[]resolver.Wanted { return &w.versions }),
		add(need.At, func(w *work) *[]resolver.Wanted { return &w.at }),
		add(need.Requirements, func(w *work) *[]resolver.Wanted { return &w.reqs }),
		add(need.Digests, func(w *work) *[]resolver.Wanted { return &w.digests }),
	)
	if err != nil {
		return err
	}
	slices.Sort(order)
	return par.Do(ctx, u.p.opt.Jobs, len(order), func(ctx context.Context, i int) error {
		return u.loadRepository(ctx, byRepo[order[i]])
	})
}

func (u *universe) loadRepository(ctx context.Context, w *work) error {
	switch w.src.Kind() {
	case skill.SourcePath:
		return u.loadPath(ctx, w)
	case skill.SourceIndex:
		return u.loadIndex(ctx, w)
	}
	if err := u.loadVersions(ctx, w); err != nil {
		return err
	}
	for _, want := range w.at {
		if err := u.loadAt(ctx, want); err != nil {
			return err
		}
	}
	if err := u.loadRequirements(ctx, w); err != nil {
		return err
	}
	return u.loadDigests(ctx, w)
}

// isOffline reports whether err only says that something is not at hand.
func isOffline(err error) bool { return diag.CodeOf(err) == diag.FetchOffline }

// loadVersions lists the repository once and answers every Versions of it.
func (u *universe) loadVersions(ctx context.Context, w *work) error {
	if len(w.versions) == 0 {
		return nil
	}
	refs, err := u.p.listing(ctx, w.src)
	if isOffline(err) {
		for _, want := range w.versions {
			u.setVersions(want.Name, want.Source, resolver.Versions{State: resolver.Unavailable})
		}
		return nil
	}
	if err != nil {
		return err
	}
	lists := make([]fetch.VersionList, len(w.versions))
	sources := make([]skill.Source, len(w.versions))
	var ahead []wantedFile
	for i, want := range w.versions {
		src, err := skill.ParseSource(want.Source)
		if err != nil {
			return err
		}
		sources[i] = src
		lists[i] = fetch.Versions(refs, fetch.PlaceOf(src))
		for _, c := range u.p.readAhead(lists[i].Candidates) {
			ahead = append(ahead, wantedFile{src: src, want: c.Want()})
		}
	}
	if err := u.readFiles(ctx, w.src, ahead); err != nil && !isOffline(err) {
		return err
	}
	for i, want := range w.versions {
		u.setVersions(want.Name, want.Source, u.versionsOf(want, sources[i], lists[i]))
	}
	return nil
}

// firstVersions returns the candidates that a solve will most likely ask for:
// the newest stable ones, or the newest of all where none is stable.
func firstVersions(list []fetch.Candidate) []fetch.Candidate {
	var out []fetch.Candidate
	for _, c := range list {
		if c.Version.Prerelease() == "" && len(out) < readAhead {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = list[:min(len(list), readAhead)]
	}
	return out
}

func (u *universe) versionsOf(want resolver.Wanted, src skill.Source, list fetch.VersionList) resolver.Versions {
	v := resolver.Versions{State: resolver.Loaded, Untagged: list.Class == fetch.ClassNone}
	retracted := u.retractions(want, src, list.Candidates)
	for _, c := range list.Candidates {
		rc := resolver.Candidate{Name: want.Name, Source: want.Source, Version: c.Version, Commit: string(c.Commit)}
		if len(c.Conflicts) > 0 {
			rc.Refusal = ambiguous(src.Repository(), c)
		}
		if reason, ok := retracted(c.Version); ok {
			rc.Retracted, rc.RetractedReason = true, reason
		}
		rc.Hidden = u.p.tooYoung(src, c)
		rc.Cached = u.p.atHand(src, c.Commit)
		v.List = append(v.List, rc)
		u.remember(rc, candidate{source: src, tag: c.Tag, want: c.Want()})
	}
	return v
}

// retractions reads what the highest stable version, or a registry, withdraws.
func (u *universe) retractions(want resolver.Wanted, src skill.Source, list []fetch.Candidate) func(skill.Version) (string, bool) {
	var ranges []parse.Retraction
	for _, c := range list {
		if c.Version.Prerelease() != "" {
			continue
		}
		if f, ok := u.file(src, c.Commit); ok && f.parsed != nil && f.parsed.Retract != nil {
			ranges = append(ranges, *f.parsed.Retract)
		}
		break
	}
	if r, ok := u.p.registryRetractions(want.Name, src); ok {
		ranges = append(ranges, r)
	}
	return func(v skill.Version) (string, bool) {
		for _, r := range ranges {
			for _, rng := range r.Ranges {
				if resolver.Match(rng, v) {
					return r.Reason, true
				}
			}
		}
		return "", false
	}
}

// loadAt answers one At: the pseudo-version of a branch, tag or commit.
func (u *universe) loadAt(ctx context.Context, want resolver.Wanted) error {
	src, err := skill.ParseSource(want.Source)
	if err != nil {
		return err
	}
	c, known, err := u.p.at(ctx, src, want.Name, want.Ref, u.isPinned(want.Name, want.Ref))
	switch {
	case isOffline(err):
		u.setAt(want.Name, want.Source, want.Ref, atAnswer{state: resolver.Unavailable})
		return nil
	case diag.CodeOf(err) == diag.RefNotFound || diag.CodeOf(err) == diag.SkillNotFound:
		if u.rootRefs[want.Name] == want.Ref { // the user's own words: the fault itself, not a proof
			return err
		}
		u.setAt(want.Name, want.Source, want.Ref, atAnswer{state: resolver.Loaded})
		return nil
	case err != nil:
		return err
	}
	c.Name, c.Source = want.Name, want.Source
	c.Cached = u.p.opt.Offline && u.p.atHand(src, known.want.Commit)
	u.remember(c, known)
	u.setAt(want.Name, want.Source, want.Ref, atAnswer{c, resolver.Loaded, known.ref})
	return nil
}

// at reads what src holds at ref: a candidate with a pseudo-version. If it is
// the same as at the locked commit, that one is kept, so that a branch that moved
// elsewhere in the repository changes nothing. pinned says that ref was asked
// for by that name: a commit then means itself.
func (p *Project) at(ctx context.Context, src skill.Source, name skill.Key, ref string, pinned bool) (resolver.Candidate, candidate, error) {
	var refs *fetch.Refs
	if fetch.RefPrefixes(ref) != nil {
		var err error
		if refs, err = p.listing(ctx, src); err != nil {
			return resolver.Candidate{}, candidate{}, err
		}
	}
	resolved, err := fetch.ResolveRef(refs, src, ref)
	if err != nil {
		return resolver.Candidate{}, candidate{}, err
	}
	want := resolved.Want()
	fact, err := p.skillAt(ctx, src, want)
	if diag.CodeOf(err) == diag.CommitGone && resolved.Ref == "" { // asked for by its id, it was never seen here
		err = diag.New(diag.RefNotFound, "no commit %s in %s", ref, src.Repository()).WithCause(err)
	}
	if err != nil {
		return resolver.Candidate{}, candidate{}, err
	}
	if !pinned || resolved.Ref != "" {
		kept, err := p.sameAsLocked(ctx, src, name, fact.Tree, resolved)
		if err != nil {
			return resolver.Candidate{}, candidate{}, err
		}
		if kept != nil {
			v, _ := skill.ParseVersion(kept.Version)
			c := resolver.Candidate{Version: v, Commit: kept.Source.Commit}
			return c, candidate{source: src, ref: resolved.Ref, want: entryWant(kept)}, nil
		}
	}
	c := resolver.Candidate{Version: skill.PseudoVersion(fact.Time, string(resolved.Commit)), Commit: string(resolved.Commit)}
	return c, candidate{source: src, ref: resolved.Ref, want: want}, nil
}

// sameAsLocked returns the locked entry of name if what stands at the resolved
// commit cannot be told from it: the same directory, asked for in the same way,
// and beside it the same untagged siblings as far as it leads to any. These come
// from its own commit, so that an entry kept at an older one would hold them back.
func (p *Project) sameAsLocked(ctx context.Context, src skill.Source, name skill.Key, tree fetch.ID, at fetch.Resolved) (*lockfile.Entry, error) {
	e := p.lockedSame(name, src)
	if e == nil || e.Source.Tree != string(tree) || e.Source.Ref != at.Ref || e.Source.Tag != "" || !versionHolds(e) {
		return nil, nil
	}
	if e.Source.Commit == string(at.Commit) {
		return e, nil
	}
	for _, s := range p.lockedSiblings(e, src) {
		fact, err := p.skillAt(ctx, mustSource(s), at.Want())
		if diag.CodeOf(err) == diag.SkillNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if string(fact.Tree) != s.Source.Tree {
			return nil, nil
		}
	}
	return e, nil
}

// lockedSiblings returns the entries without version tags that e leads to inside
// its own repository and that the project does not ask for itself.
func (p *Project) lockedSiblings(e *lockfile.Entry, src skill.Source) []*lockfile.Entry {
	var out []*lockfile.Entry
	seen := map[string]bool{e.Key: true}
	for queue := e.Dependencies; len(queue) > 0; queue = queue[1:] {
		key := queue[0]
		if seen[key] {
			continue
		}
		seen[key] = true
		dep := p.lock.Get(key)
		if dep == nil || p.manifest.Get(key) != nil || dep.Source.Tag != "" {
			continue
		}
		if have, ok := entrySource(dep); !ok || have.Kind() != skill.SourceGit || have.Repository() != src.Repository() {
			continue
		}
		out = append(out, dep)
		queue = append(queue, dep.Dependencies...)
	}
	return out
}
