package world

import (
	"context"
	"errors"
	"slices"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// Request asks for one skill's bytes.
type Request struct {
	Key  skill.Key
	Src  skill.Source
	Want fetch.Want
	// digest and bundle are what the lock demands, "" where nothing is locked.
	Digest, Bundle skill.Digest
	Index          *IndexArtifact
	// Independent says that one failure is no reason to give up the others.
	Independent bool
}

// Artifact are a skill's bytes in the store.
type Artifact struct {
	Tree    *skill.Tree
	Digest  skill.Digest
	Bundle  skill.Digest // "" for an unsigned skill
	GitTree fetch.ID
}

// Obtain brings every ordered skill into the store: from the store itself, from
// the mirrors in order, from its repository. Repositories are read in parallel;
// the result has the order of list. Offline the error lists all that is missing.
func (p *World) Obtain(ctx context.Context, list []Request) ([]Artifact, error) {
	out, errs := p.ObtainEach(ctx, list)
	return out, JoinFindings(errs)
}

// ObtainOne is obtain of one order.
func (p *World) ObtainOne(ctx context.Context, o Request) (Artifact, error) {
	got, err := p.Obtain(ctx, []Request{o})
	return got[0], err
}

// ObtainEach is obtain with an error for each order.
func (p *World) ObtainEach(ctx context.Context, list []Request) ([]Artifact, []error) {
	out, errs := make([]Artifact, len(list)), make([]error, len(list))
	var open []int
	for i, o := range list {
		if g, ok := p.FromStore(o); ok {
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
		id := list[i].Src.Repository()
		if byRepo[id] == nil {
			repos = append(repos, id)
		}
		byRepo[id] = append(byRepo[id], i)
	}
	slices.Sort(repos)
	whole := par.Each(ctx, p.Opt.Jobs, len(repos), func(ctx context.Context, r int) error {
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
func firstOpen(indices []int, out []Artifact, errs []error) int {
	for _, i := range indices {
		if out[i].Tree == nil && errs[i] == nil {
			return i
		}
	}
	return indices[0]
}

// JoinFindings returns all findings of errs in order; a plain error wins.
func JoinFindings(errs []error) error {
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
func (p *World) obtainMirrored(ctx context.Context, list []Request, indices []int, out []Artifact) ([]int, error) {
	if len(indices) == 0 { // the warm path opens no mirror
		return nil, nil
	}
	if mirrors, err := p.openMirrors(ctx); err != nil || len(mirrors) == 0 {
		return indices, err
	}
	found := make([]bool, len(indices))
	err := par.Do(ctx, p.Opt.Jobs, len(indices), func(ctx context.Context, k int) (err error) {
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

func (p *World) obtainFrom(ctx context.Context, list []Request, rest []int, out []Artifact, errs []error) error {
	if p.Opt.Offline {
		for _, i := range rest {
			errs[i] = MissingOffline(list[i])
		}
		return nil
	}
	if list[rest[0]].Index != nil {
		return p.obtainArtifacts(ctx, list, rest, out)
	}
	wants := make([]fetch.Want, len(rest))
	for k, i := range rest {
		wants[k] = list[i].Want
	}
	snaps, err := p.Snapshots(ctx, list[rest[0]].Src, wants)
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

// Named gives a fault of one skill's content the skill's name.
func Named(o Request, err error) error {
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
	copied.Details = append([]string{"skill `" + string(o.Key) + "` from " + o.Src.Identity()}, e.Details...)
	return &copied
}

// MissingOffline is the finding that bytes are not at hand without a network.
func MissingOffline(o Request) *diag.Error {
	e := diag.New(diag.FetchOffline, "`%s` is not at hand and there is no network", o.Key).
		WithDetail("%s at commit %s", o.Src.Identity(), o.Want.Commit)
	if o.Digest != "" {
		e.WithDetail("%s", o.Digest)
	}
	return e.WithHint("`skillpm fetch` warms the cache where there is a network")
}

// FromStore returns what the store holds of a request.
func (p *World) FromStore(o Request) (Artifact, bool) {
	g := Artifact{Digest: o.Digest, Bundle: o.Bundle}
	fact := p.Fact(o.Src.Repository(), o.Want.Commit, o.Src.Subpath())
	g.GitTree = fact.Tree
	if g.Digest == "" {
		if g.Digest, g.Bundle = fact.Dig, fact.Sig; g.Digest == "" || fact.Tree == "" {
			return Artifact{}, false
		}
	}
	if !p.Cache.Has(g.Digest) {
		return Artifact{}, false
	}
	if g.Bundle != "" {
		if _, err := p.Cache.Bundle(g.Bundle); err != nil {
			return Artifact{}, false
		}
	}
	var err error
	if g.Tree, err = p.Cache.Manifest(g.Digest); err != nil {
		return Artifact{}, false
	}
	return g, true
}

// fromSnapshot reads the skills of batch out of their repository into the store,
// their files fetched together. A server that refuses the batch is asked again
// for its halves, if the orders are independent: one object that it lost must
// not take the others along.
func (p *World) fromSnapshot(ctx context.Context, s fetch.Snapshot, list []Request, batch []int, out []Artifact, errs []error) error {
	err := p.loadBatch(ctx, s, list, batch, nil, out, errs)
	switch {
	case err == nil || ctx.Err() != nil || !list[batch[0]].Independent || diag.CodeOf(err) != diag.FetchFailed:
		return err
	case len(batch) == 1:
		errs[batch[0]] = Named(list[batch[0]], err)
		return nil
	}
	half := len(batch) / 2
	if err := p.fromSnapshot(ctx, s, list, batch[:half], out, errs); err != nil {
		return err
	}
	return p.fromSnapshot(ctx, s, list, batch[half:], out, errs)
}

// loadBatch is fromSnapshot without asking again; the SKILL.md of places beside
// come with the files.
func (p *World) loadBatch(ctx context.Context, s fetch.Snapshot, list []Request, batch []int, beside []fetch.SkillAt, out []Artifact, errs []error) error {
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
		at[k] = fetch.SkillAt{Commit: list[i].Want.Commit, Path: list[i].Src.Subpath()}
		var err error
		if writers[k], err = p.Cache.NewTree(); err != nil {
			return err
		}
	}
	texts := make([][]byte, len(batch)) // heads of SKILL.md: they need not be asked for again
	loaded, err := fetch.LoadMany(ctx, s, at,
		fetch.LoadOptions{Limits: p.Config.Install.Limits(), Repository: list[batch[0]].Src.Repository(), Beside: beside},
		func(k int, f skill.File, data []byte) error {
			if f.Path == parse.FileName {
				texts[k] = slices.Clone(head(data))
			}
			return writers[k].Add(f.Path, f.Exec, data)
		})
	if err != nil {
		return err
	}
	for k, i := range batch {
		err := loaded[k].Err
		if err == nil {
			o, content := list[i], loaded[k].Content
			fact := p.Fact(o.Src.Repository(), o.Want.Commit, o.Src.Subpath())
			fact.Time, fact.Tree = content.Time.UTC(), content.GitTree
			if content.SkillFile == parse.FileName {
				fact.Text = texts[k]
			}
			out[i], err = p.keep(o, content, writers[k], fact)
		}
		if err != nil {
			errs[i] = Named(list[i], err)
		}
	}
	return nil
}

// keep puts a loaded skill into the store and fact, completed, into the index.
func (p *Local) keep(o Request, content *fetch.Content, w *cache.TreeWriter, fact SkillFact) (Artifact, error) {
	g := Artifact{Tree: content.Tree, Digest: content.Tree.Digest(), GitTree: content.GitTree}
	var err error
	if content.Signature != nil {
		if g.Bundle, err = p.Cache.PutBundle(content.Signature); err != nil {
			return Artifact{}, err
		}
	}
	if err := checkArtifact(o, g); err != nil {
		return Artifact{}, err
	}
	if err := w.Commit(content.Tree); err != nil {
		return Artifact{}, err
	}
	fact.File, fact.Dig, fact.Sig = content.SkillFile, g.Digest, g.Bundle
	p.putFact(o.Src.Repository(), o.Want.Commit, o.Src.Subpath(), fact)
	return g, nil
}

// checkArtifact compares what arrived with what was ordered.
func checkArtifact(o Request, g Artifact) error {
	if o.Digest != "" && g.Digest != o.Digest {
		return diag.New(diag.DigestMismatch, "`%s` is not what was locked", o.Key).
			WithDetail("locked  %s", o.Digest).WithDetail("fetched %s from %s at commit %s", g.Digest, o.Src.Identity(), o.Want.Commit).
			WithHint("the lock was altered: take the entry from its history, or `skillpm remove %s` and add it again", o.Key)
	}
	if o.Digest != "" && g.Bundle != o.Bundle {
		return diag.New(diag.DigestMismatch, "the signature of `%s` is not the one that was locked", o.Key).
			WithDetail("locked  %s", orNone(o.Bundle)).WithDetail("fetched %s", orNone(g.Bundle)).
			WithHint("`skillpm update %s` accepts the new signature if the policy does", o.Key)
	}
	return nil
}

func orNone(d skill.Digest) string {
	if d == "" {
		return "none"
	}
	return string(d)
}

// WantOf is what to ask for to get a lock entry's bytes.
func WantOf(e *lockfile.Entry) (Request, bool) {
	src, ok := workspace.EntrySource(e)
	if !ok {
		return Request{}, false
	}
	o := Request{Key: skill.Key(e.Key), Src: src, Want: workspace.EntryWant(e), Digest: e.Digest}
	o.Want.Tree = fetch.ID(e.Source.Tree) // all of its files are about to be read
	if e.Signature != nil {
		o.Bundle = e.Signature.Bundle
	}
	if e.Source.Type == lockfile.TypeIndex {
		o.Index = &IndexArtifact{Url: e.Source.Artifact, Kind: artifactKind(e.Source.Artifact), Digest: skill.Digest("sha256:" + e.Source.SHA256)}
		o.Want = fetch.Want{Commit: fetch.ID(e.Source.SHA256)}
	}
	return o, true
}
