package project

import (
	"context"
	"maps"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// addMany adds several skills of one commit. With --all one that cannot be
// taken is skipped with its reason; named ones refuse the whole.
func (p *Project) addMany(ctx context.Context, refs *fetch.Refs, s spec, at fetch.Want, paths []string, opt AddOptions) ([]addition, []SkippedSkill, error) {
	var files []wantedFile
	for _, dir := range paths {
		files = append(files, wantedFile{s.source.WithSubpath(dir), at})
	}
	if err := p.warmFacts(ctx, s.source, files); err != nil {
		return nil, nil, err
	}
	var adds []addition
	var skipped []SkippedSkill
	skip := func(src skill.Source, err error) {
		e := diag.All(err)[0]
		skipped = append(skipped, SkippedSkill{Path: src.Identity(), Code: e.Code, Message: e.Message})
	}
	taken := map[string]string{}
	for _, dir := range paths {
		src := s.source.WithSubpath(dir)
		a, err := p.addOneGit(ctx, refs, s, src, opt.As)
		if err == nil {
			if other, ok := taken[a.key.Fold()]; ok {
				err = diag.New(diag.NameCollision, "`%s` would be a second skill of that name, after %s", a.key, other).
					WithHint("add it alone with --as")
			}
		}
		switch {
		case err == nil:
			taken[a.key.Fold()] = src.Identity()
			adds = append(adds, a)
		case !opt.All || diag.Exit(err) != 2:
			return nil, nil, err
		default:
			skip(src, err)
		}
	}
	if !opt.All {
		return adds, skipped, nil
	}
	errs, err := p.tryOut(ctx, adds, opt)
	if err != nil {
		return nil, nil, err
	}
	var good []addition
	for i, a := range adds {
		if errs[i] != nil {
			skip(a.req.Source, errs[i])
			continue
		}
		good = append(good, a)
	}
	return good, skipped, nil
}

// tryOut reads the whole content of skills that follow a ref and judges them, so
// that --all can leave out those that install would refuse.
func (p *Project) tryOut(ctx context.Context, adds []addition, opt AddOptions) ([]error, error) {
	u := newUniverse(p)
	errs := make([]error, len(adds))
	var orders []order
	var chosen []resolver.Chosen
	var at []int
	for i, a := range adds {
		if a.req.Ref == "" {
			continue
		}
		c, k, err := p.at(ctx, a.req.Source, a.key, a.req.Ref, true)
		if err != nil {
			return nil, err
		}
		c.Name, c.Source = a.key, a.req.Source.Identity()
		u.remember(c, k)
		chosen = append(chosen, resolver.Chosen{Candidate: c})
		orders = append(orders, order{key: a.key, src: a.req.Source, want: k.want, independent: true})
		at = append(at, i)
	}
	got, failed := p.obtainEach(ctx, orders)
	for n, i := range at {
		if errs[i] = failed[n]; errs[i] != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		errs[i] = p.acceptable(ctx, u, chosen[n], got[n], opt)
	}
	return errs, nil
}

// acceptable says whether a skill can be described, and passes the trust rules.
func (p *Project) acceptable(ctx context.Context, u *universe, c resolver.Chosen, g goods, opt AddOptions) error {
	if g.tree == nil {
		return diag.New(diag.FetchFailed, "its repository could not be read")
	}
	e, err := p.newEntry(c, u.candidate(c.Candidate), g)
	if err != nil {
		return err
	}
	v, err := p.judge(ctx, e, g.tree, nil, opt.TrustOptions)
	if err != nil {
		return err
	}
	return v.Err()
}

// warmFacts reads the SKILL.md files of many places in one go, so that looking
// at each afterwards costs nothing. Places without a skill are left for later.
func (p *Project) warmFacts(ctx context.Context, repo skill.Source, files []wantedFile) error {
	var missing []wantedFile
	for _, f := range files {
		if fact := p.fact(f.src.Repository(), f.want.Commit, f.src.Subpath()); fact.Text == nil {
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, _, err := p.readSkillFiles(ctx, repo, missing)
	return err
}

// reportNoSkills says which SKILL.md files of a repository are no skills, such as
// links that lead nowhere, one note a code.
func (p *Project) reportNoSkills(src skill.Source, d *fetch.Discovery) {
	byCode := map[diag.Code]diag.List{}
	for _, n := range d.Problems {
		byCode[n.Code] = append(byCode[n.Code], n)
	}
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		list := byCode[code]
		e := diag.Note(code, "%d of the SKILL.md files in %s are no skills and were passed over", len(list), src.Repository())
		for i, n := range list {
			if i == maxNamed {
				e.WithDetail("… and %d more", len(list)-i)
				break
			}
			e.WithDetail("%s: %s", n.File, n.Message)
		}
		p.opt.Report(e)
	}
}
