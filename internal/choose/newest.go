package choose

import (
	"context"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// Newest returns the highest stable version, in range if one is given, whose
// tree has the skill and that its author did not withdraw, unless the range names
// it exactly; without a stable one the highest pre-release.
func Newest(ctx context.Context, p *world.World, src skill.Source, list fetch.VersionList, rng string) (fetch.Candidate, error) {
	k := newPick(src, list, rng)
	if err := newestOf(ctx, p, []*pick{k}); err != nil {
		return fetch.Candidate{}, err
	}
	return k.found, k.err
}

// pick is the search for one skill's version.
type pick struct {
	src  skill.Source
	list fetch.VersionList
	rng  string
	// pool are the candidates not looked at yet, batch those just read.
	pool, batch []fetch.Candidate
	hidden      []string
	found       fetch.Candidate
	err         error
	done        bool
}

func newPick(src skill.Source, list fetch.VersionList, rng string) *pick {
	k := &pick{src: src, list: list, rng: rng, pool: matching(list.Candidates, rng)}
	if len(k.pool) == 0 {
		k.done = true
		k.err = diag.New(diag.SubskillUnresolved, "no version of %s satisfies `%s`", src.Identity(), rng).
			WithReason("no_matching_version").
			WithDetail("there are %s", versionsText(list.Candidates)).
			WithHint("`skillpm versions %s` lists them", src.Identity())
	}
	return k
}

// matching returns the versions in rng, highest first; without a range the
// stable ones, or all where none is.
func matching(list []fetch.Candidate, rng string) []fetch.Candidate {
	var pool []fetch.Candidate
	for _, c := range list {
		if rng == "" && c.Version.Prerelease() == "" || rng != "" && resolver.Match(rng, c.Version) {
			pool = append(pool, c)
		}
	}
	if len(pool) == 0 && rng == "" {
		return list
	}
	return pool
}

// findVersions is newestOf for skills that will be installed: the content of
// their first candidates comes at once, SKILL.md with it.
func findVersions(ctx context.Context, p *world.World, picks []*pick) error {
	var wants []fetch.Want
	var orders []world.Request
	for _, k := range picks {
		wants = append(wants, k.list.Mixed()...)
		if !k.done {
			wants = append(wants, k.firstWants()...)
			orders = append(orders, world.Request{Key: skill.Key(k.src.Name()), Src: k.src, Want: k.pool[0].Want(), Independent: true})
		}
	}
	if len(orders) > 0 && p.MinAge() == 0 { // by age another one may be meant
		warm(ctx, p, wants, orders)
	}
	return newestOf(ctx, p, picks)
}

// warm brings content into the store that will most likely be asked for. What
// fails is met again by whoever needs it.
func warm(ctx context.Context, p *world.World, wants []fetch.Want, orders []world.Request) {
	cold := false
	for _, o := range orders {
		_, ok := p.FromStore(o)
		cold = cold || !ok
	}
	if !cold || p.Opt.Offline {
		return
	}
	for _, o := range orders {
		wants = append(wants, o.Want)
	}
	if _, err := p.Snapshots(ctx, orders[0].Src, wants); err == nil {
		p.ObtainEach(ctx, orders)
	}
}

// readPlaces brings the content of the skills that follow a ref, as findVersions
// does for versions.
func readPlaces(ctx context.Context, p *world.World, sources []skill.Source, places []place, out []outcome) {
	var orders []world.Request
	for i, src := range sources {
		if out[i].err == nil && out[i].Key == "" && out[i].version.Commit == "" {
			orders = append(orders, world.Request{Key: skill.Key(src.Name()), Src: src, Want: places[i].want, Independent: true})
		}
	}
	if len(orders) > 0 {
		warm(ctx, p, nil, orders)
	}
}

// firstWants are the commits that the first look needs: the highest candidate,
// and the highest stable version, which says what was withdrawn.
func (k *pick) firstWants() []fetch.Want {
	return []fetch.Want{k.pool[0].Want(), world.FirstVersions(k.list.Candidates)[0].Want()}
}

// newestOf settles picks of one repository. Each round reads the SKILL.md files
// of all of them together: first of the highest candidates, then of more at once.
func newestOf(ctx context.Context, p *world.World, picks []*pick) error {
	u := decide.NewProvider(p)
	ahead := 1
	if p.MinAge() > 0 {
		ahead = world.MaxReadAhead
	}
	for {
		var files []world.WantedFile
		var open []*pick
		for _, k := range picks {
			if k.done {
				continue
			}
			open = append(open, k)
			files = append(files, k.next(ahead)...)
		}
		if len(open) == 0 {
			return nil
		}
		failed, err := readEach(ctx, p, u, files)
		if err != nil {
			return err
		}
		for _, k := range open {
			k.judge(p, u, failed)
		}
		ahead = world.MaxReadAhead
	}
}

// next takes the next n candidates and returns what to read of them.
func (k *pick) next(n int) []world.WantedFile {
	n = min(n, len(k.pool))
	var files []world.WantedFile
	for _, want := range k.firstWants() {
		files = append(files, world.WantedFile{Src: k.src, Want: want})
	}
	k.batch, k.pool = k.pool[:n], k.pool[n:]
	for _, c := range k.batch {
		files = append(files, world.WantedFile{Src: k.src, Want: c.Want()})
	}
	return files
}

// judge takes the first usable candidate of the batch.
func (k *pick) judge(p *world.World, u *decide.Provider, failed map[world.WantedFile]error) {
	_, notExact := skill.ParseVersion(strings.TrimLeft(k.rng, "= v"))
	retracted := u.Retractions(resolver.Wanted{}, k.src, k.list.Candidates)
	for _, c := range k.batch {
		if err := failed[world.WantedFile{Src: k.src, Want: c.Want()}]; err != nil {
			k.err, k.done = err, true
			return
		}
		f, _ := u.File(k.src, c.Commit)
		reason, withdrawn := retracted(c.Version)
		young := p.TooYoung(k.src, c)
		switch {
		case f.Fault != nil:
		case withdrawn && notExact != nil:
			k.hidden = append(k.hidden, c.Version.String()+": withdrawn, "+reason)
		case young != "":
			k.hidden = append(k.hidden, c.Version.String()+": "+young)
		default:
			k.found, k.done = c, true
			return
		}
	}
	if len(k.pool) == 0 {
		k.err, k.done = k.nothing(), true
	}
}

// nothing says why no candidate was taken.
func (k *pick) nothing() error {
	id := k.src.Identity()
	switch {
	case len(k.hidden) > 0:
		e := diag.New(diag.SubskillUnresolved, "every version of %s is withdrawn or too young", id).
			WithReason("only_retracted").
			WithHint("name a withdrawn version exactly to take it nevertheless; --min-age 0 waives the age once")
		e.Details = k.hidden[:min(len(k.hidden), world.MaxListed)]
		return e
	case k.rng != "":
		return diag.New(diag.SkillNotFound, "no version in `%s` has a usable skill at %s", k.rng, id).
			WithHint("`skillpm add %s` takes the newest that has", id)
	}
	return diag.New(diag.SkillNotFound, "no tagged version has a usable skill at %s", id).
		WithHint("`skillpm add %s@BRANCH` takes a branch", id)
}

// readEach reads files of one repository. Where the server refuses a batch it is
// asked for the halves, so that one object that it lost fails one file alone.
func readEach(ctx context.Context, p *world.World, u *decide.Provider, files []world.WantedFile) (map[world.WantedFile]error, error) {
	err := u.ReadFiles(ctx, files[0].Src, files)
	if diag.CodeOf(err) != diag.FetchFailed || ctx.Err() != nil {
		return nil, err
	}
	wants := make([]fetch.Want, len(files))
	for i, f := range files {
		wants[i] = f.Want
	}
	if _, err := p.Snapshots(ctx, files[0].Src, wants); err != nil { // it is no single file
		return nil, err
	}
	failed := map[world.WantedFile]error{}
	var halve func(files []world.WantedFile, err error)
	halve = func(files []world.WantedFile, err error) {
		if len(files) == 1 {
			failed[files[0]] = err
			return
		}
		for _, half := range [][]world.WantedFile{files[:len(files)/2], files[len(files)/2:]} {
			if err := u.ReadFiles(ctx, files[0].Src, half); err != nil {
				halve(half, err)
			}
		}
	}
	halve(files, err)
	return failed, ctx.Err()
}
