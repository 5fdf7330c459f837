package choose

import (
	"context"
	"maps"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/accept"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// addMany adds several skills of one commit. With --all one that cannot be
// taken is skipped with its reason; named ones refuse the whole.
func addMany(ctx context.Context, p *world.World, refs *fetch.Refs, s Spec, paths []string, opt AddOptions) ([]Addition, []decide.SkippedSkill, error) {
	sources := make([]skill.Source, len(paths))
	for i, dir := range paths {
		sources[i] = s.Source.WithSubpath(dir)
	}
	outcomes, err := addEach(ctx, p, refs, s, sources, opt.As)
	if err != nil {
		return nil, nil, err
	}
	var adds []Addition
	var skipped []decide.SkippedSkill
	skip := func(src skill.Source, err error) {
		e := diag.All(err)[0]
		skipped = append(skipped, decide.SkippedSkill{Path: src.Identity(), Code: e.Code, Message: e.Message})
	}
	taken := map[string]string{}
	for i, src := range sources {
		a, err := outcomes[i].Addition, outcomes[i].err
		if err == nil {
			err = freeKey(p.Project, a, taken)
		}
		switch {
		case err == nil:
			taken[a.Key.Fold()] = src.Identity()
			adds = append(adds, a)
		case !opt.All:
			return nil, nil, err
		default:
			skip(src, err)
		}
	}
	if !opt.All {
		return adds, skipped, nil
	}
	errs, err := TryOut(ctx, p, adds, opt)
	if err != nil {
		return nil, nil, err
	}
	var good []Addition
	for i, a := range adds {
		if errs[i] != nil {
			skip(a.Req.Source, errs[i])
			continue
		}
		good = append(good, a)
	}
	return good, skipped, nil
}

// freeKey refuses a key that another skill of this call or of skills.toml has.
func freeKey(p *workspace.Project, a Addition, taken map[string]string) error {
	if other, ok := taken[a.Key.Fold()]; ok {
		return diag.New(diag.NameCollision, "`%s` would be a second skill of that name, after %s", a.Key, other).
			WithHint("add it alone with --as")
	}
	return CheckKey(p, a)
}

// TryOut reads the whole content of skills at the version or ref that they would
// be installed at and judges them, so that --all can leave out those that install
// would refuse.
func TryOut(ctx context.Context, p *world.World, adds []Addition, opt AddOptions) ([]error, error) {
	u := decide.NewProvider(p)
	errs := make([]error, len(adds))
	var orders []world.Request
	var chosen []resolver.Chosen
	var at []int
	for i, a := range adds {
		c, k, ok, err := tried(ctx, p, a)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			errs[i] = err
		}
		if !ok {
			continue
		}
		u.Remember(c, k)
		chosen = append(chosen, resolver.Chosen{Candidate: c})
		orders = append(orders, world.Request{Key: a.Key, Src: a.Req.Source, Want: k.Want, Independent: true})
		at = append(at, i)
	}
	got, failed := p.ObtainEach(ctx, orders)
	for n, i := range at {
		if errs[i] = failed[n]; errs[i] != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		errs[i] = acceptable(ctx, p.Local, u, chosen[n], got[n], opt)
	}
	return errs, nil
}

// tried returns what of an addition is tried out, false where nothing is.
func tried(ctx context.Context, p *world.World, a Addition) (resolver.Candidate, decide.Candidate, bool, error) {
	src := a.Req.Source
	switch {
	case a.Req.Ref != "":
		c, k, err := decide.AtRef(ctx, p, src, a.Key, a.Req.Ref, true)
		c.Name, c.Source = a.Key, src.Identity()
		return c, k, err == nil, err
	case a.version.Commit != "":
		c := resolver.Candidate{Name: a.Key, Source: src.Identity(), Version: a.version.Version, Commit: string(a.version.Commit)}
		return c, decide.Candidate{Source: src, Tag: a.version.Tag, Want: a.version.Want()}, true, nil
	}
	return resolver.Candidate{}, decide.Candidate{}, false, nil
}

// acceptable says whether a skill can be described, and passes the trust rules.
func acceptable(ctx context.Context, p *world.Local, u *decide.Provider, c resolver.Chosen, g world.Artifact, opt AddOptions) error {
	if g.Tree == nil {
		return diag.New(diag.FetchFailed, "its repository could not be read")
	}
	e, err := decide.NewEntry(p, c, u.Candidate(c.Candidate), g)
	if err != nil {
		return err
	}
	v, err := accept.Judge(ctx, p, e, g.Tree, nil, opt.TrustOptions)
	if err != nil {
		return err
	}
	return v.Err()
}

// reportNoSkills says which SKILL.md files of a repository are no skills, such as
// links that lead nowhere, one note a code.
func reportNoSkills(p *workspace.Project, src skill.Source, d *fetch.Discovery) {
	byCode := map[diag.Code]diag.List{}
	for _, n := range d.Problems {
		byCode[n.Code] = append(byCode[n.Code], n)
	}
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		list := byCode[code]
		e := diag.Note(code, "%d of the SKILL.md files in %s are no skills and were passed over", len(list), src.Repository())
		for i, n := range list {
			if i == workspace.MaxNamed {
				e.WithDetail("… and %d more", len(list)-i)
				break
			}
			e.WithDetail("%s: %s", n.File, n.Message)
		}
		p.Opt.Report(e)
	}
}
