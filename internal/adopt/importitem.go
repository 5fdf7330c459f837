package adopt

import (
	"context"
	"os"
	"path/filepath"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/choose"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/interop"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// additions finds the skills that an entry means and what to require of each.
func (im *importer) additions(ctx context.Context, it item) ([]choose.Addition, error) {
	switch it.Source.Kind() {
	case skill.SourcePath:
		return im.pathAdditions(ctx, it)
	case skill.SourceIndex:
		adds, _, err := choose.AddIndex(ctx, im.p, choose.Spec{Text: it.Name, Source: it.Source}, choose.AddOptions{Skills: it.Pick, All: it.Whole})
		return adds, err
	}
	return im.gitAdditions(ctx, it)
}

// pathAdditions takes a directory of the project: a skill, or with Whole those in
// it and in its skills.
func (im *importer) pathAdditions(ctx context.Context, it item) ([]choose.Addition, error) {
	dir := filepath.FromSlash(it.Source.Path())
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(it.dir, dir)
	}
	dirs, key := []string{dir}, it.Key
	if _, err := world.SkillFileIn(dir); err != nil && it.Whole {
		dirs, key = append(skillsIn(dir), skillsIn(filepath.Join(dir, "skills"))...), ""
		if len(dirs) == 0 {
			return nil, diag.New(diag.SkillNotFound, "no SKILL.md in %s", im.p.Display(dir))
		}
	}
	var adds []choose.Addition
	for _, d := range dirs {
		src, err := skill.ParseSource("path:" + filepath.ToSlash(d))
		if err != nil {
			return adds, err
		}
		more, _, err := choose.AddPath(ctx, im.p.Project, choose.Spec{Text: it.Name, Source: src}, choose.AddOptions{As: key})
		if err != nil {
			return adds, err
		}
		adds = append(adds, more...)
	}
	return adds, nil
}

// skillsIn returns the directories directly in dir that hold a skill.
func skillsIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if _, err := world.SkillFileIn(at); err == nil {
			out = append(out, at)
		}
	}
	return out
}

// gitAdditions takes one or several skills of a repository.
func (im *importer) gitAdditions(ctx context.Context, it item) ([]choose.Addition, error) {
	p := im.p
	refs, err := p.Listing(ctx, it.Source)
	if err != nil {
		return nil, err
	}
	s := im.spec(it.Item)
	if s.Rng != "" {
		if err := resolver.CheckRange(s.Rng); err != nil {
			return nil, diag.New(diag.RequirementSyntax, "`%s` is no version range: %v", s.Rng, err)
		}
	}
	if it.Source.HasSubpath() && !it.Whole && len(it.Pick) == 0 {
		a, err := im.addition(ctx, refs, it.Item, s, it.Source, it.Key)
		if err != nil {
			return nil, err
		}
		return []choose.Addition{a}, nil
	}
	paths, err := im.paths(ctx, refs, it, s)
	if err != nil {
		return nil, err
	}
	key := it.Key
	if len(paths) > 1 {
		key = ""
	}
	var adds []choose.Addition
	for _, dir := range paths {
		a, err := im.addition(ctx, refs, it.Item, s, it.Source.WithSubpath(dir), key)
		switch {
		case err == nil:
			adds = append(adds, a)
		case !it.Whole || ctx.Err() != nil:
			return adds, err
		default:
			im.skip(it.Place, it.Name+": "+dir, err)
		}
	}
	return adds, nil
}

// spec says which version of the repository is looked through: the locked one,
// unless it shall be let go.
func (im *importer) spec(it interop.Item) choose.Spec {
	s := choose.Spec{Text: it.Name, Source: it.Source, Rng: it.Range, Ref: it.Ref}
	switch {
	case im.opt.Unpin:
	case it.Commit != "":
		s.Ref, s.Rng = it.Commit, ""
	case it.Tag != "":
		s.Ref, s.Rng = it.Tag, ""
	}
	return s
}

// paths finds the skills that an entry without an exact path means.
func (im *importer) paths(ctx context.Context, refs *fetch.Refs, it item, s choose.Spec) ([]string, error) {
	at, err := choose.HeadFor(refs, s)
	if err != nil {
		return nil, err
	}
	d, err := im.p.Discover(ctx, world.Parent{Src: it.Source, Want: at})
	if err != nil {
		return nil, err
	}
	if f, ok := d.At(it.Source.Subpath()); ok && it.Whole && (it.Source.Subpath() != "" || len(d.Skills) == 1) {
		return []string{f.Path}, nil
	}
	return choose.Choose(s, d, choose.AddOptions{Skills: it.Pick, All: it.Whole})
}

// addition decides what to require of one skill. A locked commit or tag that is
// one of its versions is written as that version, else as ref.
func (im *importer) addition(ctx context.Context, refs *fetch.Refs, it interop.Item, s choose.Spec, src skill.Source, key string) (choose.Addition, error) {
	locked := !im.opt.Unpin && (it.Commit != "" || it.Tag != "")
	if locked || it.Ref != "" {
		for _, c := range fetch.Versions(refs, fetch.PlaceOf(src)).Candidates {
			if len(c.Conflicts) == 0 && (string(c.Commit) == s.Ref || c.Tag == s.Ref) {
				s.Rng, s.Ref = "="+c.Version.String(), ""
				break
			}
		}
	}
	return choose.AddOneGit(ctx, im.p, refs, s, src, key)
}
