package choose

import (
	"context"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// Spec is one argument of add: a source, and what was said about the version.
type Spec struct {
	Text   string
	Source skill.Source
	Name   string // a name to look up in the registries instead of a source
	Rng    string // a version range, "" if none was given
	Ref    string // a branch, tag or commit
	// key is set where the argument named a skill of the project; Source is its.
	key skill.Key
	// browser is the text after /tree/ of a browser URL: a ref and a path, to be
	// told apart by the refs that exist.
	browser string
	// every says that the path ended in *: every skill below it.
	every bool
}

// ParseSpec reads SRC[@VERSION]. The @ is the last one that is neither the user
// of a URL or scp form nor directly after a slash.
func ParseSpec(text string) (Spec, error) {
	s := Spec{Text: text}
	base, version, found := cutVersion(text)
	if found {
		if err := s.version(version); err != nil {
			return s, err
		}
	}
	if repo, rest, ok := browserURL(base); ok {
		src, err := skill.ParseSource(repo)
		if err != nil {
			return s, err
		}
		s.Source, s.browser = src, rest
		return s, nil
	}
	src, err := skill.ParseSource(base)
	if err == nil {
		if dir, ok := strings.CutSuffix("/"+src.Subpath(), "/*"); ok && src.Kind() == skill.SourceGit {
			src, s.every = src.WithSubpath(strings.TrimPrefix(dir, "/")), true
		}
		s.Source = src
		return s, nil
	}
	if _, keyErr := skill.ParseKey(base); keyErr == nil && !strings.ContainsAny(base, "/:") {
		s.Name = base
		return s, nil
	}
	return s, err
}

func cutVersion(text string) (base, version string, found bool) {
	for i := len(text) - 1; i > 0; i-- {
		if text[i] != '@' || text[i-1] == '/' || isUser(text, i) {
			continue
		}
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// isUser reports whether the @ at i ends a user name: of a URL's authority, or
// of user@host:path.
func isUser(text string, i int) bool {
	before, after := text[:i], text[i+1:]
	if _, rest, ok := strings.Cut(before, "://"); ok {
		return !strings.Contains(rest, "/")
	}
	if strings.ContainsAny(before, "/") {
		return false
	}
	host, _, colon := strings.Cut(after, ":")
	return colon && !strings.Contains(host, "/")
}

func (s *Spec) version(v string) error {
	if name, ok := strings.CutPrefix(v, "ref:"); ok {
		s.Ref = name
		return skill.CheckRef(name)
	}
	if v == "" {
		return workspace.Usage("nothing stands after the `@` in `%s`", s.Text)
	}
	if v == "latest" || v == "*" {
		s.Rng = "*"
		return nil
	}
	if !skill.IsObjectID(v) {
		if _, err := semver.NewConstraint(v); err == nil {
			s.Rng = v
			return nil
		}
	}
	s.Ref = v
	return skill.CheckRef(v)
}

// browserMarks are how hosts write "this ref and path" in a browser's address:
// GitHub, GitLab, Gitea and Codeberg, Bitbucket.
var browserMarks = []string{"/-/tree/", "/-/blob/", "/tree/", "/blob/", "/src/branch/", "/src/tag/", "/src/commit/", "/src/"}

// browserURL splits the address of a folder in a host's web pages into
// repository and the rest, in which ref and path are not told apart yet.
func browserURL(text string) (repo, rest string, ok bool) {
	if !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") {
		return "", "", false
	}
	text, _, _ = strings.Cut(text, "#")
	text, _, _ = strings.Cut(text, "?")
	_, after, _ := strings.Cut(text, "://")
	if strings.Contains(after, "//") {
		return "", "", false
	}
	for _, mark := range browserMarks {
		i := strings.Index(text, mark)
		if i < 0 || strings.Count(text[:i], "/") < 4 { // scheme://host/owner/repo at least
			continue
		}
		rest, err := url.PathUnescape(strings.Trim(text[i+len(mark):], "/"))
		if err != nil || rest == "" {
			return "", "", false
		}
		return text[:i], rest, true
	}
	return "", "", false
}

// splitBrowser tells ref and path apart by the longest ref that exists.
func splitBrowser(refs *fetch.Refs, rest string) (ref, path string, ok bool) {
	exists := map[string]bool{}
	for _, r := range refs.List {
		name := strings.TrimPrefix(strings.TrimPrefix(r.Name, "refs/heads/"), "refs/tags/")
		exists[name] = true
	}
	for i := len(rest); i > 0; i-- {
		if i != len(rest) && rest[i] != '/' {
			continue
		}
		head := rest[:i]
		if exists[head] || skill.IsObjectID(head) {
			return head, strings.Trim(rest[i:], "/"), true
		}
	}
	return "", "", false
}

// settleBrowser turns a browser URL into source and ref.
func settleBrowser(ctx context.Context, p *world.World, s *Spec) error {
	if s.browser == "" {
		return nil
	}
	refs, err := p.Listing(ctx, s.Source)
	if err != nil {
		return err
	}
	ref, path, ok := splitBrowser(refs, s.browser)
	if !ok {
		return diag.New(diag.RefNotFound, "no branch, tag or commit of %s begins `%s`", s.Source.Repository(), s.browser).
			WithHint("`skillpm versions %s` lists what there is", s.Source.Repository())
	}
	path = strings.TrimSuffix(path, "/SKILL.md")
	if path == "SKILL.md" {
		path = ""
	}
	if s.Rng == "" && s.Ref == "" {
		s.Ref = ref
	}
	s.Source = s.Source.WithSubpath(path)
	s.browser = ""
	return nil
}
