package project

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
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
func (p *Project) Search(ctx context.Context, text string, sources []string) (*SearchResult, error) {
	words := strings.Fields(strings.ToLower(text))
	r := &SearchResult{Query: text, Hits: []FoundHit{}, Searched: []string{}}
	repos, err := p.searched(sources)
	if err != nil {
		return nil, err
	}
	if len(sources) > 0 {
		p = p.naming(repos...)
	}
	if len(sources) == 0 {
		if err := p.loadRegistries(ctx); err != nil {
			return nil, err
		}
		p.searchRegistries(words, r)
	}
	found := make([][]FoundHit, len(repos))
	errs := make([]error, len(repos))
	err = par.Do(ctx, p.opt.Jobs, len(repos), func(ctx context.Context, i int) error {
		found[i], errs[i] = p.searchRepository(ctx, words, repos[i])
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
			r.Hits = append(r.Hits, p.searchLock(words, repo)...)
			continue
		}
		r.Searched = append(r.Searched, repo.Repository())
		r.Hits = append(r.Hits, found[i]...)
	}
	p.markLocked(r.Hits)
	slices.SortStableFunc(r.Hits, func(a, b FoundHit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.Name, b.Name), strings.Compare(a.Source, b.Source))
	})
	p.cache.Flush(ctx)
	return r, findings.Err()
}

// searched returns the repositories to look through, each once, by identity.
func (p *Project) searched(sources []string) ([]skill.Source, error) {
	var list []skill.Source
	add := func(src skill.Source) {
		same := func(s skill.Source) bool { return s.Repository() == src.Repository() && s.Subpath() == src.Subpath() }
		if src.Kind() == skill.SourceGit && !slices.ContainsFunc(list, same) {
			list = append(list, src)
		}
	}
	for _, text := range sources {
		s, err := parseSpec(text)
		if err != nil {
			return nil, badSpec(text, err)
		}
		if s.name != "" || s.source.Kind() != skill.SourceGit {
			return nil, usage("`%s` is no git repository to search", text).WithHint("write owner/repo or a URL; the first argument is the text")
		}
		add(s.source)
	}
	if len(sources) > 0 {
		return list, nil
	}
	for _, s := range p.manifest.Skills {
		add(s.Requirement.Source.WithSubpath(""))
	}
	if p.lock != nil {
		for _, e := range p.lock.Skills {
			if src, ok := entrySource(e); ok {
				add(src.WithSubpath(""))
			}
		}
	}
	slices.SortFunc(list, func(a, b skill.Source) int { return strings.Compare(a.Identity(), b.Identity()) })
	return list, nil
}

func (p *Project) searchRegistries(words []string, r *SearchResult) {
	for _, reg := range p.registries {
		r.Searched = append(r.Searched, reg.name)
		for name, entry := range reg.Skills {
			if rank, ok := matchWords(words, name, entry.Source); ok {
				r.Hits = append(r.Hits, FoundHit{Name: name, Source: entry.Source, Registry: reg.name, rank: rank})
			}
		}
	}
}

// searchRepository reads names and descriptions of a repository's skills. What is
// known of its last listing serves a run without network.
func (p *Project) searchRepository(ctx context.Context, words []string, src skill.Source) ([]FoundHit, error) {
	head, err := p.headOf(ctx, src)
	if err != nil {
		return nil, err
	}
	d, err := p.discover(ctx, parent{src: src, want: head})
	if err != nil {
		return nil, err
	}
	var files []wantedFile
	for _, f := range d.Listed() {
		if below := src.Subpath(); below == "" || f.Path == below || strings.HasPrefix(f.Path, below+"/") {
			files = append(files, wantedFile{src.WithSubpath(f.Path), head})
		}
	}
	if err := p.warmFacts(ctx, src, files); err != nil && !isOffline(err) {
		return nil, err
	}
	var hits []FoundHit
	for _, f := range files {
		hit := p.hitOf(f, head)
		if rank, ok := matchWords(words, hit.Name, hit.Description); ok {
			hit.rank = rank
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

// searchLock looks through the locked skills of a repository that cannot be read:
// the lock has their descriptions.
func (p *Project) searchLock(words []string, repo skill.Source) []FoundHit {
	if p.lock == nil {
		return nil
	}
	var hits []FoundHit
	for _, e := range p.lock.Skills {
		src, ok := entrySource(e)
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
func (p *Project) hitOf(f wantedFile, head fetch.Want) FoundHit {
	hit := FoundHit{Name: path.Base(f.src.Subpath()), Source: f.src.Identity()}
	if f.src.Subpath() == "" {
		hit.Name = f.src.Name()
	}
	fact := p.fact(f.src.Repository(), head.Commit, f.src.Subpath())
	if fact.Text == nil {
		return hit
	}
	if s := readSkill(fact, f.src, nil); s.parsed != nil {
		hit.Description = s.parsed.Description
		if s.parsed.Name != "" {
			hit.Name = s.parsed.Name
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

func (p *Project) markLocked(hits []FoundHit) {
	if p.lock == nil {
		return
	}
	locked := map[string]bool{}
	for _, e := range p.lock.Skills {
		locked[sourceText(e)] = true
	}
	for i := range hits {
		hits[i].Locked = locked[hits[i].Source]
	}
}
