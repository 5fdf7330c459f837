package project

import (
	"context"
	"path"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/index"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// indexArtifact is one file that a discovery index offers.
type indexArtifact struct {
	url    string
	kind   string       // skill-md or archive
	digest skill.Digest // of the file's bytes
}

func (p *Project) indexClient() (*index.Client, error) {
	if p.opt.Offline {
		return nil, diag.New(diag.FetchOffline, "a discovery index is read over the network, and there is none")
	}
	client, err := p.httpClient()
	if err != nil {
		return nil, err
	}
	return &index.Client{HTTP: client}, nil
}

// loadIndex answers everything about one site. An index knows no versions: what
// it lists now is the one candidate of each name, and the lock pins its bytes.
func (u *universe) loadIndex(ctx context.Context, w *work) error {
	client, err := u.p.indexClient()
	if err == nil {
		var list *index.Index
		if list, err = client.List(ctx, w.src); err == nil {
			for _, want := range append(w.versions, w.at...) {
				u.setVersions(want.Name, want.Source, u.indexVersions(list, want, w.src))
				u.setAt(want.Name, want.Source, want.Ref, atAnswer{state: resolver.Loaded})
			}
		}
	}
	if isOffline(err) {
		for _, want := range append(w.versions, w.at...) {
			u.setVersions(want.Name, want.Source, resolver.Versions{State: resolver.Unavailable})
			u.setAt(want.Name, want.Source, want.Ref, atAnswer{state: resolver.Unavailable})
		}
		err = nil
	}
	if err != nil {
		return err
	}
	for _, want := range w.reqs {
		if err := u.loadIndexRequirements(ctx, want); err != nil {
			return err
		}
	}
	return u.loadDigests(ctx, w)
}

func (u *universe) indexVersions(list *index.Index, want resolver.Wanted, src skill.Source) resolver.Versions {
	v := resolver.Versions{State: resolver.Loaded}
	for _, e := range list.Skills {
		if e.Name != string(want.Name) {
			continue
		}
		c := resolver.Candidate{Name: want.Name, Source: want.Source, Commit: e.Digest.Hex()}
		k := u.remember(c, candidate{source: src, want: fetch.Want{Commit: fetch.ID(e.Digest.Hex())}})
		u.mu.Lock()
		k.index = &indexArtifact{e.URL, e.Type, e.Digest}
		u.mu.Unlock()
		v.List = []resolver.Candidate{c}
		return v
	}
	v.NotFound = "the index of " + src.Identity() + " lists no skill `" + string(want.Name) + "`"
	return v
}

func (u *universe) loadIndexRequirements(ctx context.Context, want resolver.Wanted) error {
	k := u.candidate(want.Candidate)
	got, err := u.p.obtain(ctx, []order{{key: want.Name, src: k.source, want: k.want, index: k.index}})
	if err != nil {
		return err
	}
	s, _, err := u.p.stored(got[0].tree).parsed(k.source)
	if err != nil {
		u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Loaded, Unreadable: err.Error()})
		return nil
	}
	edges, steps, err := u.settle(ctx, parent{key: want.Name, src: k.source, want: k.want, skill: s})
	if err != nil {
		return err
	}
	u.mu.Lock()
	k.parsed, k.chain = s, steps
	u.mu.Unlock()
	u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Loaded, Edges: edges})
	return nil
}

// obtainArtifacts reads skills of a discovery index into the store.
func (p *Project) obtainArtifacts(ctx context.Context, list []order, indices []int, out []goods) error {
	client, err := p.indexClient()
	if err != nil {
		return err
	}
	for _, i := range indices {
		g, err := p.obtainArtifact(ctx, client, list[i])
		if err != nil {
			return named(list[i], err)
		}
		out[i] = g
	}
	return nil
}

func (p *Project) obtainArtifact(ctx context.Context, client *index.Client, o order) (goods, error) {
	w, err := p.cache.NewTree()
	if err != nil {
		return goods{}, err
	}
	defer w.Abort()
	entry := index.Entry{Name: string(o.key), URL: o.index.url, Digest: o.index.digest, Type: o.index.kind}
	content, err := client.Load(ctx, entry, fetch.LoadOptions{Limits: p.config.Install.Limits(), Repository: o.src.Identity()},
		func(f skill.File, data []byte) error { return w.Add(f.Path, f.Exec, data) })
	if err != nil {
		return goods{}, err
	}
	return p.keep(o, content, w, skillFact{Tree: "index"})
}

// addIndex adds skills of a discovery index.
func (p *Project) addIndex(ctx context.Context, s spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	if s.rng != "" && s.rng != "*" || s.ref != "" {
		return nil, nil, usage("a discovery index has no versions: `%s`", s.text)
	}
	client, err := p.indexClient()
	if err != nil {
		return nil, nil, err
	}
	list, err := client.List(ctx, s.source)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range list.Skipped {
		p.opt.Report(n)
	}
	var d fetch.Discovery
	for _, e := range list.Skills {
		d.Skills = append(d.Skills, fetch.Found{Path: e.Name, File: "SKILL.md", Tree: fetch.ID(e.Digest)})
	}
	paths, err := p.choose(s, &d, opt)
	if err != nil {
		return nil, nil, err
	}
	var adds []addition
	for _, name := range paths {
		if opt.As != "" && opt.As != name {
			return nil, nil, usage("a skill of a discovery index keeps its name `%s`", name)
		}
		key, err := chooseKey("", path.Base(name), name, s.source)
		if err != nil {
			return nil, nil, err
		}
		adds = append(adds, addition{key: key, req: skill.Requirement{Range: "*", Source: s.source}})
	}
	return adds, nil, nil
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
