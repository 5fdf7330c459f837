package world

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// Parent is a skill whose requirements are being settled.
type Parent struct {
	Key   skill.Key
	Src   skill.Source
	Want  fetch.Want // zero for a path skill
	Skill *parse.Skill
}

// everything is the path under which the index keeps a commit's discovery; no
// real path begins with NUL.
const everything = "\x00all"

// Discover finds the skills of a commit, or below a directory of the project.
// If the commit has to be opened, the commits of next are opened with it.
func (p *World) Discover(ctx context.Context, at Parent, next ...fetch.Want) (*fetch.Discovery, error) {
	if at.Src.Kind() == skill.SourcePath {
		return discoverDir(ctx, p.PathDir(path.Dir(at.Src.Path())))
	}
	repository := at.Src.Repository()
	if data, ok := p.Cache.Get(BucketSkills, FactKey(repository, at.Want.Commit, everything)); ok {
		var d fetch.Discovery
		if json.Unmarshal(data, &d) == nil {
			return &d, nil
		}
	}
	if len(next) > 0 { // what fails is met again below, or by whoever needs it
		_, _ = p.Snapshots(ctx, at.Src, append(next, at.Want))
	}
	snap, err := p.snapshot(ctx, at.Src, at.Want)
	if err != nil {
		return nil, err
	}
	d, err := fetch.Discover(ctx, snap, at.Want.Commit)
	if err != nil {
		return nil, err
	}
	if data, err := json.Marshal(d); err == nil {
		p.Cache.Put(BucketSkills, FactKey(repository, at.Want.Commit, everything), data)
	}
	return d, nil
}

// WithSubpath settles a repository given without a subpath: the one skill in it,
// else ambiguous_skill, listing them.
func (p *World) WithSubpath(ctx context.Context, src skill.Source) (skill.Source, *diag.Error, error) {
	if src.Kind() != skill.SourceGit || src.HasSubpath() {
		return src, nil, nil
	}
	if !p.Approved(src) { // the solver will ask for consent; nothing may be contacted before
		return src, nil, nil
	}
	want, err := p.HeadOf(ctx, src)
	if err != nil {
		return src, nil, err
	}
	d, err := p.Discover(ctx, Parent{Src: src, Want: want})
	if err != nil {
		return src, nil, err
	}
	if len(d.Skills) == 1 {
		return src.WithSubpath(d.Skills[0].Path), nil, nil
	}
	listed := d.Listed()
	switch len(listed) {
	case 0:
		return src, diag.New(diag.SkillNotFound, "no SKILL.md anywhere in %s", src.Repository()), nil
	case 1:
		return src.WithSubpath(listed[0].Path), nil, nil
	}
	return src, AmbiguousSkills(src, listed), nil
}

// MaxListed bounds how many skills an ambiguous_skill names.
const MaxListed = 20

// AmbiguousSkills refuses a repository of several skills, listing them.
func AmbiguousSkills(src skill.Source, listed []fetch.Found) *diag.Error {
	e := diag.New(diag.AmbiguousSkill, "%s holds %d skills; say which", src.Repository(), len(listed))
	var names []string
	for i, f := range listed {
		if i == MaxListed {
			e.WithDetail("… and %d more", len(listed)-i)
			break
		}
		names = append(names, f.Path)
		e.WithDetail("%s", src.WithSubpath(f.Path).Identity())
	}
	e.Data = map[string]any{"paths": names}
	e.WithHint("`skillpm add %s//%s` takes one, --skill NAME… some, --all every one", Short(src), listed[0].Path)
	if len(listed) > MaxListed {
		e.Hint += fmt.Sprintf("; `skillpm search WORD %s` looks for one", Short(src))
	}
	return e
}

// Short returns a repository as people write it.
func Short(src skill.Source) string { return strings.TrimPrefix(src.Repository(), "github.com/") }

// HeadOf returns the head of src's default branch.
func (p *World) HeadOf(ctx context.Context, src skill.Source) (fetch.Want, error) {
	refs, err := p.Listing(ctx, src)
	if err != nil {
		return fetch.Want{}, err
	}
	head, err := fetch.DefaultBranch(refs, src)
	if err != nil {
		return fetch.Want{}, err
	}
	return head.Want(), nil
}

// meantPath explains owner/repo/path, written with one slash where two divide
// the repository from the path: GitHub has no repository of that shape.
func meantPath(src skill.Source, err error) error {
	owner, rest, _ := strings.Cut(Short(src), "/")
	repo, dir, deep := strings.Cut(rest, "/")
	if diag.CodeOf(err) != diag.RepositoryNotFoundOrPrivate || !deep || Short(src) == src.Repository() {
		return err
	}
	e := *diag.All(err)[0]
	return e.WithHint("two slashes divide repository and path: did you mean %s/%s//%s?", owner, repo, path.Join(dir, src.Subpath()))
}

// TagCommit returns the commit that a listing gives a tag.
func TagCommit(refs *fetch.Refs, tag string) (fetch.ID, bool) {
	for _, r := range refs.List {
		if r.Name == "refs/tags/"+tag {
			return r.Commit(), true
		}
	}
	return "", false
}

// TagsMixed is the note that a skill's own tags count alone, though newer ones
// are for its whole repository.
func TagsMixed(src skill.Source) *diag.Error {
	return diag.Note(diag.TagsMixed, "%s has repository-wide tags that are newer than those of this skill; they do not count", src.Identity())
}
