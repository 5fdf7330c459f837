package decide

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

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
func (u *Provider) load(ctx context.Context, need *resolver.Need) error {
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
	errs := par.Each(ctx, u.p.Opt.Jobs, len(order), func(ctx context.Context, i int) error {
		return u.loadRepository(ctx, byRepo[order[i]])
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, err := range errs {
		if err != nil && u.spare(byRepo[order[i]], err) {
			errs[i] = nil
		}
	}
	return allFindings(errs)
}

// allFindings joins the findings of several errors; one error alone is returned
// as it is.
func allFindings(errs []error) error {
	var list diag.List
	var last error
	failed := 0
	for _, err := range errs {
		if err != nil {
			list, last, failed = append(list, diag.All(err)...), err, failed+1
		}
	}
	if failed <= 1 {
		return last
	}
	return list.Err()
}

func (u *Provider) loadRepository(ctx context.Context, w *work) error {
	switch w.src.Kind() {
	case skill.SourcePath:
		return u.loadPath(ctx, w)
	case skill.SourceIndex:
		return u.loadIndex(ctx, w)
	}
	if err := u.loadVersions(ctx, w); err != nil {
		return err
	}
	if err := u.loadAts(ctx, w); err != nil {
		return err
	}
	if err := u.loadRequirements(ctx, w); err != nil {
		return err
	}
	return u.loadDigests(ctx, w)
}

// loadVersions lists the repository once and answers every Versions of it.
func (u *Provider) loadVersions(ctx context.Context, w *work) error {
	if len(w.versions) == 0 {
		return nil
	}
	refs, err := u.p.Listing(ctx, w.src)
	if world.IsOffline(err) {
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
	var ahead []world.WantedFile
	for i, want := range w.versions {
		src, err := skill.ParseSource(want.Source)
		if err != nil {
			return err
		}
		sources[i] = src
		lists[i] = fetch.Versions(refs, fetch.PlaceOf(src))
		for _, c := range u.ahead(src, lists[i].Candidates) {
			ahead = append(ahead, world.WantedFile{Src: src, Want: c.Want()})
		}
	}
	if err := u.ReadFiles(ctx, w.src, ahead); err != nil && !world.IsOffline(err) {
		return err
	}
	for i, want := range w.versions {
		u.setVersions(want.Name, want.Source, u.versionsOf(want, sources[i], lists[i]))
	}
	return nil
}

// ahead returns the versions to read with a listing. Where the one that a solve
// asks for first is known already, the others wait until a conflict needs them.
func (u *Provider) ahead(src skill.Source, list []fetch.Candidate) []fetch.Candidate {
	first := world.ReadAhead(u.p.Project, list)
	if len(first) > 1 && u.p.MinAge() == 0 && u.p.Fact(src.Repository(), first[0].Commit, src.Subpath()).Text != nil {
		return first[:1]
	}
	return first
}

func (u *Provider) versionsOf(want resolver.Wanted, src skill.Source, list fetch.VersionList) resolver.Versions {
	v := resolver.Versions{State: resolver.Loaded, Untagged: list.Class == fetch.ClassNone}
	retracted := u.Retractions(want, src, list.Candidates)
	for _, c := range list.Candidates {
		rc := resolver.Candidate{Name: want.Name, Source: want.Source, Version: c.Version, Commit: string(c.Commit)}
		if len(c.Conflicts) > 0 {
			rc.Refusal = ambiguous(src.Repository(), c)
		}
		if reason, ok := retracted(c.Version); ok {
			rc.Retracted, rc.RetractedReason = true, reason
		}
		rc.Hidden = u.p.TooYoung(src, c)
		rc.Cached = u.p.AtHand(src, c.Commit)
		v.List = append(v.List, rc)
		u.Remember(rc, Candidate{Source: src, Tag: c.Tag, Want: c.Want()})
	}
	return v
}

// Retractions reads what the highest stable version, or a registry, withdraws.
func (u *Provider) Retractions(want resolver.Wanted, src skill.Source, list []fetch.Candidate) func(skill.Version) (string, bool) {
	var ranges []parse.Retraction
	for _, c := range list {
		if c.Version.Prerelease() != "" {
			continue
		}
		if f, ok := u.File(src, c.Commit); ok && f.Parsed != nil && f.Parsed.Retract != nil {
			ranges = append(ranges, *f.Parsed.Retract)
		}
		break
	}
	if r, ok := u.p.RegistryRetractions(want.Name, src); ok {
		ranges = append(ranges, r)
	}
	return world.Withdrawn(ranges)
}

// loadAt answers one At: the pseudo-version of a branch, tag or commit.
func (u *Provider) loadAt(ctx context.Context, want resolver.Wanted) error {
	src, err := skill.ParseSource(want.Source)
	if err != nil {
		return err
	}
	c, known, err := AtRef(ctx, u.p, src, want.Name, want.Ref, u.isPinned(want.Name, want.Ref))
	switch {
	case world.IsOffline(err):
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
	c.Cached = u.p.Opt.Offline && u.p.AtHand(src, known.Want.Commit)
	u.Remember(c, known)
	u.setAt(want.Name, want.Source, want.Ref, atAnswer{c, resolver.Loaded, known.ref})
	return nil
}

// AtRef reads what src holds at ref: a candidate with a pseudo-version. If it is
// the same as at the locked commit, that one is kept, so that a branch that moved
// elsewhere in the repository changes nothing. pinned says that ref was asked
// for by that name: a commit then means itself.
func AtRef(ctx context.Context, p *world.World, src skill.Source, name skill.Key, ref string, pinned bool) (resolver.Candidate, Candidate, error) {
	resolved, err := resolveAt(ctx, p, src, ref)
	if err != nil {
		return resolver.Candidate{}, Candidate{}, err
	}
	want := resolved.Want()
	fact, err := p.SkillAt(ctx, src, want)
	if diag.CodeOf(err) == diag.CommitGone && resolved.Ref == "" { // asked for by its id, it was never seen here
		err = diag.New(diag.RefNotFound, "no commit %s in %s", ref, src.Repository()).WithCause(err)
	}
	if err != nil {
		return resolver.Candidate{}, Candidate{}, err
	}
	if !pinned || resolved.Ref != "" {
		kept, err := sameAsLocked(ctx, p, src, name, fact.Tree, resolved)
		if err != nil {
			return resolver.Candidate{}, Candidate{}, err
		}
		if kept != nil {
			v, _ := skill.ParseVersion(kept.Version)
			c := resolver.Candidate{Version: v, Commit: kept.Source.Commit}
			return c, Candidate{Source: src, ref: resolved.Ref, Want: workspace.EntryWant(kept)}, nil
		}
	}
	c := resolver.Candidate{Version: skill.PseudoVersion(fact.Time, string(resolved.Commit)), Commit: string(resolved.Commit)}
	return c, Candidate{Source: src, ref: resolved.Ref, Want: want}, nil
}

// sameAsLocked returns the locked entry of name if what stands at the resolved
// commit cannot be told from it: the same directory, asked for in the same way,
// and beside it the same untagged siblings as far as it leads to any. These come
// from its own commit, so that an entry kept at an older one would hold them back.
func sameAsLocked(ctx context.Context, p *world.World, src skill.Source, name skill.Key, tree fetch.ID, at fetch.Resolved) (*lockfile.Entry, error) {
	e := lockedSame(p.Project, name, src)
	if e == nil || e.Source.Tree != string(tree) || e.Source.Ref != at.Ref || e.Source.Tag != "" || !versionHolds(e) {
		return nil, nil
	}
	if e.Source.Commit == string(at.Commit) {
		return e, nil
	}
	for _, s := range lockedSiblings(p.Project, e, src) {
		fact, err := p.SkillAt(ctx, workspace.MustSource(s), at.Want())
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
func lockedSiblings(p *workspace.Project, e *lockfile.Entry, src skill.Source) []*lockfile.Entry {
	var out []*lockfile.Entry
	seen := map[string]bool{e.Key: true}
	for queue := e.Dependencies; len(queue) > 0; queue = queue[1:] {
		key := queue[0]
		if seen[key] {
			continue
		}
		seen[key] = true
		dep := p.Lock.Get(key)
		if dep == nil || p.Manifest.Get(key) != nil || dep.Source.Tag != "" {
			continue
		}
		if have, ok := workspace.EntrySource(dep); !ok || have.Kind() != skill.SourceGit || have.Repository() != src.Repository() {
			continue
		}
		out = append(out, dep)
		queue = append(queue, dep.Dependencies...)
	}
	return out
}

// File returns the SKILL.md that was read ahead of a skill at a commit.
func (u *Provider) File(src skill.Source, commit fetch.ID) (world.SkillFile, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f, ok := u.files[world.FactKey(src.Repository(), commit, src.Subpath())]
	return f, ok
}

func (u *Provider) setFile(src skill.Source, commit fetch.ID, f world.SkillFile) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.files[world.FactKey(src.Repository(), commit, src.Subpath())] = f
}

// ReadFiles reads the SKILL.md files that are not known yet, one opening of the
// repository for all. A place without a skill is no error: its file says so.
func (u *Provider) ReadFiles(ctx context.Context, repo skill.Source, list []world.WantedFile) error {
	var missing []world.WantedFile
	for _, w := range list {
		if _, ok := u.File(w.Src, w.Want.Commit); ok {
			continue
		}
		if fact := u.p.Fact(w.Src.Repository(), w.Want.Commit, w.Src.Subpath()); fact.Known() {
			u.setFile(w.Src, w.Want.Commit, world.ReadSkill(fact, w.Src, fact.Missing(w.Src)))
			continue
		}
		missing = append(missing, w)
	}
	if len(missing) == 0 {
		return nil
	}
	facts, errs, err := u.p.ReadSkillFiles(ctx, repo, missing)
	if err != nil {
		return err
	}
	for i, w := range missing {
		u.setFile(w.Src, w.Want.Commit, world.ReadSkill(facts[i], w.Src, errs[i]))
	}
	return nil
}

// loadRequirements answers Requirements: SKILL.md files in one batch, then each
// requirement is settled.
func (u *Provider) loadRequirements(ctx context.Context, w *work) error {
	var list []world.WantedFile
	var cands []*Candidate
	for _, want := range w.reqs {
		k := u.Candidate(want.Candidate)
		if k == nil {
			return diag.New(diag.Internal, "the solver asked for a version of `%s` that was never listed", want.Name)
		}
		cands = append(cands, k)
		list = append(list, world.WantedFile{Src: k.Source, Want: k.Want})
	}
	if err := u.ReadFiles(ctx, w.src, list); err != nil {
		if !world.IsOffline(err) {
			return err
		}
		for _, want := range w.reqs {
			u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Unavailable})
		}
		return nil
	}
	for i, want := range w.reqs {
		f, _ := u.File(list[i].Src, list[i].Want.Commit)
		if f.Fault != nil {
			u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Loaded, Unreadable: f.Fault.Error()})
			continue
		}
		edges, steps, err := u.locate(ctx, world.Parent{Key: want.Candidate.Name, Src: list[i].Src, Want: list[i].Want, Skill: f.Parsed})
		if err != nil {
			return err
		}
		u.mu.Lock()
		cands[i].parsed, cands[i].chain = f.Parsed, steps
		u.mu.Unlock()
		u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Loaded, Edges: edges})
	}
	return nil
}

// loadPath answers everything about one path skill.
func (u *Provider) loadPath(ctx context.Context, w *work) error {
	for _, want := range append(w.versions, w.at...) {
		f, err := world.ReadPathSkill(u.p.Project, w.src)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			if u.rootNames[want.Name].Identity() == w.src.Identity() {
				return err
			}
		}
		if err != nil {
			u.setVersions(want.Name, want.Source, resolver.Versions{State: resolver.Loaded, NotFound: err.Error()})
			u.setAt(want.Name, want.Source, want.Ref, atAnswer{state: resolver.Loaded})
			continue
		}
		if f.Fault != nil {
			return f.Fault
		}
		c := resolver.Candidate{Name: want.Name, Source: want.Source, Local: true, Version: f.Parsed.Version}
		known := u.Remember(c, Candidate{Source: w.src})
		edges, steps, err := u.locate(ctx, world.Parent{Key: want.Name, Src: w.src, Skill: f.Parsed})
		if err != nil {
			return err
		}
		u.mu.Lock()
		known.parsed, known.chain = f.Parsed, steps
		u.mu.Unlock()
		u.setVersions(want.Name, want.Source, resolver.Versions{State: resolver.Loaded, List: []resolver.Candidate{c}})
		u.setRequirements(c, resolver.Requirements{State: resolver.Loaded, Edges: edges})
		u.setDigest(c, digestAnswer{state: resolver.Loaded})
		for _, note := range f.Notes {
			u.p.Opt.Report(note)
		}
	}
	return nil
}

// loadDigests answers Digests by bringing the candidates into the store.
func (u *Provider) loadDigests(ctx context.Context, w *work) error {
	for _, want := range w.digests {
		k := u.Candidate(want.Candidate)
		if k == nil {
			u.setDigest(want.Candidate, digestAnswer{state: resolver.Unavailable})
			continue
		}
		got, err := u.p.Obtain(ctx, []world.Request{{Key: want.Name, Src: k.Source, Want: k.Want}})
		switch {
		case world.IsOffline(err):
			u.setDigest(want.Candidate, digestAnswer{state: resolver.Unavailable})
		case err != nil:
			return err
		default:
			u.setDigest(want.Candidate, digestAnswer{got[0].Digest, resolver.Loaded})
		}
	}
	return nil
}
