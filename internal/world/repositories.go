package world

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/skill"
)

// The buckets of the index. Each value can be found out again.
const (
	bucketHosts     = "hosts"     // what servers can do
	bucketRefs      = "refs"      // repository → listing with its time
	BucketSkills    = "skills"    // repository, commit, path → skillFact
	bucketSeen      = "seen"      // repository, tag, commit → first seen
	BucketVerdicts  = "verdicts"  // signing.CacheKey → verdict
	bucketRetracted = "retracted" // repository, path, version → retraction
	BucketJudged    = "judged"    // policies and lock → nothing refused until
)

// repositories are the git repositories of one run, each opened once. It is safe
// for concurrent use.
type repositories struct {
	opt   workspace.Options
	cli   git.CLI
	cache *cache.Cache
	mu    sync.Mutex
	git   *git.Source
	src   fetch.Source
	err   error
	open  map[string]*repository
	// permit says which hosts the last request's permit names.
	permit func(host string) bool
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

func newRepositories(opt workspace.Options, config manifest.Config, c *cache.Cache) *repositories {
	return &repositories{opt: opt, cli: git.CLI(config.Git.CLI), cache: c, open: map[string]*repository{}}
}

// repository returns the repository of src, with the spelling the project chose.
func (p *World) repository(src skill.Source) *repository {
	r := p.repos
	r.mu.Lock()
	defer r.mu.Unlock()
	r.permit = p.NamedHost
	id := src.Repository()
	repo, ok := r.open[id]
	if !ok {
		repo = &repository{source: p.Spelling(src), snaps: map[fetch.ID]fetch.Snapshot{}}
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
	if r.opt.Offline {
		r.src = fetch.NewOffline()
		return r.src, nil
	}
	if _, r.err = r.gitLocked(); r.err != nil {
		return nil, r.err
	}
	src := fetch.NewRetry(r.git, fetch.RetryOptions{Announce: r.opt.Announce})
	if r.opt.Fetched != nil {
		src = fetch.NewLog(src, r.opt.Fetched)
	}
	r.src = src
	return r.src, nil
}

// httpClient returns a client for indexes and registries, guarded as git's own
// connections are.
func (p *World) httpClient() (*http.Client, error) {
	r := p.repos
	r.mu.Lock()
	defer r.mu.Unlock()
	r.permit = p.NamedHost
	source, err := r.gitLocked()
	if err != nil {
		return nil, err
	}
	return source.HTTPClient()
}

// isNamed reports whether the user named host.
func (r *repositories) isNamed(host string) bool {
	r.mu.Lock()
	permit := r.permit
	r.mu.Unlock()
	return permit != nil && permit(host)
}

func (r *repositories) gitLocked() (*git.Source, error) {
	if r.git != nil {
		return r.git, nil
	}
	var err error
	r.git, err = git.New(git.Options{
		Named:    r.isNamed,
		CLI:      r.cli,
		Environ:  r.opt.Environ,
		Notify:   r.opt.Report,
		Home:     r.opt.Home,
		Facts:    hostFacts{r.cache},
		Progress: r.opt.Progress,
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

// Listing lists the branches and tags of src once a run. Offline the last
// listing of an earlier run serves.
func (p *World) Listing(ctx context.Context, src skill.Source) (*fetch.Refs, error) {
	repo := p.repository(src)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	if repo.refs != nil || repo.failed != nil {
		return repo.refs, repo.failed
	}
	if p.Opt.Offline {
		if refs, ok := p.cachedListing(src); ok {
			repo.refs = refs
			return refs, nil
		}
		if refs, ok := p.mirrorListing(ctx, src); ok {
			repo.refs = refs
			return refs, nil
		}
	}
	source, err := p.repos.source()
	if err != nil {
		return nil, err
	}
	refs, err := source.Refs(ctx, repo.source, "HEAD", "refs/heads/", "refs/tags/")
	if err != nil {
		if refs, ok := p.mirrorListing(ctx, src); ok {
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
	p.repos.remember(src, refs)
	return refs, nil
}

// cachedRefs is a listing in the index.
type cachedRefs struct {
	Time time.Time   `json:"time"`
	Refs *fetch.Refs `json:"refs"`
}

func (p *Local) cachedListing(src skill.Source) (*fetch.Refs, bool) {
	c, ok := p.LastListing(src)
	return c.Refs, ok
}

// LastListing returns the last listing of an earlier run, with its time.
func (p *Local) LastListing(src skill.Source) (cachedRefs, bool) {
	data, ok := p.Cache.Get(bucketRefs, src.Repository())
	if !ok {
		return cachedRefs{}, false
	}
	var c cachedRefs
	if json.Unmarshal(data, &c) != nil || c.Refs == nil {
		return cachedRefs{}, false
	}
	return c, true
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
	if data, err := json.Marshal(cachedRefs{r.opt.Now().UTC(), refs}); err == nil {
		r.cache.Put(bucketRefs, src.Repository(), data)
	}
}

// Snapshots opens what is not open yet of wants, in one call, and returns one
// snapshot a want, in their order.
func (p *World) Snapshots(ctx context.Context, src skill.Source, wants []fetch.Want) ([]fetch.Snapshot, error) {
	repo := p.repository(src)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	var missing []fetch.Want
	asked := map[fetch.Want]bool{}
	for _, w := range wants {
		if repo.snaps[w.Commit] == nil && !asked[w] {
			asked[w] = true
			missing = append(missing, w)
		}
	}
	if len(missing) > 0 {
		source, err := p.repos.source()
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
func (p *World) snapshot(ctx context.Context, src skill.Source, want fetch.Want) (fetch.Snapshot, error) {
	snaps, err := p.Snapshots(ctx, src, []fetch.Want{want})
	if err != nil {
		return nil, err
	}
	return snaps[0], nil
}

// hostFacts keeps what servers can do in the index.
type hostFacts struct{ cache *cache.Cache }

func (h hostFacts) Get(key string) (string, bool) {
	v, ok := h.cache.Get(bucketHosts, key)
	return string(v), ok
}

func (h hostFacts) Put(key, value string) { h.cache.Put(bucketHosts, key, []byte(value)) }
