package decide

import (
	"sync"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// Provider is what this run knows for the solver. The solver asks it from
// memory; load (load.go) fills it between solves.
type Provider struct {
	p *world.World
	// rootNames are the sources that the root's own entries give, by key.
	rootNames map[skill.Key]skill.Source
	// rootRefs are the refs the root itself names, by key: a missing one is the
	// user's to hear as it is.
	rootRefs map[skill.Key]string
	// pinned are the commits that a requirement names by ref:, by name; what
	// stands there must come from that commit, however equal another one is.
	pinned map[string]bool

	// held are the locked names that are not to move, silent those of them whose
	// repository did not answer when the solver asked all the same, with the error.
	held   map[skill.Key]bool
	silent map[skill.Key]error

	mu       sync.Mutex
	versions map[string]resolver.Versions
	at       map[string]atAnswer
	reqs     map[string]resolver.Requirements
	digests  map[string]digestAnswer
	// known are facts about candidates that the lock needs, by candidate id.
	known map[string]*Candidate
	// found are the discoveries of commits, by repository and commit.
	found map[string]*fetch.Discovery
	// files are SKILL.md files read ahead, by fact key.
	files map[string]world.SkillFile
}

type atAnswer struct {
	c     resolver.Candidate
	state resolver.State
	ref   string // full name of the branch or tag, "" for a commit
}

type digestAnswer struct {
	d     skill.Digest
	state resolver.State
}

// Candidate is one version with what only this package needs of it.
type Candidate struct {
	Source skill.Source
	Tag    string // short name
	ref    string // full name of an asked-for branch or tag
	Want   fetch.Want
	index  *world.IndexArtifact // where the source is a discovery index
	parsed *parse.Skill
	// chain says which chain members were found, in the chain's order.
	chain []world.ChainStep
}

// NewProvider returns a provider that knows nothing yet.
func NewProvider(p *world.World) *Provider {
	u := &Provider{
		p: p, rootNames: map[skill.Key]skill.Source{}, rootRefs: map[skill.Key]string{}, pinned: map[string]bool{}, silent: map[skill.Key]error{},
		versions: map[string]resolver.Versions{}, at: map[string]atAnswer{},
		reqs: map[string]resolver.Requirements{}, digests: map[string]digestAnswer{},
		known: map[string]*Candidate{}, found: map[string]*fetch.Discovery{}, files: map[string]world.SkillFile{},
	}
	return u
}

func versionsKey(name skill.Key, source string) string { return string(name) + "\x00" + source }

func atKey(name skill.Key, source, ref string) string {
	return string(name) + "\x00" + source + "\x00" + ref
}

func candidateKey(c resolver.Candidate) string {
	return string(c.Name) + "\x00" + c.Source + "\x00" + c.Version.String() + "\x00" + c.Commit
}

// Versions implements resolver.Universe.
func (u *Provider) Versions(name skill.Key, source string) resolver.Versions {
	u.mu.Lock()
	defer u.mu.Unlock()
	if v, ok := u.versions[versionsKey(name, source)]; ok && v.State != resolver.NotApproved {
		return v
	}
	src, err := skill.ParseSource(source)
	if err != nil {
		return resolver.Versions{State: resolver.Loaded, NotFound: err.Error()}
	}
	if !u.p.Approved(src) {
		return resolver.Versions{State: resolver.NotApproved, Repository: src.Repository()}
	}
	return resolver.Versions{State: resolver.NotLoaded}
}

// At implements resolver.Universe.
func (u *Provider) At(name skill.Key, source, ref string) (resolver.Candidate, resolver.State) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a, ok := u.at[atKey(name, source, ref)]; ok {
		return a.c, a.state
	}
	src, err := skill.ParseSource(source)
	if err != nil {
		return resolver.Candidate{}, resolver.Loaded
	}
	if !u.p.Approved(src) {
		return resolver.Candidate{}, resolver.NotApproved
	}
	return resolver.Candidate{}, resolver.NotLoaded
}

// Requirements implements resolver.Universe.
func (u *Provider) Requirements(c resolver.Candidate) resolver.Requirements {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.reqs[candidateKey(c)]
}

// Digest implements resolver.Universe.
func (u *Provider) Digest(c resolver.Candidate) (skill.Digest, resolver.State) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.digests[candidateKey(c)]
	return a.d, a.state
}

// pin notes that a requirement asks for name at ref.
func (u *Provider) pin(name skill.Key, ref string) {
	if ref == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pinned[versionsKey(name, ref)] = true
}

func (u *Provider) isPinned(name skill.Key, ref string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pinned[versionsKey(name, ref)]
}

// fullRef returns the full name under which source holds ref, "" for a commit
// and for what was not asked in this run.
func (u *Provider) fullRef(name skill.Key, source, ref string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.at[atKey(name, source, ref)].ref
}

func (u *Provider) setVersions(name skill.Key, source string, v resolver.Versions) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.versions[versionsKey(name, source)] = v
}

func (u *Provider) setAt(name skill.Key, source, ref string, a atAnswer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.at[atKey(name, source, ref)] = a
}

func (u *Provider) setRequirements(c resolver.Candidate, r resolver.Requirements) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reqs[candidateKey(c)] = r
}

func (u *Provider) setDigest(c resolver.Candidate, a digestAnswer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.digests[candidateKey(c)] = a
}

// Remember keeps what the lock needs of c; later facts complete earlier ones.
func (u *Provider) Remember(c resolver.Candidate, k Candidate) *Candidate {
	u.mu.Lock()
	defer u.mu.Unlock()
	id := candidateKey(c)
	have := u.known[id]
	if have == nil {
		have = &Candidate{}
		u.known[id] = have
	}
	have.Source, have.Want = k.Source, k.Want
	if k.Tag != "" {
		have.Tag = k.Tag
	}
	if k.ref != "" {
		have.ref = k.ref
	}
	return have
}

// Candidate returns what is known of c, nil if nothing is.
func (u *Provider) Candidate(c resolver.Candidate) *Candidate {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known[candidateKey(c)]
}

// ambiguous is the refusal of a version that two tags name at two commits.
func ambiguous(repository string, c fetch.Candidate) *diag.Error {
	e := diag.New(diag.AmbiguousVersion, "version %s of %s is tagged at two commits", c.Version, repository)
	e.WithDetail("%s is at %s", c.Tag, c.Commit)
	for _, other := range c.Conflicts {
		e.WithDetail("%s is at %s", other.Name, other.Commit())
	}
	return e.WithHint("pin the one you mean with ref:%s, or ask the author to remove one tag", c.Commit)
}
