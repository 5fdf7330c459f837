package world

import (
	"context"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/index"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// IndexArtifact is one file that a discovery index offers.
type IndexArtifact struct {
	Url    string
	Kind   string       // skill-md or archive
	Digest skill.Digest // of the file's bytes
}

// IndexClient returns the client for discovery indexes.
func (p *World) IndexClient() (*index.Client, error) {
	if p.Opt.Offline {
		return nil, diag.New(diag.FetchOffline, "a discovery index is read over the network, and there is none")
	}
	client, err := p.httpClient()
	if err != nil {
		return nil, err
	}
	return &index.Client{HTTP: client}, nil
}

// obtainArtifacts reads skills of a discovery index into the store.
func (p *World) obtainArtifacts(ctx context.Context, list []Request, indices []int, out []Artifact) error {
	client, err := p.IndexClient()
	if err != nil {
		return err
	}
	for _, i := range indices {
		g, err := p.obtainArtifact(ctx, client, list[i])
		if err != nil {
			return Named(list[i], err)
		}
		out[i] = g
	}
	return nil
}

func (p *Local) obtainArtifact(ctx context.Context, client *index.Client, o Request) (Artifact, error) {
	w, err := p.Cache.NewTree()
	if err != nil {
		return Artifact{}, err
	}
	defer w.Abort()
	entry := index.Entry{Name: string(o.Key), URL: o.Index.Url, Digest: o.Index.Digest, Type: o.Index.Kind}
	content, err := client.Load(ctx, entry, fetch.LoadOptions{Limits: p.Config.Install.Limits(), Repository: o.Src.Identity()},
		func(f skill.File, data []byte) error { return w.Add(f.Path, f.Exec, data) })
	if err != nil {
		return Artifact{}, err
	}
	return p.keep(o, content, w, SkillFact{Tree: "index"})
}

// artifactKind tells an archive from a single SKILL.md by its address, for a
// lock entry: the index that said which may be gone.
func artifactKind(url string) string {
	base, _, _ := strings.Cut(url, "?")
	if strings.HasSuffix(base, ".md") {
		return "skill-md"
	}
	return "archive"
}
