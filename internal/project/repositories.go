package project

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/skill"
)

// The buckets of the index. Each value can be found out again.
const (
	bucketHosts    = "hosts"    // what servers can do
	bucketRefs     = "refs"     // repository → listing with its time
	bucketSkills   = "skills"   // repository, commit, path → skillFact
	bucketSeen     = "seen"     // repository, tag, commit → first seen
	bucketVerdicts = "verdicts" // signing.CacheKey → verdict
	bucketJudged   = "judged"   // policies and lock → nothing refused until
)

// repositories hands out listings and snapshots, each repository opened once a
// run. It is safe for concurrent use.
type repositories struct {
	p    *Project
	mu   sync.Mutex
	git  *git.Source
	src  fetch.Source
	err  error
	open map[string]*repository
	// listed says that a listing came over the network in this run.
	listed bool
}

// repository is one git repository of this run.
type repository struct {
	source skill.Source // spelling to fetch with
	mu     sync.Mutex
	refs   *fetch.Refs
	failed error // why the listing failed, for the rest of the run
	snaps  map[fetch.ID]fetch.Snapshot
	all    []fetch.Snapshot
}

func newRepositories(p *Project) *repositories {
	return &repositories{p: p, open: map[string]*repository{}}
}

// get returns the repository of src, with the spelling the project chose.
func (r *repositories) get(src skill.Source) *repository {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := src.Repository()
	repo, ok := r.open[id]
	if !ok {
		repo = &repository{source: r.p.spelling(src), snaps: map[fetch.ID]fetch.Snapshot{}}
		r.open[id] = repo
	}
	return repo
}

// source returns the fetch.Source, made at first use so that runs that need no
// network open nothing.
func (r *repositories) source() (fetch.Source, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.src != nil || r.err != nil {
		return r.src, r.err
	}
	if r.p.opt.Offline {
		r.src = fetch.NewOffline()
		return r.src, nil
	}
	if _, r.err = r.gitLocked(); r.err != nil {
		return nil, r.err
	}
	src := fetch.NewRetry(r.git, fetch.RetryOptions{Announce: r.p.opt.Announce})
	if r.p.opt.Fetched != nil {
		src = fetch.NewLog(src, r.p.opt.Fetched)
	}
	r.src = src
	return r.src, nil
}

// httpClient returns a client for indexes and registries, guarded as git's own
// connections are.
func (r *repositories) httpClient() (*http.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	source, err := r.gitLocked()
	if err != nil {
		return nil, err
	}
	return source.HTTPClient()
}

func (r *repositories) gitLocked() (*git.Source, error) {
	if r.git != nil {
		return r.git, nil
	}
	var err error
	r.git, err = git.New(git.Options{
		Named:    r.p.namedHost,
		CLI:      git.CLI(r.p.config.Git.CLI),
		Environ:  r.p.opt.Environ,
		Notify:   r.p.opt.Report,
		Home:     r.p.opt.Home,
		Facts:    hostFacts{r.p},
		Progress: r.p.opt.Progress,
	})
	return r.git, err
}

func (r *repositories) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, repo := range r.open {
		for _, s := range repo.all {
			_ = s.Close() // read-only: nothing can be lost
		}
		repo.all, repo.snaps = nil, map[fetch.ID]fetch.Snapshot{}
	}
	if r.git != nil {
		_ = r.git.Close()
	}
}

// listing lists the branches and tags of src once a run. Offline the last
// listing of an earlier run serves.
func (r *repositories) listing(ctx context.Context, src skill.Source) (*fetch.Refs, error) {
	repo := r.get(src)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	if repo.refs != nil || repo.failed != nil {
		return repo.refs, repo.failed
	}
	if r.p.opt.Offline {
		if refs, ok := r.cachedListing(src); ok {
			repo.refs = refs
			return refs, nil
		}
		if refs, ok := r.p.mirrorListing(ctx, src); ok {
			repo.refs = refs
			return refs, nil
		}
	}
	source, err := r.source()
	if err != nil {
		return nil, err
	}
	refs, err := source.Refs(ctx, repo.source, "HEAD", "refs/heads/", "refs/tags/")
	if err != nil {
		if refs, ok := r.p.mirrorListing(ctx, src); ok {
			repo.refs = refs
			return refs, nil
		}
		err = meantPath(src, err)
		if ctx.Err() == nil { // retried already: the next skill of it would wait as long again
			repo.failed = err
		}
		return nil, err
	}
	repo.refs = refs
	r.remember(src, refs)
	return refs, nil
}

// listAll lists the repositories of entries in parallel, for callers that look at
// one after the other then. Failures are kept and met there.
func (p *Project) listAll(ctx context.Context, entries []*lockEntry) {
	var sources []skill.Source
	seen := map[string]bool{}
	for _, e := range entries {
		src, ok := entrySource(e)
		if !ok || src.Kind() != skill.SourceGit || seen[src.Repository()] {
			continue
		}
		seen[src.Repository()] = true
		sources = append(sources, src)
	}
	par.Each(ctx, p.opt.Jobs, len(sources), func(ctx context.Context, i int) error {
		_, err := p.repos.listing(ctx, sources[i])
		return err
	})
}

// cachedRefs is a listing in the index.
type cachedRefs struct {
	Time time.Time   `json:"time"`
	Refs *fetch.Refs `json:"refs"`
}

func (r *repositories) cachedListing(src skill.Source) (*fetch.Refs, bool) {
	data, ok := r.p.cache.Get(bucketRefs, src.Repository())
	if !ok {
		return nil, false
	}
	var c cachedRefs
	if json.Unmarshal(data, &c) != nil || c.Refs == nil {
		return nil, false
	}
	return c.Refs, true
}

// learnt reports whether a repository was listed over the network.
func (r *repositories) learnt() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed
}

func (r *repositories) remember(src skill.Source, refs *fetch.Refs) {
	r.mu.Lock()
	r.listed = true
	r.mu.Unlock()
	if data, err := json.Marshal(cachedRefs{r.p.opt.Now().UTC(), refs}); err == nil {
		r.p.cache.Put(bucketRefs, src.Repository(), data)
	}
}

// snapshots opens what is not open yet of wants, in one call, and returns one
// snapshot a want, in their order.
func (r *repositories) snapshots(ctx context.Context, src skill.Source, wants []fetch.Want) ([]fetch.Snapshot, error) {
	repo := r.get(src)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	var missing []fetch.Want
	asked := map[fetch.ID]bool{}
	for _, w := range wants {
		if repo.snaps[w.Commit] == nil && !asked[w.Commit] {
			asked[w.Commit] = true
			missing = append(missing, w)
		}
	}
	if len(missing) > 0 {
		source, err := r.source()
		if err != nil {
			return nil, err
		}
		snap, err := source.Open(ctx, repo.source, missing)
		if err != nil {
			return nil, err
		}
		repo.all = append(repo.all, snap)
		for _, w := range missing {
			repo.snaps[w.Commit] = snap
		}
	}
	out := make([]fetch.Snapshot, len(wants))
	for i, w := range wants {
		out[i] = repo.snaps[w.Commit]
	}
	return out, nil
}

// snapshot is snapshots for one want.
func (r *repositories) snapshot(ctx context.Context, src skill.Source, want fetch.Want) (fetch.Snapshot, error) {
	snaps, err := r.snapshots(ctx, src, []fetch.Want{want})
	if err != nil {
		return nil, err
	}
	return snaps[0], nil
}

// hostFacts keeps what servers can do in the index.
type hostFacts struct{ p *Project }

func (h hostFacts) Get(key string) (string, bool) {
	v, ok := h.p.cache.Get(bucketHosts, key)
	return string(v), ok
}

func (h hostFacts) Put(key, value string) { h.p.cache.Put(bucketHosts, key, []byte(value)) }

// spelling returns how to fetch src's repository: as skills.toml spells it
// first, else as the lock does, else as src itself does.
func (p *Project) spelling(src skill.Source) skill.Source {
	id := src.Repository()
	for _, s := range p.manifest.Skills {
		if have := s.Requirement.Source; have.Kind() == skill.SourceGit && have.Repository() == id {
			return have
		}
	}
	if p.lock != nil {
		for _, e := range p.lock.Skills {
			if have, ok := entrySource(e); ok && have.Kind() == skill.SourceGit && have.Repository() == id {
				return have
			}
		}
	}
	return src
}

// namedHost reports whether the user named host in skills.toml, in a trust or
// configuration file of their own, or on the command line.
func (p *Project) namedHost(host string) bool {
	if p.argHosts[host] {
		return true
	}
	for _, list := range [][]manifestSkill{p.manifest.Skills, p.manifest.Overrides} {
		for _, s := range list {
			if s.Requirement.Source.Host() == host {
				return true
			}
		}
	}
	for _, r := range p.config.Registries {
		if u, err := url.Parse(r.Address); err == nil && u.Host == host {
			return true
		}
	}
	for _, glob := range p.manifest.Trust.Sources {
		if _, after, ok := strings.Cut(glob, "://"); ok {
			glob = after
		}
		if first, _, _ := strings.Cut(glob, "/"); first == host {
			return true
		}
	}
	return false
}

// approved reports whether src's repository may be contacted: it is named in
// skills.toml, in the lock, on the command line, in `[trust] sources`, or was
// agreed to in this run.
func (p *Project) approved(src skill.Source) bool {
	if src.Kind() == skill.SourcePath {
		return true
	}
	id := src.Repository()
	if p.consent[id] || p.policies.SourceApproved(src) {
		return true
	}
	for _, list := range [][]manifestSkill{p.manifest.Skills, p.manifest.Overrides} {
		for _, s := range list {
			if s.Requirement.Source.Repository() == id && !s.Requirement.Source.IsZero() {
				return true
			}
		}
	}
	if p.lock == nil {
		return false
	}
	for _, e := range p.lock.Skills {
		if have, ok := entrySource(e); ok && have.Repository() == id {
			return true
		}
	}
	return false
}
