package world

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/local"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// CheckPathSource refuses a path skill outside the project and its git work tree.
func CheckPathSource(p *workspace.Project, src skill.Source) error {
	dir := p.PathDir(src.Path())
	base := p.Root
	if top, ok := workspace.GitTop(p.Root); ok {
		base = top
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return diag.New(diag.SkillNotFound, "no directory %s", src.Path()).WithCause(err)
	}
	realBase, err := filepath.EvalSymlinks(base)
	if errors.Is(err, fs.ErrNotExist) { // of one's own skills, before the first is there
		realBase, err = base, nil
	}
	if err != nil {
		return workspace.FileError(err)
	}
	if rel, err := filepath.Rel(realBase, real); err != nil || !filepath.IsLocal(rel) {
		return diag.New(diag.SourceNotAllowed, "the path skill %s lies outside the project", src.Path()).
			WithDetail("allowed is anything below %s", p.Display(base)).
			WithHint("a repository elsewhere on this disk is written file:///…")
	}
	return nil
}

// ReadPathSkill reads a path skill's SKILL.md.
func ReadPathSkill(p *workspace.Project, src skill.Source) (SkillFile, error) {
	if err := CheckPathSource(p, src); err != nil {
		return SkillFile{}, err
	}
	dir := p.PathDir(src.Path())
	name, err := SkillFileIn(dir)
	if err != nil {
		return SkillFile{}, diag.New(diag.SkillNotFound, "no SKILL.md in %s", src.Path()).WithCause(err)
	}
	data, err := regular.Read(filepath.Join(dir, name), parse.MaxFileBytes)
	if errors.Is(err, regular.ErrTooLarge) {
		return SkillFile{}, diag.New(diag.TreeTooLarge, "%s/%s has more than %d bytes", src.Path(), name, parse.MaxFileBytes)
	}
	if err != nil {
		return SkillFile{}, workspace.FileError(err)
	}
	f := SkillFile{fact: SkillFact{File: name, Text: data}}
	f.Parsed, f.Notes = parse.Read(data, parse.Options{File: name, Label: src.Path() + "/" + name, Dir: filepath.Base(dir), Local: true})
	f.Fault = workspace.FirstError(f.Notes)
	return f, nil
}

// SkillFileIn returns the spelling of SKILL.md in dir, the exact one first.
func SkillFileIn(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	other := ""
	for _, e := range entries {
		switch {
		case e.Name() == parse.FileName:
			return parse.FileName, nil
		case skill.FoldPath(e.Name()) == skill.FoldPath(parse.FileName) && other == "":
			other = e.Name()
		}
	}
	if other == "" {
		return "", fs.ErrNotExist
	}
	return other, nil
}

// discoverDir finds the skills below a directory of the project.
func discoverDir(ctx context.Context, dir string) (*fetch.Discovery, error) {
	snap, err := local.Open(dir)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	return fetch.Discover(ctx, snap, local.Commit)
}

// RelativePath turns a path source as the user typed it, relative to where they
// are, into one relative to the project.
func RelativePath(p *workspace.Project, src skill.Source) (skill.Source, error) {
	dir := filepath.FromSlash(src.Path())
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.Opt.Dir, dir)
	}
	rel, err := filepath.Rel(p.Root, dir)
	if err != nil {
		return src, diag.New(diag.SourceNotAllowed, "%s lies outside the project", dir).WithCause(err)
	}
	out, err := skill.ParseSource("path:" + filepath.ToSlash(rel))
	if err != nil {
		return src, err
	}
	return out, CheckPathSource(p, out)
}

// CheckPathPlaces refuses path skills whose source lies in a target under another
// name than their key: skillpm manages what is there, and would replace or remove
// the source itself.
func CheckPathPlaces(p *workspace.Project, l *lockfile.Lock) error {
	targets := l.Targets
	if p.Opt.Global {
		targets = workspace.HomeTargets(targets)
	}
	var list diag.List
	for _, e := range l.Skills {
		if e.Source.Type != lockfile.TypePath {
			continue
		}
		real, err := filepath.EvalSymlinks(p.PathDir(e.Source.Path))
		if err != nil {
			continue // that it is missing is told elsewhere
		}
		for _, t := range targets {
			if !managed(filepath.Join(p.Layout().Root, filepath.FromSlash(t)), real, e.Key) {
				continue
			}
			list = append(list, diag.New(diag.SourceNotAllowed, "the path skill `%s` lies in the target %s, where skillpm itself replaces and removes skills", e.Key, t).
				At(p.Display(p.ManifestPath()), 0, 0).
				WithHint("move %s out of the target, or give the skill its name `%s`", e.Source.Path, filepath.Base(real)))
		}
	}
	return list.Err()
}

// managed reports whether real lies in the directory target, links followed, and
// is not the place there that key itself has.
func managed(target, real, key string) bool {
	dir, err := filepath.EvalSymlinks(target)
	if err != nil {
		return false
	}
	inside, err := filepath.Rel(dir, real)
	return err == nil && filepath.IsLocal(inside) && inside != key
}
