package choose

import (
	"context"
	"errors"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// AddOptions says what of the named sources to add.
type AddOptions struct {
	apply.InstallOptions
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

// Addition is one line for skills.toml.
type Addition struct {
	Key skill.Key
	Req skill.Requirement
	// asked says that a version, range or ref was given.
	asked bool
	// version is the one that was found, zero for a ref and outside git.
	version fetch.Candidate
}

// DistinctKeys refuses two sources for one key in one call.
func DistinctKeys(adds []Addition) error {
	seen := map[string]Addition{}
	for _, a := range adds {
		if other, ok := seen[a.Key.Fold()]; ok && other.Req.Source.Identity() != a.Req.Source.Identity() {
			return diag.New(diag.NameCollision, "two skills would be `%s`", a.Key).
				WithDetail("%s", other.Req.Source.Identity()).WithDetail("%s", a.Req.Source.Identity()).
				WithHint("add one of them alone with --as OTHER-NAME")
		}
		seen[a.Key.Fold()] = a
	}
	return nil
}

// SkippedFindings makes a run that could not take everything asked for fail.
func SkippedFindings(skipped []decide.SkippedSkill) error {
	var list diag.List
	for _, s := range skipped {
		list = append(list, diag.New(s.Code, "%s was not added: %s", s.Path, s.Message))
	}
	return list.Err()
}

// AddSolvable is addAll; with --all it leaves out, one after the other, the new
// skills whose requirements cannot be met, until the rest can be solved. It
// returns the project as edited.
func AddSolvable(ctx context.Context, p *world.World, adds []Addition, opt AddOptions) (*world.World, decide.Transaction, []decide.SkippedSkill, error) {
	var skipped []decide.SkippedSkill
	for {
		q, t, err := addAll(ctx, p, adds, opt)
		unsolved, ok := errors.AsType[*decide.SolveError](err)
		if !ok || !opt.All {
			return q, t, skipped, err
		}
		roots := unsolved.Roots()
		finding := diag.All(err)[0]
		rest := slices.DeleteFunc(slices.Clone(adds), func(a Addition) bool {
			blamed := slices.Contains(roots, a.Key)
			if blamed {
				skipped = append(skipped, decide.SkippedSkill{Path: a.Req.Source.Identity(), Code: finding.Code, Message: finding.Message})
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
func addAll(ctx context.Context, p *world.World, adds []Addition, opt AddOptions) (*world.World, decide.Transaction, error) {
	var prefer []skill.Key
	asked := adds[:0:0]
	for _, a := range adds {
		if err := CheckKey(p.Project, a); err != nil {
			return nil, decide.Transaction{}, err
		}
		if !a.asked && p.Written.Get(string(a.Key)) != nil {
			continue // there already: only update moves a version unasked
		}
		prefer = append(prefer, a.Key)
		asked = append(asked, a)
	}
	data, err := apply.Retarget(p.Project, opt.InstallOptions)
	if err != nil {
		return nil, decide.Transaction{}, err
	}
	if data == nil {
		data = p.ManifestData
	}
	if data, err = withAdditions(data, asked, adds, opt.Use); err != nil {
		return nil, decide.Transaction{}, err
	}
	q, err := p.Edited(data)
	if err != nil {
		return nil, decide.Transaction{}, err
	}
	t, err := decide.Relock(ctx, q, data, decide.ResolveOptions{Lock: p.Lock, Prefer: prefer, Consent: opt.ResolveSubskills})
	return q, t, err
}

// withAdditions puts the requirements of asked into the manifest, and the use of all.
func withAdditions(data []byte, asked, all []Addition, use string) ([]byte, error) {
	edit, err := manifest.NewEdit(data)
	if err != nil {
		return nil, err
	}
	for _, a := range asked {
		if err := edit.Set(a.Key, a.Req); err != nil {
			return nil, err
		}
	}
	for i := 0; use != "" && i < len(all); i++ {
		if err := edit.SetUse(all[i].Key, use); err != nil {
			return nil, err
		}
	}
	return edit.Bytes()
}

// CheckKey refuses a key that skills.toml has for another source.
func CheckKey(p *workspace.Project, a Addition) error {
	s := p.Written.Folded(a.Key)
	if s == nil || s.Key == a.Key && s.Requirement.Source.Identity() == a.Req.Source.Identity() {
		return nil
	}
	return diag.New(diag.NameCollision, "`%s` is already in skills.toml, from %s", s.Key, s.Requirement.Source.Identity()).
		At(p.Manifest.File, s.Line, s.Column).
		WithDetail("asked for now: %s", a.Req.Source.Identity()).
		WithHint("`skillpm add %s --as OTHER-NAME` keeps both", a.Req.Source.Identity())
}
