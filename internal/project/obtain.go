package project

import (
	"context"
	"errors"
	"slices"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// order asks for one skill's bytes.
type order struct {
	key  skill.Key
	src  skill.Source
	want fetch.Want
	// digest and bundle are what the lock demands, "" where nothing is locked.
	digest, bundle skill.Digest
	index          *indexArtifact
	// independent says that one failure is no reason to give up the others.
	independent bool
}

// goods are a skill's bytes in the store.
type goods struct {
	tree    *skill.Tree
	digest  skill.Digest
	bundle  skill.Digest // "" for an unsigned skill
	gitTree fetch.ID
}

// obtain brings every ordered skill into the store: from the store itself, from
// the mirrors in order, from its repository. Repositories are read in parallel;
// the result has the order of list. Offline the error lists all that is missing.
func (p *Project) obtain(ctx context.Context, list []order) ([]goods, error) {
	out, errs := p.obtainEach(ctx, list)
	return out, joinFindings(errs)
}

// obtainOne is obtain of one order.
func (p *Project) obtainOne(ctx context.Context, o order) (goods, error) {
	got, err := p.obtain(ctx, []order{o})
	return got[0], err
}

// obtainEach is obtain with an error for each order.
func (p *Project) obtainEach(ctx context.Context, list []order) ([]goods, []error) {
	out, errs := make([]goods, len(list)), make([]error, len(list))
	var open []int
	for i, o := range list {
		if g, ok := p.fromStore(o); ok {
			out[i] = g
			continue
		}
		open = append(open, i)
	}
	open, err := p.obtainMirrored(ctx, list, open, out)
	if err != nil {
		errs[open[0]] = err
		return out, errs
	}
	byRepo := map[string][]int{}
	var repos []string
	for _, i := range open {
		id := list[i].src.Repository()
		if byRepo[id] == nil {
			repos = append(repos, id)
		}
		byRepo[id] = append(byRepo[id], i)
	}
	slices.Sort(repos)
	whole := par.Each(ctx, p.opt.Jobs, len(repos), func(ctx context.Context, r int) error {
		return p.obtainFrom(ctx, list, byRepo[repos[r]], out, errs)
	})
	for r, err := range whole { // a fault of the repository is told once, with its first skill
		if err != nil {
			errs[firstOpen(byRepo[repos[r]], out, errs)] = err
		}
	}
	return out, errs
}

// firstOpen returns the first index that has neither goods nor an error.
func firstOpen(indices []int, out []goods, errs []error) int {
	for _, i := range indices {
		if out[i].tree == nil && errs[i] == nil {
			return i
		}
	}
	return indices[0]
}

// joinFindings returns all findings of errs in order; a plain error wins.
func joinFindings(errs []error) error {
	var list diag.List
	for _, err := range errs {
		if err == nil {
			continue
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		list = append(list, diag.All(err)...)
	}
	return list.Err()
}

// obtainMirrored takes what the mirrors hold, several skills at once, and returns
// the indices that are left. On an error there is at least one.
func (p *Project) obtainMirrored(ctx context.Context, list []order, indices []int, out []goods) ([]int, error) {
	if len(indices) == 0 { // the warm path opens no mirror
		return nil, nil
	}
	if mirrors, err := p.openMirrors(ctx); err != nil || len(mirrors) == 0 {
		return indices, err
	}
	found := make([]bool, len(indices))
	err := par.Do(ctx, p.opt.Jobs, len(indices), func(ctx context.Context, k int) (err error) {
		out[indices[k]], found[k], err = p.fromMirrors(ctx, list[indices[k]])
		return err
	})
	var rest []int
	for k, i := range indices {
		if !found[k] {
			rest = append(rest, i)
		}
	}
	return rest, err
}

func (p *Project) obtainFrom(ctx context.Context, list []order, rest []int, out []goods, errs []error) error {
	if p.opt.Offline {
		for _, i := range rest {
			errs[i] = missingOffline(list[i])
		}
		return nil
	}
	if list[rest[0]].index != nil {
		return p.obtainArtifacts(ctx, list, rest, out)
	}
	wants := make([]fetch.Want, len(rest))
	for k, i := range rest {
		wants[k] = list[i].want
	}
	snaps, err := p.snapshots(ctx, list[rest[0]].src, wants)
	if err != nil {
		return err
	}
	for len(rest) > 0 { // all skills of one snapshot together
		var batch, others []int
		for k, i := range rest {
			if snaps[k] == snaps[0] {
				batch = append(batch, i)
			} else {
				others = append(others, i)
			}
		}
		if err := p.fromSnapshot(ctx, snaps[0], list, batch, out, errs); err != nil {
			return err
		}
		first := snaps[0]
		snaps = slices.DeleteFunc(snaps, func(s fetch.Snapshot) bool { return s == first })
		rest = others
	}
	return nil
}

// named gives a fault of one skill's content the skill's name.
func named(o order, err error) error {
	e, ok := errors.AsType[*diag.Error](err)
	if !ok {
		if se, is := errors.AsType[*skill.Error](err); is {
			e = diag.New(diag.Code(se.Code), "%s", se.Message).WithHint("%s", se.Hint)
			ok = true
		}
	}
	if !ok {
		return err
	}
	copied := *e
	copied.Details = append([]string{"skill `" + string(o.key) + "` from " + o.src.Identity()}, e.Details...)
	return &copied
}

func missingOffline(o order) *diag.Error {
	e := diag.New(diag.FetchOffline, "`%s` is not at hand and there is no network", o.key).
		WithDetail("%s at commit %s", o.src.Identity(), o.want.Commit)
	if o.digest != "" {
		e.WithDetail("%s", o.digest)
	}
	return e.WithHint("`skillpm fetch` warms the cache where there is a network")
}

func (p *Project) fromStore(o order) (goods, bool) {
	g := goods{digest: o.digest, bundle: o.bundle}
	fact := p.fact(o.src.Repository(), o.want.Commit, o.src.Subpath())
	g.gitTree = fact.Tree
	if g.digest == "" {
		if g.digest, g.bundle = fact.Dig, fact.Sig; g.digest == "" || fact.Tree == "" {
			return goods{}, false
		}
	}
	if !p.cache.Has(g.digest) {
		return goods{}, false
	}
	if g.bundle != "" {
		if _, err := p.cache.Bundle(g.bundle); err != nil {
			return goods{}, false
		}
	}
	var err error
	if g.tree, err = p.cache.Manifest(g.digest); err != nil {
		return goods{}, false
	}
	return g, true
}

// fromSnapshot reads the skills of batch out of their repository into the store,
// their files fetched together. A server that refuses the batch is asked again
// for its halves, if the orders are independent: one object that it lost must
// not take the others along.
func (p *Project) fromSnapshot(ctx context.Context, s fetch.Snapshot, list []order, batch []int, out []goods, errs []error) error {
	err := p.loadBatch(ctx, s, list, batch, out, errs)
	switch {
	case err == nil || ctx.Err() != nil || !list[batch[0]].independent || diag.CodeOf(err) != diag.FetchFailed:
		return err
	case len(batch) == 1:
		errs[batch[0]] = named(list[batch[0]], err)
		return nil
	}
	half := len(batch) / 2
	if err := p.fromSnapshot(ctx, s, list, batch[:half], out, errs); err != nil {
		return err
	}
	return p.fromSnapshot(ctx, s, list, batch[half:], out, errs)
}

func (p *Project) loadBatch(ctx context.Context, s fetch.Snapshot, list []order, batch []int, out []goods, errs []error) error {
	writers := make([]*cache.TreeWriter, len(batch))
	defer func() {
		for _, w := range writers {
			if w != nil {
				w.Abort()
			}
		}
	}()
	at := make([]fetch.SkillAt, len(batch))
	for k, i := range batch {
		at[k] = fetch.SkillAt{Commit: list[i].want.Commit, Path: list[i].src.Subpath()}
		var err error
		if writers[k], err = p.cache.NewTree(); err != nil {
			return err
		}
	}
	loaded, err := fetch.LoadMany(ctx, s, at,
		fetch.LoadOptions{Limits: p.config.Install.Limits(), Repository: list[batch[0]].src.Repository()},
		func(k int, f skill.File, data []byte) error { return writers[k].Add(f.Path, f.Exec, data) })
	if err != nil {
		return err
	}
	for k, i := range batch {
		err := loaded[k].Err
		if err == nil {
			o, content := list[i], loaded[k].Content
			fact := p.fact(o.src.Repository(), o.want.Commit, o.src.Subpath())
			fact.Time, fact.Tree = content.Time.UTC(), content.GitTree
			out[i], err = p.keep(o, content, writers[k], fact)
		}
		if err != nil {
			errs[i] = named(list[i], err)
		}
	}
	return nil
}

// keep puts a loaded skill into the store and fact, completed, into the index.
func (p *Project) keep(o order, content *fetch.Content, w *cache.TreeWriter, fact skillFact) (goods, error) {
	g := goods{tree: content.Tree, digest: content.Tree.Digest(), gitTree: content.GitTree}
	var err error
	if content.Signature != nil {
		if g.bundle, err = p.cache.PutBundle(content.Signature); err != nil {
			return goods{}, err
		}
	}
	if err := checkGoods(o, g); err != nil {
		return goods{}, err
	}
	if err := w.Commit(content.Tree); err != nil {
		return goods{}, err
	}
	fact.File, fact.Dig, fact.Sig = content.SkillFile, g.digest, g.bundle
	p.putFact(o.src.Repository(), o.want.Commit, o.src.Subpath(), fact)
	return g, nil
}

// checkGoods compares what arrived with what was ordered.
func checkGoods(o order, g goods) error {
	if o.digest != "" && g.digest != o.digest {
		return diag.New(diag.DigestMismatch, "`%s` is not what was locked", o.key).
			WithDetail("locked  %s", o.digest).WithDetail("fetched %s from %s at commit %s", g.digest, o.src.Identity(), o.want.Commit).
			WithHint("the lock was altered: take the entry from its history, or `skillpm remove %s` and add it again", o.key)
	}
	if o.digest != "" && g.bundle != o.bundle {
		return diag.New(diag.DigestMismatch, "the signature of `%s` is not the one that was locked", o.key).
			WithDetail("locked  %s", orNone(o.bundle)).WithDetail("fetched %s", orNone(g.bundle)).
			WithHint("`skillpm update %s` accepts the new signature if the policy does", o.key)
	}
	return nil
}

func orNone(d skill.Digest) string {
	if d == "" {
		return "none"
	}
	return string(d)
}

// loadDigests answers Digests by bringing the candidates into the store.
func (u *universe) loadDigests(ctx context.Context, w *work) error {
	for _, want := range w.digests {
		k := u.candidate(want.Candidate)
		if k == nil {
			u.setDigest(want.Candidate, digestAnswer{state: resolver.Unavailable})
			continue
		}
		got, err := u.p.obtain(ctx, []order{{key: want.Name, src: k.source, want: k.want}})
		switch {
		case isOffline(err):
			u.setDigest(want.Candidate, digestAnswer{state: resolver.Unavailable})
		case err != nil:
			return err
		default:
			u.setDigest(want.Candidate, digestAnswer{got[0].digest, resolver.Loaded})
		}
	}
	return nil
}
