package project

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
)

// Listed is one skill of List: everything a runtime needs for its catalogue,
// from the lock alone.
type Listed struct {
	Key          string       `json:"key"`
	Name         string       `json:"name"`
	Version      string       `json:"version,omitempty"`
	Description  string       `json:"description,omitempty"`
	Path         string       `json:"path"`
	Installed    bool         `json:"installed"`
	Digest       skill.Digest `json:"digest,omitempty"`
	Source       string       `json:"source"`
	Layer        string       `json:"layer"`
	Use          string       `json:"use,omitempty"`
	Transitive   bool         `json:"transitive,omitempty"`
	Dependencies []string     `json:"dependencies,omitempty"`
	Chain        []string     `json:"chain,omitempty"`
	AllowedTools string       `json:"allowedTools,omitempty"`
	Signer       string       `json:"signer,omitempty"`
	Signed       bool         `json:"signed"`
	// Signature is the last judgement in words, State in the four words of
	// skillerr's RFC 0004.
	Signature string `json:"signature,omitempty"`
	State     string `json:"state,omitempty"`
	Retracted string `json:"retracted,omitempty"`
	// RetractedAsOf is when a run last heard that, nil where only the lock says it.
	RetractedAsOf *time.Time         `json:"retractedAsOf,omitempty"`
	Training      string             `json:"training,omitempty"`
	Size          Sizes              `json:"size"`
	Tokens        derive.TokenCounts `json:"tokens"`
}

// Sizes are an entry's sizes in bytes.
type Sizes struct {
	Body      int64 `json:"body"`
	Resources int64 `json:"resources"`
	Files     int64 `json:"files"`
}

// ListResult is what List returns, in the manifest's order.
type ListResult struct {
	Skills  []Listed `json:"skills"`
	Targets []string `json:"targets"`
	// CatalogTokens estimates what all names and descriptions cost a prompt.
	CatalogTokens int `json:"catalogTokens"`
}

// catalogCap is how many skills some runtimes show at most.
const catalogCap = 32

// List shows what is locked. It opens no skill, writes nothing and uses no
// network; whether a skill is installed is one look at its directory.
func (p *Project) List(context.Context) (*ListResult, error) {
	r := &ListResult{Skills: []Listed{}, Targets: []string{}}
	if p.lock == nil {
		return r, nil
	}
	r.Targets = p.lock.Targets
	judged := p.judgements(p.lock.Skills)
	for _, e := range p.lock.Skills {
		l := p.listed(e)
		l.Signature, l.State = judged[e.Key].Summary, string(judged[e.Key].State)
		r.CatalogTokens += l.Tokens.Metadata
		r.Skills = append(r.Skills, l)
	}
	p.noteCatalog(len(r.Skills), r.CatalogTokens, func(i int) string { return r.Skills[i].Key })
	return r, nil
}

func (p *Project) listed(e *lockfile.Entry) Listed {
	l := Listed{
		Key: e.Key, Name: e.Name(), Version: e.Version, Description: e.Description, Path: p.skillPath(e),
		Digest: e.Digest, Source: sourceText(e), Layer: p.layer(), Use: e.Use, Dependencies: e.Dependencies,
		AllowedTools: e.AllowedTools, Signed: e.Signature != nil, Signer: e.Signature.Signer(), Retracted: e.Retracted,
		Size: Sizes{e.Size.Body, e.Size.Resources, e.Size.Files},
	}
	if r, ok := p.knownRetraction(e); ok {
		l.Retracted = r.Reason
		if !r.Time.IsZero() {
			l.RetractedAsOf = &r.Time
		}
	}
	if e.Chain != nil {
		l.Chain = e.Chain.Steps
	}
	if e.Training != nil {
		l.Training = e.Training.Mode
	}
	if p.lock != nil {
		_, direct := p.lock.Root.Requires[e.Key]
		l.Transitive = !direct
	}
	if info, err := os.Stat(filepath.Join(p.layout().Root, filepath.FromSlash(p.place(p.lock, e)))); err == nil {
		l.Installed = info.IsDir()
	}
	if e.Source.Type == lockfile.TypePath {
		l.Description, _ = p.pathDescription(e) // validate tells why it cannot be read
	}
	l.Tokens = derive.LockedTokens(l.Name, l.Description, l.Size.Body, l.Size.Resources)
	return l
}

func (p *Project) layer() string {
	if p.opt.Global {
		return "operator"
	}
	return "project"
}

// graph is the lock as the solver's reports read it.
func (p *Project) graph(l *lockfile.Lock) resolver.Graph {
	u := newUniverse(p)
	g := resolver.Graph{Nodes: map[skill.Key]resolver.Node{}}
	for _, key := range p.rootKeys(l) {
		r, err := skill.ParseRequirement(l.Root.Requires[key], nil)
		if err != nil {
			continue
		}
		g.Root = append(g.Root, resolver.Edge{Name: skill.Key(key), Range: r.Range, Ref: r.Ref, Digest: r.Digest})
	}
	for _, e := range l.Skills {
		src := mustSource(e)
		v, _ := skill.ParseVersion(e.Version)
		g.Nodes[skill.Key(e.Key)] = resolver.Node{Version: v, Source: src.Identity(), Edges: lockedEdges(l, e, src, u)}
	}
	return g
}

// rootKeys lists the root's requirements in the lock's order of skills.
func (p *Project) rootKeys(l *lockfile.Lock) []string {
	var keys []string
	for _, e := range l.Skills {
		if _, ok := l.Root.Requires[e.Key]; ok {
			keys = append(keys, e.Key)
		}
	}
	for _, k := range sortedKeys(l.Root.Requires) {
		if l.Get(k) == nil {
			keys = append(keys, k)
		}
	}
	return keys
}

// Graph returns the lock's graph; no lock is lock_outdated.
func (p *Project) Graph() (resolver.Graph, error) {
	if p.lock == nil {
		return resolver.Graph{}, p.noLock()
	}
	return p.graph(p.lock), nil
}

// entry returns the lock entry of a key, or a finding that says what there is.
func (p *Project) entry(key string) (*lockfile.Entry, error) {
	if p.lock == nil {
		return nil, p.noLock()
	}
	if e := p.lock.Get(key); e != nil {
		return e, nil
	}
	keys := make([]string, len(p.lock.Skills))
	for i, e := range p.lock.Skills {
		keys[i] = e.Key
	}
	e := usage("`%s` is not in the lock", key).WithHint("`skillpm list` shows what is")
	if near := nearest(key, keys); near != "" {
		e.Hint = "did you mean `" + near + "`?"
	}
	return nil, e
}
