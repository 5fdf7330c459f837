package project

import (
	"context"
	"path"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// atWrongPlace adds to skill_not_found where a skill of that name is, or of one
// that is spelled much like it.
func (p *Project) atWrongPlace(ctx context.Context, src skill.Source, want fetch.Want, err error) error {
	if diag.CodeOf(err) != diag.SkillNotFound {
		return err
	}
	e := *diag.All(err)[0]
	d, discoverErr := p.discover(ctx, parent{src: src, want: want})
	if discoverErr != nil {
		return err
	}
	for dir := src.Subpath(); dir != "." && dir != ""; dir = path.Dir(dir) { // an address may go on to SKILL.md or below
		if f, ok := d.At(dir); ok && f.Excluded == "" {
			return e.WithHint("did you mean %s?", src.WithSubpath(f.Path).Identity())
		}
	}
	if f, ok := closest(src.Name(), d.Listed()); ok {
		return e.WithHint("did you mean %s?", src.WithSubpath(f.Path).Identity())
	}
	return e.WithHint("`skillpm add %s` lists the skills there", short(src))
}

// noSuchSkill refuses a --skill NAME that is nowhere.
func noSuchSkill(src skill.Source, listed []fetch.Found, name string) *diag.Error {
	e := diag.New(diag.SkillNotFound, "no skill `%s` in %s", name, src.Repository())
	if f, ok := closest(name, listed); ok {
		return e.WithHint("did you mean `%s`?", path.Base(f.Path))
	}
	return e.WithHint("`skillpm add %s` lists what there is", short(src))
}

// closest returns the skill whose directory is called name, or nearly so.
func closest(name string, listed []fetch.Found) (fetch.Found, bool) {
	names := make([]string, len(listed))
	for i, f := range listed {
		names[i] = path.Base(f.Path)
		if names[i] == name {
			return f, true
		}
	}
	near := nearest(name, names)
	for i := range listed {
		if near != "" && names[i] == near {
			return listed[i], true
		}
	}
	return fetch.Found{}, false
}

// meantPath explains owner/repo/path, written with one slash where two divide
// the repository from the path: GitHub has no repository of that shape.
func meantPath(src skill.Source, err error) error {
	owner, rest, _ := strings.Cut(short(src), "/")
	repo, dir, deep := strings.Cut(rest, "/")
	if diag.CodeOf(err) != diag.RepositoryNotFoundOrPrivate || !deep || short(src) == src.Repository() {
		return err
	}
	e := *diag.All(err)[0]
	return e.WithHint("two slashes divide repository and path: did you mean %s/%s//%s?", owner, repo, path.Join(dir, src.Subpath()))
}

// meantSkill explains owner/repo@NAME where NAME is a skill and no version.
func (p *Project) meantSkill(ctx context.Context, refs *fetch.Refs, s spec, err error) error {
	if diag.CodeOf(err) != diag.RefNotFound {
		return err
	}
	head, headErr := p.headFor(ctx, refs, spec{source: s.source})
	if headErr != nil {
		return err
	}
	d, discoverErr := p.discover(ctx, parent{src: s.source, want: head})
	if discoverErr != nil {
		return err
	}
	for _, f := range d.Listed() {
		if path.Base(f.Path) == s.ref {
			e := *diag.All(err)[0]
			return e.WithHint("`%s` is a skill: did you mean %s//%s?", s.ref, short(s.source), f.Path)
		}
	}
	return err
}
