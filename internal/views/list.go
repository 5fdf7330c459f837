package views

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/skillpm/skillpm/internal/accept"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
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
func List(_ context.Context, p *world.Local) (*ListResult, error) {
	r := &ListResult{Skills: []Listed{}, Targets: []string{}}
	if p.Lock == nil {
		return r, nil
	}
	r.Targets = p.Lock.Targets
	judged := accept.Judgements(p, p.Lock.Skills)
	retracted := p.KnownRetractions(p.Lock.Skills)
	for _, e := range p.Lock.Skills {
		l := listed(p.Project, e, retracted[e.Key])
		l.Signature, l.State = judged[e.Key].Summary, string(judged[e.Key].State)
		r.CatalogTokens += l.Tokens.Metadata
		r.Skills = append(r.Skills, l)
	}
	noteCatalog(p.Project, len(r.Skills), r.CatalogTokens, func(i int) string { return r.Skills[i].Key })
	return r, nil
}

func listed(p *workspace.Project, e *lockfile.Entry, r world.LastRetraction) Listed {
	l := Listed{
		Key: e.Key, Name: e.Name(), Version: e.Version, Description: e.Description, Path: SkillPath(p, e),
		Digest: e.Digest, Source: workspace.SourceText(e), Layer: layer(p), Use: e.Use, Dependencies: e.Dependencies,
		AllowedTools: e.AllowedTools, Signed: e.Signature != nil, Signer: e.Signature.Signer(), Retracted: r.Reason,
		Size: Sizes{e.Size.Body, e.Size.Resources, e.Size.Files},
	}
	if !r.Time.IsZero() {
		l.RetractedAsOf = &r.Time
	}
	if e.Chain != nil {
		l.Chain = e.Chain.Steps
	}
	if e.Training != nil {
		l.Training = e.Training.Mode
	}
	if p.Lock != nil {
		_, direct := p.Lock.Root.Requires[e.Key]
		l.Transitive = !direct
	}
	if info, err := os.Stat(filepath.Join(p.Layout().Root, filepath.FromSlash(p.Place(p.Lock, e)))); err == nil {
		l.Installed = info.IsDir()
	}
	if e.Source.Type == lockfile.TypePath {
		l.Description, _ = pathDescription(p, e) // validate tells why it cannot be read
	}
	l.Tokens = derive.LockedTokens(l.Name, l.Description, l.Size.Body, l.Size.Resources)
	return l
}

func layer(p *workspace.Project) string {
	if p.Opt.Global {
		return "operator"
	}
	return "project"
}

// Graph returns the lock's graph; no lock is lock_outdated.
func Graph(p *world.World) (resolver.Graph, error) {
	if p.Lock == nil {
		return resolver.Graph{}, p.NoLock()
	}
	return decide.Graph(p, p.Lock), nil
}
