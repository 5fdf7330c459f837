package project

import (
	"context"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// VersionsResult is what a source offers.
type VersionsResult struct {
	Source string `json:"source"`
	// Versions are the tagged versions, highest first.
	Versions []VersionRow `json:"versions"`
	// Branch is the default branch, for sources without version tags.
	Branch string `json:"branch,omitempty"`
	// Skills are the paths of a repository's skills, where no path was given.
	Skills []string `json:"skills,omitempty"`
}

// VersionRow is one version.
type VersionRow struct {
	Version   string   `json:"version"`
	Tag       string   `json:"tag"`
	Commit    string   `json:"commit"`
	Locked    bool     `json:"locked,omitempty"`
	Retracted string   `json:"retracted,omitempty"`
	Hidden    string   `json:"hidden,omitempty"`
	Ambiguous []string `json:"ambiguous,omitempty"`
}

// Versions lists the versions of a source, or of a locked skill named by key.
func (p *Project) Versions(ctx context.Context, text string) (*VersionsResult, error) {
	if err := p.loadRegistries(ctx); err != nil {
		return nil, err
	}
	src, err := p.sourceOrKey(text)
	if err != nil {
		return nil, err
	}
	p = p.naming(src)
	if src.Kind() != skill.SourceGit {
		return nil, usage("%s has no versions: it is no git source", src.Identity())
	}
	refs, err := p.listing(ctx, src)
	if err != nil {
		return nil, err
	}
	r := &VersionsResult{Source: src.Identity(), Versions: []VersionRow{}}
	if head, err := fetch.DefaultBranch(refs, src); err == nil {
		r.Branch = strings.TrimPrefix(head.Ref, "refs/heads/")
		if !src.HasSubpath() {
			if src, err = p.onlySkill(ctx, src, head, r); err != nil {
				return nil, err
			}
			r.Source = src.Identity()
		}
	}
	list := fetch.Versions(refs, fetch.PlaceOf(src))
	u := newUniverse(p)
	if src.HasSubpath() {
		if err := u.readFiles(ctx, src, p.describing(src, list.Candidates)); err != nil && !isOffline(err) {
			return nil, err
		}
	}
	retracted := u.retractions(resolver.Wanted{}, src, list.Candidates)
	p.noteMixed(ctx, src, list)
	for _, c := range list.Candidates {
		row := VersionRow{Version: c.Version.String(), Tag: c.Tag, Commit: string(c.Commit), Hidden: p.tooYoung(src, c), Locked: p.isLocked(src, c)}
		if reason, ok := retracted(c.Version); ok {
			row.Retracted = reason
		}
		for _, other := range c.Conflicts {
			row.Ambiguous = append(row.Ambiguous, other.Name)
		}
		r.Versions = append(r.Versions, row)
	}
	p.cache.Flush(ctx)
	return r, nil
}

// describing returns the SKILL.md files that a listing of versions needs: the
// newest stable one, which says what is withdrawn, and those to be dated.
func (p *Project) describing(src skill.Source, list []fetch.Candidate) []wantedFile {
	want := firstVersions(list)
	want = want[:min(len(want), 1)]
	if p.minAge() > 0 {
		want = p.readAhead(list)
	}
	files := make([]wantedFile, len(want))
	for i, c := range want {
		files[i] = wantedFile{src, c.Want()}
	}
	return files
}

// onlySkill settles a repository without a path: its one skill, else the
// repository itself, with the skills listed.
func (p *Project) onlySkill(ctx context.Context, src skill.Source, head fetch.Resolved, r *VersionsResult) (skill.Source, error) {
	d, err := p.discover(ctx, parent{src: src, want: head.Want()})
	if err != nil {
		return src, err
	}
	listed := d.Listed()
	if len(listed) == 1 {
		return src.WithSubpath(listed[0].Path), nil
	}
	for _, f := range listed {
		r.Skills = append(r.Skills, src.WithSubpath(f.Path).Identity())
	}
	return src, nil
}

func (p *Project) isLocked(src skill.Source, c fetch.Candidate) bool {
	if p.lock == nil {
		return false
	}
	for _, e := range p.lock.Skills {
		if sourceText(e) == src.Identity() && e.Source.Commit == string(c.Commit) && e.Version == c.Version.String() {
			return true
		}
	}
	return false
}

// sourceOrKey reads a source, or the key of a locked or required skill.
func (p *Project) sourceOrKey(text string) (skill.Source, error) {
	s, err := parseSpec(text)
	if err != nil {
		return skill.Source{}, badSpec(text, err)
	}
	if s.name == "" {
		if s.rng != "" || s.ref != "" {
			return skill.Source{}, usage("no version is expected in `%s`", text)
		}
		return s.source, nil
	}
	if m := p.manifest.Get(text); m != nil && !m.Requirement.Source.IsZero() {
		return m.Requirement.Source, nil
	}
	e, err := p.entry(text)
	if err != nil {
		return skill.Source{}, err
	}
	return mustSource(e), nil
}

// InfoResult is what is known of one skill.
type InfoResult struct {
	Listed
	License       string            `json:"license,omitempty"`
	Compatibility string            `json:"compatibility,omitempty"`
	Requires      map[string]string `json:"requires,omitempty"`
	RequiredBy    []string          `json:"requiredBy,omitempty"`
	Tag           string            `json:"tag,omitempty"`
	Ref           string            `json:"ref,omitempty"`
	Commit        string            `json:"commit,omitempty"`
	Tree          string            `json:"tree,omitempty"`
	URL           string            `json:"url,omitempty"`
	Carries       []string          `json:"carries,omitempty"`
	// Locked says that the answer is about a lock entry and not a source.
	Locked bool `json:"locked"`
}

// Info describes a locked skill without network, or a source, which is fetched.
func (p *Project) Info(ctx context.Context, text string) (*InfoResult, error) {
	if p.lock != nil {
		if e := p.lock.Get(text); e != nil {
			return p.infoEntry(ctx, e)
		}
	}
	s, err := parseSpec(text)
	if err != nil {
		return nil, badSpec(text, err)
	}
	if s.name != "" {
		if _, err := p.entry(text); err != nil {
			return nil, err
		}
	}
	if s.source.Kind() != skill.SourceGit {
		return nil, usage("`info` describes a locked skill or a git source, not %s", s.source.Identity())
	}
	return p.infoSource(ctx, s)
}

func (p *Project) infoSource(ctx context.Context, s spec) (*InfoResult, error) {
	p = p.naming(s.source)
	adds, _, err := p.addGit(ctx, s, AddOptions{})
	if err != nil {
		return nil, err
	}
	a := adds[0]
	u := newUniverse(p)
	chosen := resolver.Chosen{}
	if a.req.Ref != "" {
		c, k, err := p.at(ctx, a.req.Source, a.key, a.req.Ref, true)
		if err != nil {
			return nil, err
		}
		c.Name, c.Source = a.key, a.req.Source.Identity()
		chosen.Candidate = c
		u.remember(c, k)
	} else {
		refs, err := p.listing(ctx, a.req.Source)
		if err != nil {
			return nil, err
		}
		found, err := p.newest(ctx, a.req.Source, fetch.Versions(refs, fetch.PlaceOf(a.req.Source)), a.req.Range)
		if err != nil {
			return nil, err
		}
		chosen.Candidate = resolver.Candidate{Name: a.key, Source: a.req.Source.Identity(), Version: found.Version, Commit: string(found.Commit)}
		u.remember(chosen.Candidate, candidate{source: a.req.Source, tag: found.Tag, want: found.Want()})
	}
	k := u.candidate(chosen.Candidate)
	got, err := p.obtain(ctx, []order{{key: a.key, src: k.source, want: k.want}})
	if err != nil {
		return nil, err
	}
	e, err := p.newEntry(chosen, k, got[0])
	if err != nil {
		return nil, err
	}
	r := &InfoResult{Listed: p.listed(e)}
	r.Installed, r.Path = false, ""
	p.fillInfo(ctx, r, e, p.stored(got[0].tree))
	p.cache.Flush(ctx)
	return r, nil
}

func (p *Project) infoEntry(ctx context.Context, e *lockEntry) (*InfoResult, error) {
	r := &InfoResult{Listed: p.listed(e), Locked: true, RequiredBy: p.lock.Dependents(e.Key)}
	c, err := p.content(ctx, p.lock, e)
	if err != nil {
		p.opt.Report(diag.Note(diag.FetchOffline, "the files of `%s` are not at hand; what the lock says is shown", e.Key))
		p.fillSource(r, e)
		return r, nil
	}
	p.fillInfo(ctx, r, e, c)
	return r, nil
}

func (p *Project) fillSource(r *InfoResult, e *lockEntry) {
	r.Requires = e.Requires
	r.Tag, r.Ref, r.Commit, r.Tree, r.URL = e.Source.Tag, e.Source.Ref, e.Source.Commit, e.Source.Tree, e.Source.URL
}

func (p *Project) fillInfo(ctx context.Context, r *InfoResult, e *lockEntry, c content) {
	p.fillSource(r, e)
	r.Carries = carries(e, c.tree)
	if s, _, err := c.parsed(mustSource(e)); err == nil {
		r.License, r.Compatibility = s.License, s.Compatibility
		if r.Description == "" {
			r.Description = s.Description
		}
	}
	if e.Digest == "" {
		r.Signature = "local"
		return
	}
	if v, err := p.judge(ctx, e, c.tree, nil, TrustOptions{}); err == nil {
		r.Signature, r.State = v.Summary(), string(v.State)
	}
}
