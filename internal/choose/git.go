package choose

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// AddGit adds one or several skills of a repository.
func AddGit(ctx context.Context, p *world.World, s Spec, opt AddOptions) ([]Addition, []decide.SkippedSkill, error) {
	if err := settleBrowser(ctx, p, &s); err != nil {
		return nil, nil, err
	}
	refs, err := p.Listing(ctx, s.Source)
	if err != nil {
		return nil, nil, err
	}
	if s.Source.HasSubpath() && !opt.All && len(opt.Skills) == 0 {
		a, err := AddOneGit(ctx, p, refs, s, s.Source, opt.As)
		if err != nil {
			return nil, nil, err
		}
		return []Addition{a}, nil, nil
	}
	at, err := HeadFor(refs, s)
	if err != nil {
		return nil, nil, meantSkill(ctx, p, refs, s, err)
	}
	d, err := p.Discover(ctx, world.Parent{Src: s.Source, Want: at}, likelyNext(refs, s)...)
	if err != nil {
		return nil, nil, err
	}
	paths, err := Choose(s, d, opt)
	if err != nil {
		return nil, nil, err
	}
	if opt.All {
		reportNoSkills(p.Project, s.Source, d)
	}
	return addMany(ctx, p, refs, s, paths, opt)
}

// HeadFor returns the commit at which a repository is looked through: that of
// the ref or of the newest version that was asked for, else the default branch's.
// Tags of single skills say nothing about the whole.
func HeadFor(refs *fetch.Refs, s Spec) (fetch.Want, error) {
	if s.Ref != "" {
		r, err := fetch.ResolveRef(refs, s.Source, s.Ref)
		return r.Want(), err
	}
	if s.Rng != "" {
		if pool := matching(wholeVersions(refs, s.Source), s.Rng); len(pool) > 0 {
			return pool[0].Want(), nil
		}
	}
	r, err := fetch.DefaultBranch(refs, s.Source)
	return r.Want(), err
}

// wholeVersions returns the versions of the repository as a whole.
func wholeVersions(refs *fetch.Refs, src skill.Source) []fetch.Candidate {
	place := fetch.Place{}
	if src.Subpath() == "" {
		place = fetch.PlaceOf(src)
	}
	return fetch.Versions(refs, place).Candidates
}

// likelyNext returns the commit at which the skills of a repository will be read
// once they are found, so that it is opened with the one looked through.
func likelyNext(refs *fetch.Refs, s Spec) []fetch.Want {
	if s.Ref != "" {
		return nil
	}
	list := wholeVersions(refs, s.Source)
	pool := matching(list, s.Rng)
	if len(pool) == 0 {
		return nil
	}
	return []fetch.Want{pool[0].Want(), world.FirstVersions(list)[0].Want()}
}

// Choose picks the skills of a repository that was named without a path.
func Choose(s Spec, d *fetch.Discovery, opt AddOptions) ([]string, error) {
	below := s.Source.Subpath()
	var listed []fetch.Found
	for _, f := range d.Listed() {
		if below == "" || f.Path == below || strings.HasPrefix(f.Path, below+"/") {
			listed = append(listed, f)
		}
	}
	switch {
	case len(listed) == 0 && len(d.Skills) == 1:
		listed = d.Skills
	case len(listed) == 0:
		return nil, diag.New(diag.SkillNotFound, "no SKILL.md in %s", s.Source.Identity()).
			WithHint("is this a repository of Agent Skills? a skill under tests or examples is reached by its path")
	}
	if len(opt.Skills) > 0 {
		return pickNamed(s.Source, d, listed, opt.Skills)
	}
	paths := make([]string, len(listed))
	for i, f := range listed {
		paths[i] = f.Path
	}
	if opt.All || len(paths) == 1 {
		return paths, nil
	}
	if opt.Choose != nil {
		return opt.Choose(s.Source.Repository(), paths)
	}
	return nil, world.AmbiguousSkills(s.Source, listed)
}

// pickNamed finds each --skill NAME by the last path element or the whole path.
func pickNamed(src skill.Source, d *fetch.Discovery, listed []fetch.Found, names []string) ([]string, error) {
	var paths []string
	var faults diag.List
	for _, name := range names {
		var hits []fetch.Found
		for _, f := range listed {
			if f.Path == name || path.Base(f.Path) == name || f.Path == "" && src.Name() == name {
				hits = append(hits, f)
			}
		}
		if f, ok := d.At(name); ok && len(hits) == 0 {
			hits = []fetch.Found{f}
		}
		switch len(hits) {
		case 0:
			faults = append(faults, noSuchSkill(src, listed, name))
		case 1:
			if !slices.Contains(paths, hits[0].Path) {
				paths = append(paths, hits[0].Path)
			}
		default:
			faults = append(faults, world.AmbiguousSkills(src, hits))
		}
	}
	return paths, faults.Err()
}

// AddOneGit decides key and requirement of one skill.
func AddOneGit(ctx context.Context, p *world.World, refs *fetch.Refs, s Spec, src skill.Source, as string) (Addition, error) {
	list, err := addEach(ctx, p, refs, s, []skill.Source{src}, as)
	if err != nil {
		return Addition{}, err
	}
	return list[0].Addition, list[0].err
}

// outcome is what became of one of several skills.
type outcome struct {
	Addition
	err error
}

// addEach decides key and requirement of skills of one repository. What they need
// is read together, so that many cost the requests of one. The error is for all,
// the outcomes have the order of sources.
func addEach(ctx context.Context, p *world.World, refs *fetch.Refs, s Spec, sources []skill.Source, as string) ([]outcome, error) {
	out, places := make([]outcome, len(sources)), make([]place, len(sources))
	tags := fetch.NewTags(refs)
	var picks []*pick
	for i, src := range sources {
		places[i] = place{list: tags.Versions(fetch.PlaceOf(src))}
		out[i].Req = skill.Requirement{Source: src, Range: s.Rng, Ref: s.Ref}
		switch {
		case s.Ref != "":
			r, err := fetch.ResolveRef(refs, src, s.Ref)
			if err != nil {
				return nil, err
			}
			places[i].want = r.Want()
		case places[i].list.Class == fetch.ClassNone && s.Rng != "" && s.Rng != "*":
			out[i].err = noVersions(src, s.Rng)
		case places[i].list.Class != fetch.ClassNone:
			places[i].pick = newPick(src, places[i].list, s.Rng)
			picks = append(picks, places[i].pick)
		}
	}
	if err := findVersions(ctx, p, picks); err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].err == nil {
			out[i].err = places[i].settle(ctx, p, refs, s, &out[i].Addition, as)
		}
	}
	readPlaces(ctx, p, sources, places, out)
	for i, src := range sources {
		if out[i].err == nil && out[i].Key == "" {
			out[i].Key, out[i].err = keyAt(ctx, p, src, places[i].want, as)
		}
	}
	return out, ctx.Err()
}

// place is where one skill is looked for: pick among versions, or want.
type place struct {
	list fetch.VersionList
	pick *pick
	want fetch.Want
}

// settle decides the requirement and the commit to read the skill at.
func (l *place) settle(ctx context.Context, p *world.World, refs *fetch.Refs, s Spec, a *Addition, as string) error {
	src, pick := a.Req.Source, l.pick
	switch {
	case s.Ref != "":
		return nil
	case pick == nil || s.Rng == "" && diag.CodeOf(pick.err) == diag.SkillNotFound: // tags of the time before this skill
		var err error
		a.Req, l.want, err = headOf(refs, src)
		return err
	case s.Rng != "" && diag.CodeOf(pick.err) == diag.SubskillUnresolved: // the solver tells why
		var err error
		a.Key, err = chooseKey(as, "", src.Name(), src)
		return err
	case pick.err != nil:
		return pick.err
	}
	if s.Rng == "" {
		a.Req.Range = "^" + pick.found.Version.String()
	}
	a.version, l.want = pick.found, pick.found.Want()
	NoteMixed(ctx, p, src, l.list)
	return nil
}

// headOf requires what the default branch holds.
func headOf(refs *fetch.Refs, src skill.Source) (skill.Requirement, fetch.Want, error) {
	head, err := fetch.DefaultBranch(refs, src)
	if err != nil {
		return skill.Requirement{}, fetch.Want{}, err
	}
	req := skill.Requirement{Source: src, Ref: strings.TrimPrefix(head.Ref, "refs/heads/")}
	_, tag := refs.Find("refs/tags/" + req.Ref)
	switch {
	case req.Ref == "" || skill.CheckRef(req.Ref) != nil:
		req.Ref = string(head.Commit) // a detached HEAD has no name, another none that can be written
	case tag || fetch.IsCommit(req.Ref):
		req.Ref = head.Ref // the short name would mean that
	}
	return req, head.Want(), nil
}

// keyAt reads the skill at a commit and decides its key.
func keyAt(ctx context.Context, p *world.World, src skill.Source, want fetch.Want, as string) (skill.Key, error) {
	fact, err := p.SkillAt(ctx, src, want)
	if err != nil {
		return "", atWrongPlace(ctx, p, src, want, err)
	}
	f := world.ReadSkill(fact, src, nil)
	if f.Fault != nil {
		return "", f.Fault
	}
	return chooseKey(as, f.Parsed.Name, src.Name(), src)
}

func noVersions(src skill.Source, rng string) error {
	return diag.New(diag.NoVersions, "%s has no version tags, so `%s` cannot be satisfied", src.Identity(), rng).
		WithReason("no_versions").
		WithHint("`skillpm add %s` follows the default branch and pins the commit in the lock", src.Identity())
}

func versionsText(list []fetch.Candidate) string {
	var out []string
	for i, c := range list {
		if i == 10 {
			out = append(out, fmt.Sprintf("… %d in all", len(list)))
			break
		}
		out = append(out, c.Version.String())
	}
	return strings.Join(out, ", ")
}

// NoteMixed says where repository-wide tags are newer than those of the skill,
// which alone count.
func NoteMixed(ctx context.Context, p *world.World, src skill.Source, list fetch.VersionList) {
	wants := list.Mixed()
	if wants == nil {
		return
	}
	snaps, err := p.Snapshots(ctx, src, wants)
	if err != nil {
		return // a note is not worth a failure
	}
	if mixed, err := list.TagsMixed(snaps[0], snaps[1]); err == nil && mixed {
		p.Opt.Report(world.TagsMixed(src))
	}
}
