package views

import (
	"context"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/accept"
	"github.com/skillpm/skillpm/internal/choose"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
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
func Versions(ctx context.Context, p *world.World, text string) (*VersionsResult, error) {
	if err := p.LoadRegistries(ctx); err != nil {
		return nil, err
	}
	src, err := sourceOrKey(p.Project, text)
	if err != nil {
		return nil, err
	}
	p = p.Naming(src)
	if src.Kind() != skill.SourceGit {
		return nil, workspace.Usage("%s has no versions: it is no git source", src.Identity())
	}
	refs, err := p.Listing(ctx, src)
	if err != nil {
		return nil, err
	}
	r := &VersionsResult{Source: src.Identity(), Versions: []VersionRow{}}
	if head, err := fetch.DefaultBranch(refs, src); err == nil {
		r.Branch = strings.TrimPrefix(head.Ref, "refs/heads/")
		if !src.HasSubpath() {
			if src, err = onlySkill(ctx, p, src, head, r); err != nil {
				return nil, err
			}
			r.Source = src.Identity()
		}
	}
	list := fetch.Versions(refs, fetch.PlaceOf(src))
	u := decide.NewProvider(p)
	if src.HasSubpath() {
		if err := u.ReadFiles(ctx, src, describing(p.Project, src, list.Candidates)); err != nil && !world.IsOffline(err) {
			return nil, err
		}
	}
	retracted := u.Retractions(resolver.Wanted{}, src, list.Candidates)
	choose.NoteMixed(ctx, p, src, list)
	for _, c := range list.Candidates {
		row := VersionRow{Version: c.Version.String(), Tag: c.Tag, Commit: string(c.Commit), Hidden: p.TooYoung(src, c), Locked: isLocked(p.Project, src, c)}
		if reason, ok := retracted(c.Version); ok {
			row.Retracted = reason
		}
		for _, other := range c.Conflicts {
			row.Ambiguous = append(row.Ambiguous, other.Name)
		}
		r.Versions = append(r.Versions, row)
	}
	p.Cache.Flush(ctx)
	return r, nil
}

// describing returns the SKILL.md files that a listing of versions needs: the
// newest stable one, which says what is withdrawn, and those to be dated.
func describing(p *workspace.Project, src skill.Source, list []fetch.Candidate) []world.WantedFile {
	want := world.FirstVersions(list)
	want = want[:min(len(want), 1)]
	if p.MinAge() > 0 {
		want = world.ReadAhead(p, list)
	}
	files := make([]world.WantedFile, len(want))
	for i, c := range want {
		files[i] = world.WantedFile{Src: src, Want: c.Want()}
	}
	return files
}

// onlySkill settles a repository without a path: its one skill, else the
// repository itself, with the skills listed.
func onlySkill(ctx context.Context, p *world.World, src skill.Source, head fetch.Resolved, r *VersionsResult) (skill.Source, error) {
	d, err := p.Discover(ctx, world.Parent{Src: src, Want: head.Want()})
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

func isLocked(p *workspace.Project, src skill.Source, c fetch.Candidate) bool {
	if p.Lock == nil {
		return false
	}
	for _, e := range p.Lock.Skills {
		if workspace.SourceText(e) == src.Identity() && e.Source.Commit == string(c.Commit) && e.Version == c.Version.String() {
			return true
		}
	}
	return false
}

// sourceOrKey reads a source, or the key of a locked or required skill.
func sourceOrKey(p *workspace.Project, text string) (skill.Source, error) {
	s, err := choose.ParseSpec(text)
	if err != nil {
		return skill.Source{}, choose.BadSpec(text, err)
	}
	if s.Name == "" {
		if s.Rng != "" || s.Ref != "" {
			return skill.Source{}, workspace.Usage("no version is expected in `%s`", text)
		}
		return s.Source, nil
	}
	if m := p.Manifest.Get(text); m != nil && !m.Requirement.Source.IsZero() {
		return m.Requirement.Source, nil
	}
	e, err := p.Entry(text)
	if err != nil {
		return skill.Source{}, err
	}
	return workspace.MustSource(e), nil
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
func Info(ctx context.Context, p *world.World, text string) (*InfoResult, error) {
	if p.Lock != nil {
		if e := p.Lock.Get(text); e != nil {
			return infoEntry(ctx, p.Local, e)
		}
	}
	s, err := choose.ParseSpec(text)
	if err != nil {
		return nil, choose.BadSpec(text, err)
	}
	if s.Name != "" {
		if _, err := p.Entry(text); err != nil {
			return nil, err
		}
	}
	if s.Source.Kind() != skill.SourceGit {
		return nil, workspace.Usage("`info` describes a locked skill or a git source, not %s", s.Source.Identity())
	}
	return infoSource(ctx, p, s)
}

func infoSource(ctx context.Context, p *world.World, s choose.Spec) (*InfoResult, error) {
	p = p.Naming(s.Source)
	adds, _, err := choose.AddGit(ctx, p, s, choose.AddOptions{})
	if err != nil {
		return nil, err
	}
	a := adds[0]
	u := decide.NewProvider(p)
	chosen := resolver.Chosen{}
	if a.Req.Ref != "" {
		c, k, err := decide.AtRef(ctx, p, a.Req.Source, a.Key, a.Req.Ref, true)
		if err != nil {
			return nil, err
		}
		c.Name, c.Source = a.Key, a.Req.Source.Identity()
		chosen.Candidate = c
		u.Remember(c, k)
	} else {
		refs, err := p.Listing(ctx, a.Req.Source)
		if err != nil {
			return nil, err
		}
		found, err := choose.Newest(ctx, p, a.Req.Source, fetch.Versions(refs, fetch.PlaceOf(a.Req.Source)), a.Req.Range)
		if err != nil {
			return nil, err
		}
		chosen.Candidate = resolver.Candidate{Name: a.Key, Source: a.Req.Source.Identity(), Version: found.Version, Commit: string(found.Commit)}
		u.Remember(chosen.Candidate, decide.Candidate{Source: a.Req.Source, Tag: found.Tag, Want: found.Want()})
	}
	k := u.Candidate(chosen.Candidate)
	got, err := p.Obtain(ctx, []world.Request{{Key: a.Key, Src: k.Source, Want: k.Want}})
	if err != nil {
		return nil, err
	}
	e, err := decide.NewEntry(p.Local, chosen, k, got[0])
	if err != nil {
		return nil, err
	}
	r := &InfoResult{Listed: listed(p.Project, e, p.KnownRetractions([]*lockfile.Entry{e})[e.Key])}
	r.Installed, r.Path = false, ""
	fillInfo(ctx, p.Local, r, e, p.Stored(got[0].Tree))
	p.Cache.Flush(ctx)
	return r, nil
}

func infoEntry(ctx context.Context, p *world.Local, e *lockfile.Entry) (*InfoResult, error) {
	r := &InfoResult{Listed: listed(p.Project, e, p.KnownRetractions([]*lockfile.Entry{e})[e.Key]), Locked: true, RequiredBy: p.Lock.Dependents(e.Key)}
	c, err := p.Content(ctx, p.Lock, e)
	if err != nil {
		p.Opt.Report(diag.Note(diag.FetchOffline, "the files of `%s` are not at hand; what the lock says is shown", e.Key))
		fillSource(r, e)
		return r, nil
	}
	fillInfo(ctx, p, r, e, c)
	return r, nil
}

func fillSource(r *InfoResult, e *lockfile.Entry) {
	r.Requires = e.Requires
	r.Tag, r.Ref, r.Commit, r.Tree, r.URL = e.Source.Tag, e.Source.Ref, e.Source.Commit, e.Source.Tree, e.Source.URL
}

func fillInfo(ctx context.Context, p *world.Local, r *InfoResult, e *lockfile.Entry, c world.Content) {
	fillSource(r, e)
	r.Carries = decide.Carries(e, c.Tree)
	if s, _, err := c.Parsed(workspace.MustSource(e)); err == nil {
		r.License, r.Compatibility = s.License, s.Compatibility
		if r.Description == "" {
			r.Description = s.Description
		}
	}
	if e.Digest == "" {
		r.Signature = "local"
		return
	}
	if v, err := accept.Judge(ctx, p, e, c.Tree, nil, accept.TrustOptions{}); err == nil {
		r.Signature, r.State = v.Summary(), string(v.State)
	}
}
