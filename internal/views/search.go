package views

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/choose"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// SearchResult is what Search found, best first.
type SearchResult struct {
	Query string     `json:"query"`
	Hits  []FoundHit `json:"hits"`
	// Searched are the repositories and registries that were looked through,
	// Skipped those that could not be.
	Searched []string        `json:"searched"`
	Skipped  []SearchSkipped `json:"skipped,omitempty"`
}

// FoundHit is one skill.
type FoundHit struct {
	Name        string `json:"name"`
	Source      string `json:"source"`
	Description string `json:"description,omitempty"`
	// Registry names the registry that lists it, "" if a repository holds it.
	Registry string `json:"registry,omitempty"`
	// Locked says that the lock has a skill from this source.
	Locked bool `json:"locked,omitempty"`
	rank   int
}

// SearchSkipped is a place that could not be searched.
type SearchSkipped struct {
	Source  string    `json:"source"`
	Code    diag.Code `json:"code"`
	Message string    `json:"message"`
}

// Search looks for text in the names that registries list, and in the names and
// descriptions of the skills of repositories: those that sources name, else those
// that skills.toml and the lock name. Every word of text must occur, letter case
// apart. What is known is taken from the index; a repository is read at the head
// of its default branch. One that cannot be read is a finding, after the others;
// of it the lock is searched.
func Search(ctx context.Context, p *world.World, text string, sources []string) (*SearchResult, error) {
	words := strings.Fields(strings.ToLower(text))
	r := &SearchResult{Query: text, Hits: []FoundHit{}, Searched: []string{}}
	repos, err := searched(p.Project, sources)
	if err != nil {
		return nil, err
	}
	if len(sources) > 0 {
		p = p.Naming(repos...)
	}
	if len(sources) == 0 {
		if err := p.LoadRegistries(ctx); err != nil {
			return nil, err
		}
		searchRegistries(p, words, r)
	}
	found := make([][]FoundHit, len(repos))
	errs := make([]error, len(repos))
	err = par.Do(ctx, p.Opt.Jobs, len(repos), func(ctx context.Context, i int) error {
		found[i], errs[i] = searchRepository(ctx, p, words, repos[i])
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	var findings diag.List
	for i, repo := range repos {
		if errs[i] != nil {
			e := diag.All(errs[i])[0]
			r.Skipped = append(r.Skipped, SearchSkipped{repo.Repository(), e.Code, e.Error()})
			findings = append(findings, e)
			r.Hits = append(r.Hits, searchLock(p.Project, words, repo)...)
			continue
		}
		r.Searched = append(r.Searched, repo.Repository())
		r.Hits = append(r.Hits, found[i]...)
	}
	markLocked(p.Project, r.Hits)
	slices.SortStableFunc(r.Hits, func(a, b FoundHit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.Name, b.Name), strings.Compare(a.Source, b.Source))
	})
	p.Cache.Flush(ctx)
	return r, findings.Err()
}

// searched returns the repositories to look through, each once, by identity.
func searched(p *workspace.Project, sources []string) ([]skill.Source, error) {
	var list []skill.Source
	add := func(src skill.Source) {
		same := func(s skill.Source) bool { return s.Repository() == src.Repository() && s.Subpath() == src.Subpath() }
		if src.Kind() == skill.SourceGit && !slices.ContainsFunc(list, same) {
			list = append(list, src)
		}
	}
	for _, text := range sources {
		s, err := choose.ParseSpec(text)
		if err != nil {
			return nil, choose.BadSpec(text, err)
		}
		if s.Name != "" || s.Source.Kind() != skill.SourceGit {
			return nil, workspace.Usage("`%s` is no git repository to search", text).WithHint("write owner/repo or a URL; the first argument is the text")
		}
		add(s.Source)
	}
	if len(sources) > 0 {
		return list, nil
	}
	for _, s := range p.Manifest.Skills {
		add(s.Requirement.Source.WithSubpath(""))
	}
	if p.Lock != nil {
		for _, e := range p.Lock.Skills {
			if src, ok := workspace.EntrySource(e); ok {
				add(src.WithSubpath(""))
			}
		}
	}
	slices.SortFunc(list, func(a, b skill.Source) int { return strings.Compare(a.Identity(), b.Identity()) })
	return list, nil
}

func searchRegistries(p *world.World, words []string, r *SearchResult) {
	for _, reg := range p.Registries {
		r.Searched = append(r.Searched, reg.Name)
		for name, entry := range reg.Skills {
			if rank, ok := matchWords(words, name, entry.Source); ok {
				r.Hits = append(r.Hits, FoundHit{Name: name, Source: entry.Source, Registry: reg.Name, rank: rank})
			}
		}
	}
}

// searchRepository reads names and descriptions of a repository's skills. What is
// known of its last listing serves a run without network.
func searchRepository(ctx context.Context, p *world.World, words []string, src skill.Source) ([]FoundHit, error) {
	head, err := p.HeadOf(ctx, src)
	if err != nil {
		return nil, err
	}
	d, err := p.Discover(ctx, world.Parent{Src: src, Want: head})
	if err != nil {
		return nil, err
	}
	var files []world.WantedFile
	for _, f := range d.Listed() {
		if below := src.Subpath(); below == "" || f.Path == below || strings.HasPrefix(f.Path, below+"/") {
			files = append(files, world.WantedFile{Src: src.WithSubpath(f.Path), Want: head})
		}
	}
	if err := p.WarmFacts(ctx, src, files); err != nil && !world.IsOffline(err) {
		return nil, err
	}
	var hits []FoundHit
	for _, f := range files {
		hit := hitOf(p, f, head)
		if rank, ok := matchWords(words, hit.Name, hit.Description); ok {
			hit.rank = rank
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

// searchLock looks through the locked skills of a repository that cannot be read:
// the lock has their descriptions.
func searchLock(p *workspace.Project, words []string, repo skill.Source) []FoundHit {
	if p.Lock == nil {
		return nil
	}
	var hits []FoundHit
	for _, e := range p.Lock.Skills {
		src, ok := workspace.EntrySource(e)
		if !ok || src.Repository() != repo.Repository() {
			continue
		}
		if rank, ok := matchWords(words, e.Key, e.Description); ok {
			hits = append(hits, FoundHit{Name: e.Key, Source: src.Identity(), Description: e.Description, rank: rank})
		}
	}
	return hits
}

// hitOf describes a skill by its frontmatter if that is at hand, else by its path.
func hitOf(p *world.World, f world.WantedFile, head fetch.Want) FoundHit {
	hit := FoundHit{Name: path.Base(f.Src.Subpath()), Source: f.Src.Identity()}
	if f.Src.Subpath() == "" {
		hit.Name = f.Src.Name()
	}
	fact := p.Fact(f.Src.Repository(), head.Commit, f.Src.Subpath())
	if fact.Text == nil {
		return hit
	}
	if s := world.ReadSkill(fact, f.Src, nil); s.Parsed != nil {
		hit.Description = s.Parsed.Description
		if s.Parsed.Name != "" {
			hit.Name = s.Parsed.Name
		}
	}
	return hit
}

// matchWords reports whether every word occurs in name or text, and how well: an
// equal name before names that begin with the text, hold it, and texts.
func matchWords(words []string, name, text string) (rank int, ok bool) {
	name, text = strings.ToLower(name), strings.ToLower(text)
	inName := true
	for _, w := range words {
		if !strings.Contains(name, w) {
			inName = false
			if !strings.Contains(text, w) {
				return 0, false
			}
		}
	}
	switch whole := strings.Join(words, "-"); {
	case name == whole:
		return 0, true
	case strings.HasPrefix(name, whole):
		return 1, true
	case inName:
		return 2, true
	}
	return 3, true
}

func markLocked(p *workspace.Project, hits []FoundHit) {
	if p.Lock == nil {
		return
	}
	locked := map[string]bool{}
	for _, e := range p.Lock.Skills {
		locked[workspace.SourceText(e)] = true
	}
	for i := range hits {
		hits[i].Locked = locked[hits[i].Source]
	}
}
