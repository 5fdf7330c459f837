package project

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
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// pathDir returns the directory of a path source.
func (p *Project) pathDir(rel string) string {
	if filepath.IsAbs(filepath.FromSlash(rel)) {
		return filepath.FromSlash(rel)
	}
	return filepath.Join(p.Root, filepath.FromSlash(rel))
}

// checkPathSource refuses a path skill outside the project and its git work tree.
func (p *Project) checkPathSource(src skill.Source) error {
	dir := p.pathDir(src.Path())
	base := p.Root
	if top, ok := gitTop(p.Root); ok {
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
		return fileError(err)
	}
	if rel, err := filepath.Rel(realBase, real); err != nil || !filepath.IsLocal(rel) {
		return diag.New(diag.SourceNotAllowed, "the path skill %s lies outside the project", src.Path()).
			WithDetail("allowed is anything below %s", p.display(base)).
			WithHint("a repository elsewhere on this disk is written file:///…")
	}
	return nil
}

// checkPathPlaces refuses path skills whose source lies in a target under another
// name than their key: skillpm manages what is there, and would replace or remove
// the source itself.
func (p *Project) checkPathPlaces(l *lockfile.Lock) error {
	targets := l.Targets
	if p.opt.Global {
		targets = homeTargets(targets)
	}
	var list diag.List
	for _, e := range l.Skills {
		if e.Source.Type != lockfile.TypePath {
			continue
		}
		real, err := filepath.EvalSymlinks(p.pathDir(e.Source.Path))
		if err != nil {
			continue // that it is missing is told elsewhere
		}
		for _, t := range targets {
			if !managed(filepath.Join(p.layout().Root, filepath.FromSlash(t)), real, e.Key) {
				continue
			}
			list = append(list, diag.New(diag.SourceNotAllowed, "the path skill `%s` lies in the target %s, where skillpm itself replaces and removes skills", e.Key, t).
				At(p.display(p.manifestPath()), 0, 0).
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

// gitTop returns the git work tree that holds dir.
func gitTop(dir string) (string, bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// readPathSkill reads a path skill's SKILL.md.
func (p *Project) readPathSkill(src skill.Source) (skillFile, error) {
	if err := p.checkPathSource(src); err != nil {
		return skillFile{}, err
	}
	dir := p.pathDir(src.Path())
	name, err := skillFileIn(dir)
	if err != nil {
		return skillFile{}, diag.New(diag.SkillNotFound, "no SKILL.md in %s", src.Path()).WithCause(err)
	}
	data, err := regular.Read(filepath.Join(dir, name), parse.MaxFileBytes)
	if errors.Is(err, regular.ErrTooLarge) {
		return skillFile{}, diag.New(diag.TreeTooLarge, "%s/%s has more than %d bytes", src.Path(), name, parse.MaxFileBytes)
	}
	if err != nil {
		return skillFile{}, fileError(err)
	}
	f := skillFile{fact: skillFact{File: name, Text: data}}
	f.parsed, f.notes = parse.Read(data, parse.Options{File: name, Label: src.Path() + "/" + name, Dir: filepath.Base(dir), Local: true})
	f.fault = firstError(f.notes)
	return f, nil
}

// skillFileIn returns the spelling of SKILL.md in dir, the exact one first.
func skillFileIn(dir string) (string, error) {
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

// loadPath answers everything about one path skill.
func (u *universe) loadPath(ctx context.Context, w *work) error {
	for _, want := range append(w.versions, w.at...) {
		f, err := u.p.readPathSkill(w.src)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			if u.rootNames[want.Name].Identity() == w.src.Identity() {
				return err
			}
		}
		if err != nil {
			u.setVersions(want.Name, want.Source, resolver.Versions{State: resolver.Loaded, NotFound: err.Error()})
			u.setAt(want.Name, want.Source, want.Ref, atAnswer{state: resolver.Loaded})
			continue
		}
		if f.fault != nil {
			return f.fault
		}
		c := resolver.Candidate{Name: want.Name, Source: want.Source, Local: true, Version: f.parsed.Version}
		known := u.remember(c, candidate{source: w.src})
		edges, steps, err := u.settle(ctx, parent{key: want.Name, src: w.src, skill: f.parsed})
		if err != nil {
			return err
		}
		u.mu.Lock()
		known.parsed, known.chain = f.parsed, steps
		u.mu.Unlock()
		u.setVersions(want.Name, want.Source, resolver.Versions{State: resolver.Loaded, List: []resolver.Candidate{c}})
		u.setRequirements(c, resolver.Requirements{State: resolver.Loaded, Edges: edges})
		u.setDigest(c, digestAnswer{state: resolver.Loaded})
		for _, note := range f.notes {
			u.p.opt.Report(note)
		}
	}
	return nil
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
