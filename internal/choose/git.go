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
	"github.com/skillpm/skillpm/resolver"
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
	at, err := HeadFor(ctx, refs, s)
	if err != nil {
		return nil, nil, meantSkill(ctx, p, refs, s, err)
	}
	d, err := p.Discover(ctx, world.Parent{Src: s.Source, Want: at})
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
	return addMany(ctx, p, refs, s, at, paths, opt)
}

// HeadFor returns the commit at which a repository is looked through.
func HeadFor(ctx context.Context, refs *fetch.Refs, s Spec) (fetch.Want, error) {
	var r fetch.Resolved
	var err error
	if s.Ref != "" {
		r, err = fetch.ResolveRef(refs, s.Source, s.Ref)
	} else {
		r, err = fetch.DefaultBranch(refs, s.Source)
	}
	return r.Want(), err
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
	req := skill.Requirement{Source: src, Range: s.Rng, Ref: s.Ref}
	place := fetch.PlaceOf(src)
	list := fetch.Versions(refs, place)
	var want fetch.Want
	switch {
	case s.Ref != "":
		r, err := fetch.ResolveRef(refs, src, s.Ref)
		if err != nil {
			return Addition{}, err
		}
		want = r.Want()
	case list.Class == fetch.ClassNone:
		if s.Rng != "" && s.Rng != "*" {
			return Addition{}, noVersions(src, s.Rng)
		}
		return addHead(ctx, p, refs, src, as)
	default:
		c, err := Newest(ctx, p, src, list, s.Rng)
		if s.Rng == "" && diag.CodeOf(err) == diag.SkillNotFound { // tags of the time before this skill
			return addHead(ctx, p, refs, src, as)
		}
		if s.Rng != "" && diag.CodeOf(err) == diag.SubskillUnresolved { // the solver tells why
			key, err := chooseKey(as, "", src.Name(), src)
			return Addition{Key: key, Req: req}, err
		}
		if err != nil {
			return Addition{}, err
		}
		if s.Rng == "" {
			req.Range = "^" + c.Version.String()
		}
		want = c.Want()
		NoteMixed(ctx, p, src, list)
	}
	return addAt(ctx, p, req, want, as)
}

// addHead follows the default branch.
func addHead(ctx context.Context, p *world.World, refs *fetch.Refs, src skill.Source, as string) (Addition, error) {
	head, err := fetch.DefaultBranch(refs, src)
	if err != nil {
		return Addition{}, err
	}
	req := skill.Requirement{Source: src, Ref: strings.TrimPrefix(head.Ref, "refs/heads/")}
	_, tag := refs.Find("refs/tags/" + req.Ref)
	switch {
	case req.Ref == "" || skill.CheckRef(req.Ref) != nil:
		req.Ref = string(head.Commit) // a detached HEAD has no name, another none that can be written
	case tag || fetch.IsCommit(req.Ref):
		req.Ref = head.Ref // the short name would mean that
	}
	return addAt(ctx, p, req, head.Want(), as)
}

// addAt reads the skill at a commit and decides its key.
func addAt(ctx context.Context, p *world.World, req skill.Requirement, want fetch.Want, as string) (Addition, error) {
	src := req.Source
	fact, err := p.SkillAt(ctx, src, want)
	if err != nil {
		return Addition{}, atWrongPlace(ctx, p, src, want, err)
	}
	f := world.ReadSkill(fact, src, nil)
	if f.Fault != nil {
		return Addition{}, f.Fault
	}
	key, err := chooseKey(as, f.Parsed.Name, src.Name(), src)
	return Addition{Key: key, Req: req}, err
}

func noVersions(src skill.Source, rng string) error {
	return diag.New(diag.NoVersions, "%s has no version tags, so `%s` cannot be satisfied", src.Identity(), rng).
		WithReason("no_versions").
		WithHint("`skillpm add %s` follows the default branch and pins the commit in the lock", src.Identity())
}

// Newest returns the highest stable version, in range if one is given, whose
// tree has the skill and that its author did not withdraw, unless the range names
// it exactly; without a stable one the highest pre-release.
func Newest(ctx context.Context, p *world.World, src skill.Source, list fetch.VersionList, rng string) (fetch.Candidate, error) {
	u := decide.NewProvider(p)
	var pool []fetch.Candidate
	for _, c := range list.Candidates {
		if rng == "" && c.Version.Prerelease() == "" || rng != "" && resolver.Match(rng, c.Version) {
			pool = append(pool, c)
		}
	}
	if len(pool) == 0 && rng == "" {
		pool = list.Candidates
	}
	if len(pool) == 0 {
		return fetch.Candidate{}, diag.New(diag.SubskillUnresolved, "no version of %s satisfies `%s`", src.Identity(), rng).
			WithReason("no_matching_version").
			WithDetail("there are %s", versionsText(list.Candidates)).
			WithHint("`skillpm versions %s` lists them", src.Identity())
	}
	_, notExact := skill.ParseVersion(strings.TrimLeft(rng, "= v"))
	var hidden []string
	for len(pool) > 0 {
		batch := pool[:min(len(pool), world.MaxReadAhead)]
		pool = pool[len(batch):]
		var files []world.WantedFile
		for _, c := range batch {
			files = append(files, world.WantedFile{Src: src, Want: c.Want()})
		}
		if err := u.ReadFiles(ctx, src, files); err != nil {
			return fetch.Candidate{}, err
		}
		retracted := u.Retractions(resolver.Wanted{}, src, list.Candidates)
		for _, c := range batch {
			f, _ := u.File(src, c.Commit)
			reason, withdrawn := retracted(c.Version)
			young := p.TooYoung(src, c)
			switch {
			case f.Fault != nil:
			case withdrawn && notExact != nil:
				hidden = append(hidden, c.Version.String()+": withdrawn, "+reason)
			case young != "":
				hidden = append(hidden, c.Version.String()+": "+young)
			default:
				return c, nil
			}
		}
	}
	if len(hidden) > 0 {
		e := diag.New(diag.SubskillUnresolved, "every version of %s is withdrawn or too young", src.Identity()).
			WithReason("only_retracted").
			WithHint("name a withdrawn version exactly to take it nevertheless; --min-age 0 waives the age once")
		e.Details = hidden[:min(len(hidden), world.MaxListed)]
		return fetch.Candidate{}, e
	}
	if rng != "" {
		return fetch.Candidate{}, diag.New(diag.SkillNotFound, "no version in `%s` has a usable skill at %s", rng, src.Identity()).
			WithHint("`skillpm add %s` takes the newest that has", src.Identity())
	}
	return fetch.Candidate{}, diag.New(diag.SkillNotFound, "no tagged version has a usable skill at %s", src.Identity()).
		WithHint("`skillpm add %s@BRANCH` takes a branch", src.Identity())
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
		p.Opt.Report(diag.Note(diag.TagsMixed, "%s has repository-wide tags that are newer than those of this skill; they do not count", src.Identity()))
	}
}
