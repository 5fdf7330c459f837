package choose

import (
	"context"
	"path"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// atWrongPlace adds to skill_not_found where a skill of that name is, or of one
// that is spelled much like it.
func atWrongPlace(ctx context.Context, p *world.World, src skill.Source, want fetch.Want, err error) error {
	if diag.CodeOf(err) != diag.SkillNotFound {
		return err
	}
	e := *diag.All(err)[0]
	d, discoverErr := p.Discover(ctx, world.Parent{Src: src, Want: want})
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
	return e.WithHint("`skillpm add %s` lists the skills there", world.Short(src))
}

// noSuchSkill refuses a --skill NAME that is nowhere.
func noSuchSkill(src skill.Source, listed []fetch.Found, name string) *diag.Error {
	e := diag.New(diag.SkillNotFound, "no skill `%s` in %s", name, src.Repository())
	if f, ok := closest(name, listed); ok {
		return e.WithHint("did you mean `%s`?", path.Base(f.Path))
	}
	return e.WithHint("`skillpm add %s` lists what there is", world.Short(src))
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
	near := workspace.Nearest(name, names)
	for i := range listed {
		if near != "" && names[i] == near {
			return listed[i], true
		}
	}
	return fetch.Found{}, false
}

// meantSkill explains owner/repo@NAME where NAME is a skill and no version.
func meantSkill(ctx context.Context, p *world.World, refs *fetch.Refs, s Spec, err error) error {
	if diag.CodeOf(err) != diag.RefNotFound {
		return err
	}
	head, headErr := HeadFor(refs, Spec{Source: s.Source})
	if headErr != nil {
		return err
	}
	d, discoverErr := p.Discover(ctx, world.Parent{Src: s.Source, Want: head})
	if discoverErr != nil {
		return err
	}
	for _, f := range d.Listed() {
		if path.Base(f.Path) == s.Ref {
			e := *diag.All(err)[0]
			return e.WithHint("`%s` is a skill: did you mean %s//%s?", s.Ref, world.Short(s.Source), f.Path)
		}
	}
	return err
}
