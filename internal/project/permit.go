package project

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// permit widens what a request may contact beyond what the project's files name.
// It is a value that travels with the request: allowing more makes another one.
type permit struct {
	// hosts may be private or plaintext, since the user wrote them.
	hosts map[string]bool
	// repositories may be contacted: the user wrote them, or said yes.
	repositories map[string]bool
}

// name returns p with sources that the user wrote in this call.
func (p permit) name(sources ...skill.Source) permit {
	p = p.clone()
	for _, src := range sources {
		if src.Kind() != skill.SourcePath {
			p.hosts[src.Host()] = true
			p.repositories[src.Repository()] = true
		}
	}
	return p
}

// agree returns p with repositories that the user said yes to. Their hosts are
// not named by it.
func (p permit) agree(repositories ...string) permit {
	p = p.clone()
	for _, id := range repositories {
		p.repositories[id] = true
	}
	return p
}

func (p permit) clone() permit {
	out := permit{hosts: maps.Clone(p.hosts), repositories: maps.Clone(p.repositories)}
	if out.hosts == nil {
		out.hosts, out.repositories = map[string]bool{}, map[string]bool{}
	}
	return out
}

// naming returns the project with sources that the user wrote in this call.
func (p *Project) naming(sources ...skill.Source) *Project { return p.with(p.permit.name(sources...)) }

// with returns the project with another permit.
func (p *Project) with(permit permit) *Project {
	q := *p
	q.permit = permit
	return &q
}

// edited returns the project as data would make its skills.toml; the file is
// written by the transaction.
func (p *Project) edited(data []byte) (*Project, error) {
	m, err := p.parseManifest(data)
	if err != nil {
		return nil, err
	}
	q := *p
	q.manifest = m // written and manifestData stay what is on disk
	q.config = manifest.Layer(p.user, m.Config)
	q.known = q.files.index()
	q.policies, err = q.readPolicies(data)
	return &q, err
}

// withLock returns the project with l in place of its lock.
func (p *Project) withLock(l *lockfile.Lock) *Project {
	q := *p
	q.lock = l
	q.known = q.files.index()
	return &q
}

// grounds are what the files say about whom to contact, looked up by repository
// and host: thousands of requests ask.
type grounds struct {
	// spellings are how to fetch a repository: as skills.toml spells it first, else
	// as the lock does.
	spellings map[string]skill.Source
	hosts     map[string]bool
	// repositories stand in skills.toml or in the lock.
	repositories map[string]bool
}

// index returns the grounds of f, made when first asked for: a run that contacts
// nobody parses no source of a large lock for it.
func (f files) index() func() *grounds {
	return sync.OnceValue(func() *grounds {
		g := &grounds{spellings: map[string]skill.Source{}, hosts: map[string]bool{}, repositories: map[string]bool{}}
		for _, list := range [][]manifestSkill{f.manifest.Skills, f.manifest.Overrides} {
			list = slices.SortedFunc(slices.Values(list), func(a, b manifestSkill) int { return strings.Compare(string(a.Key), string(b.Key)) })
			for _, s := range list { // by key: the first spelling of a repository counts
				g.hosts[s.Requirement.Source.Host()] = true
				g.add(s.Requirement.Source)
			}
		}
		if f.lock != nil {
			for _, e := range f.lock.Skills {
				if src, ok := entrySource(e); ok {
					g.add(src)
				}
			}
		}
		for _, r := range f.config.Registries {
			if u, err := url.Parse(r.Address); err == nil {
				g.hosts[u.Host] = true
			}
		}
		for _, glob := range f.manifest.Trust.Sources {
			if _, after, ok := strings.Cut(glob, "://"); ok {
				glob = after
			}
			host, _, _ := strings.Cut(glob, "/")
			g.hosts[host] = true
		}
		delete(g.hosts, "")
		return g
	})
}

func (g *grounds) add(src skill.Source) {
	if src.IsZero() || src.Kind() == skill.SourcePath {
		return
	}
	id := src.Repository()
	g.repositories[id] = true
	if _, ok := g.spellings[id]; !ok && src.Kind() == skill.SourceGit {
		g.spellings[id] = src
	}
}

// spelling returns how to fetch src's repository.
func (p *Project) spelling(src skill.Source) skill.Source {
	if have, ok := p.known().spellings[src.Repository()]; ok {
		return have
	}
	return src
}

// namedHost reports whether the user named host in skills.toml, in a trust or
// configuration file of their own, or on the command line.
func (p *Project) namedHost(host string) bool { return p.permit.hosts[host] || p.known().hosts[host] }

// approved reports whether src's repository may be contacted: it is named in
// skills.toml, in the lock, on the command line, in `[trust] sources`, or was
// agreed to in this run.
func (p *Project) approved(src skill.Source) bool {
	if src.Kind() == skill.SourcePath {
		return true
	}
	id := src.Repository()
	return p.permit.repositories[id] || p.known().repositories[id] || p.policies.SourceApproved(src)
}
