package workspace

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

// Permit widens what a request may contact beyond what the project's files name.
// It is a value that travels with the request: allowing more makes another one.
type Permit struct {
	// hosts may be private or plaintext, since the user wrote them.
	hosts map[string]bool
	// repositories may be contacted: the user wrote them, or said yes.
	repositories map[string]bool
}

// Name returns p with sources that the user wrote in this call.
func (p Permit) Name(sources ...skill.Source) Permit {
	p = p.clone()
	for _, src := range sources {
		if src.Kind() != skill.SourcePath {
			p.hosts[src.Host()] = true
			p.repositories[src.Repository()] = true
		}
	}
	return p
}

// Agree returns p with repositories that the user said yes to. Their hosts are
// not named by it.
func (p Permit) Agree(repositories ...string) Permit {
	p = p.clone()
	for _, id := range repositories {
		p.repositories[id] = true
	}
	return p
}

func (p Permit) clone() Permit {
	out := Permit{hosts: maps.Clone(p.hosts), repositories: maps.Clone(p.repositories)}
	if out.hosts == nil {
		out.hosts, out.repositories = map[string]bool{}, map[string]bool{}
	}
	return out
}

// Grounds are what the files say about whom to contact, looked up by repository
// and host: thousands of requests ask.
type Grounds struct {
	// spellings are how to fetch a repository: as skills.toml spells it first, else
	// as the lock does.
	spellings map[string]skill.Source
	hosts     map[string]bool
	// repositories stand in skills.toml or in the lock.
	repositories map[string]bool
}

// Index returns the grounds of f, made when first asked for: a run that contacts
// nobody parses no source of a large lock for it.
func (f Files) Index() func() *Grounds {
	return sync.OnceValue(func() *Grounds {
		g := &Grounds{spellings: map[string]skill.Source{}, hosts: map[string]bool{}, repositories: map[string]bool{}}
		for _, list := range [][]manifest.Skill{f.Manifest.Skills, f.Manifest.Overrides} {
			list = slices.SortedFunc(slices.Values(list), func(a, b manifest.Skill) int { return strings.Compare(string(a.Key), string(b.Key)) })
			for _, s := range list { // by key: the first spelling of a repository counts
				g.hosts[s.Requirement.Source.Host()] = true
				g.add(s.Requirement.Source)
			}
		}
		if f.Lock != nil {
			for _, e := range f.Lock.Skills {
				if src, ok := EntrySource(e); ok {
					g.add(src)
				}
			}
		}
		for _, r := range f.Config.Registries {
			if u, err := url.Parse(r.Address); err == nil {
				g.hosts[u.Host] = true
			}
		}
		for _, glob := range f.Manifest.Trust.Sources {
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

func (g *Grounds) add(src skill.Source) {
	if src.IsZero() || src.Kind() == skill.SourcePath {
		return
	}
	id := src.Repository()
	g.repositories[id] = true
	if _, ok := g.spellings[id]; !ok && src.Kind() == skill.SourceGit {
		g.spellings[id] = src
	}
}

// Spelling returns how to fetch src's repository.
func (p *Project) Spelling(src skill.Source) skill.Source {
	if have, ok := p.Known().spellings[src.Repository()]; ok {
		return have
	}
	return src
}

// NamedHost reports whether the user named host in skills.toml, in a trust or
// configuration file of their own, or on the command line.
func (p *Project) NamedHost(host string) bool { return p.Permit.hosts[host] || p.Known().hosts[host] }

// Approved reports whether src's repository may be contacted: it is named in
// skills.toml, in the lock, on the command line, in `[trust] sources`, or was
// agreed to in this run.
func (p *Project) Approved(src skill.Source) bool {
	if src.Kind() == skill.SourcePath {
		return true
	}
	id := src.Repository()
	return p.Permit.repositories[id] || p.Known().repositories[id] || p.Policies.SourceApproved(src)
}

// NameRoots returns p with what the roots of locks require as named by the user,
// who handed the locks over. Hosts that only dependencies bring stay unnamed, as
// with a manifest.
func (p Permit) NameRoots(locks ...*lockfile.Lock) Permit {
	for _, l := range locks {
		for _, text := range l.Root.Requires {
			if r, err := skill.ParseRequirement(text, nil); err == nil && !r.Source.IsZero() {
				p = p.Name(r.Source)
			}
		}
	}
	return p
}
