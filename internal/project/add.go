package project

import (
	"context"
	"errors"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/skill"
)

// AddOptions says what of the named sources to add.
type AddOptions struct {
	InstallOptions
	// As is the key; only for one skill.
	As string
	// Skills are names of skills to take of a repository, All takes every one.
	Skills []string
	All    bool
	// Use is written to the manifest: "required", "optional" or "".
	Use string
	// Choose picks among several skills; nil means that nobody is there.
	Choose func(repository string, paths []string) ([]string, error)
}

// addition is one line for skills.toml.
type addition struct {
	key skill.Key
	req skill.Requirement
	// asked says that a version, range or ref was given.
	asked bool
}

// Add puts sources into skills.toml, resolves with what is locked held as it is,
// and installs, all in one transaction.
func (p *Project) Add(ctx context.Context, specs []string, opt AddOptions) (*Change, error) {
	if opt.As != "" && (len(specs) != 1 || opt.All || len(opt.Skills) > 1) {
		return nil, usage("--as names one skill; give one source")
	}
	if err := p.loadRegistries(ctx); err != nil {
		return nil, err
	}
	asked, err := p.parseSpecs(specs)
	if err != nil {
		return nil, err
	}
	p = p.namingSpecs(asked)
	adds, skipped, err := p.allAdditions(ctx, asked, opt)
	if err != nil {
		return nil, err
	}
	if err := distinctKeys(adds); err != nil {
		return nil, err
	}
	if len(adds) == 0 {
		return nil, skippedFindings(skipped)
	}
	p, t, left, err := p.addSolvable(ctx, adds, opt)
	if err != nil {
		return nil, err
	}
	skipped = append(skipped, left...)
	t.skipped = skipped
	change, err := p.apply(ctx, t, opt.InstallOptions)
	if err != nil {
		return change, err
	}
	return change, skippedFindings(skipped)
}

// distinctKeys refuses two sources for one key in one call.
func distinctKeys(adds []addition) error {
	seen := map[string]addition{}
	for _, a := range adds {
		if other, ok := seen[a.key.Fold()]; ok && other.req.Source.Identity() != a.req.Source.Identity() {
			return diag.New(diag.NameCollision, "two skills would be `%s`", a.key).
				WithDetail("%s", other.req.Source.Identity()).WithDetail("%s", a.req.Source.Identity()).
				WithHint("add one of them alone with --as OTHER-NAME")
		}
		seen[a.key.Fold()] = a
	}
	return nil
}

// skippedFindings makes a run that could not take everything asked for fail.
func skippedFindings(skipped []SkippedSkill) error {
	var list diag.List
	for _, s := range skipped {
		list = append(list, diag.New(s.Code, "%s was not added: %s", s.Path, s.Message))
	}
	return list.Err()
}

// addSolvable is addAll; with --all it leaves out, one after the other, the new
// skills whose requirements cannot be met, until the rest can be solved. It
// returns the project as edited.
func (p *Project) addSolvable(ctx context.Context, adds []addition, opt AddOptions) (*Project, transaction, []SkippedSkill, error) {
	var skipped []SkippedSkill
	for {
		q, t, err := p.addAll(ctx, adds, opt)
		unsolved, ok := errors.AsType[*solveError](err)
		if !ok || !opt.All {
			return q, t, skipped, err
		}
		roots := unsolved.roots()
		finding := diag.All(err)[0]
		rest := slices.DeleteFunc(slices.Clone(adds), func(a addition) bool {
			blamed := slices.Contains(roots, a.key)
			if blamed {
				skipped = append(skipped, SkippedSkill{Path: a.req.Source.Identity(), Code: finding.Code, Message: finding.Message})
			}
			return blamed
		})
		if len(rest) == len(adds) || len(rest) == 0 {
			return q, t, skipped, err
		}
		adds = rest
	}
}

// addAll edits the manifest and resolves. It returns the project as edited.
func (p *Project) addAll(ctx context.Context, adds []addition, opt AddOptions) (*Project, transaction, error) {
	var prefer []skill.Key
	asked := adds[:0:0]
	for _, a := range adds {
		if err := p.checkKey(a); err != nil {
			return nil, transaction{}, err
		}
		if !a.asked && p.written.Get(string(a.key)) != nil {
			continue // there already: only update moves a version unasked
		}
		prefer = append(prefer, a.key)
		asked = append(asked, a)
	}
	data, err := p.retarget(opt.InstallOptions)
	if err != nil {
		return nil, transaction{}, err
	}
	if data == nil {
		data = p.manifestData
	}
	if data, err = write(data, asked, adds, opt.Use); err != nil {
		return nil, transaction{}, err
	}
	q, err := p.edited(data)
	if err != nil {
		return nil, transaction{}, err
	}
	t, err := q.relock(ctx, data, resolveOptions{lock: p.lock, prefer: prefer, consent: opt.ResolveSubskills})
	return q, t, err
}

// write puts the requirements of asked into the manifest, and the use of all.
func write(data []byte, asked, all []addition, use string) ([]byte, error) {
	edit, err := manifest.NewEdit(data)
	if err != nil {
		return nil, err
	}
	for _, a := range asked {
		if err := edit.Set(a.key, a.req); err != nil {
			return nil, err
		}
	}
	for i := 0; use != "" && i < len(all); i++ {
		if err := edit.SetUse(all[i].key, use); err != nil {
			return nil, err
		}
	}
	return edit.Bytes()
}

// checkKey refuses a key that skills.toml has for another source.
func (p *Project) checkKey(a addition) error {
	for _, s := range p.written.Skills {
		if s.Key.Fold() != a.key.Fold() {
			continue
		}
		if s.Key != a.key || s.Requirement.Source.Identity() != a.req.Source.Identity() {
			return diag.New(diag.NameCollision, "`%s` is already in skills.toml, from %s", s.Key, s.Requirement.Source.Identity()).
				At(p.manifest.File, s.Line, s.Column).
				WithDetail("asked for now: %s", a.req.Source.Identity()).
				WithHint("`skillpm add %s --as OTHER-NAME` keeps both", a.req.Source.Identity())
		}
	}
	return nil
}
