package project

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// addGit adds one or several skills of a repository.
func (p *Project) addGit(ctx context.Context, s spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	if err := p.settleBrowser(ctx, &s); err != nil {
		return nil, nil, err
	}
	refs, err := p.listing(ctx, s.source)
	if err != nil {
		return nil, nil, err
	}
	if s.source.HasSubpath() && !opt.All && len(opt.Skills) == 0 {
		a, err := p.addOneGit(ctx, refs, s, s.source, opt.As)
		if err != nil {
			return nil, nil, err
		}
		return []addition{a}, nil, nil
	}
	at, err := p.headFor(ctx, refs, s)
	if err != nil {
		return nil, nil, p.meantSkill(ctx, refs, s, err)
	}
	d, err := p.discover(ctx, parent{src: s.source, want: at})
	if err != nil {
		return nil, nil, err
	}
	paths, err := p.choose(s, d, opt)
	if err != nil {
		return nil, nil, err
	}
	if opt.All {
		p.reportNoSkills(s.source, d)
	}
	return p.addMany(ctx, refs, s, at, paths, opt)
}

// headFor returns the commit at which a repository is looked through.
func (p *Project) headFor(ctx context.Context, refs *fetch.Refs, s spec) (fetch.Want, error) {
	var r fetch.Resolved
	var err error
	if s.ref != "" {
		r, err = fetch.ResolveRef(refs, s.source, s.ref)
	} else {
		r, err = fetch.DefaultBranch(refs, s.source)
	}
	return r.Want(), err
}

// choose picks the skills of a repository that was named without a path.
func (p *Project) choose(s spec, d *fetch.Discovery, opt AddOptions) ([]string, error) {
	below := s.source.Subpath()
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
		return nil, diag.New(diag.SkillNotFound, "no SKILL.md in %s", s.source.Identity()).
			WithHint("is this a repository of Agent Skills? a skill under tests or examples is reached by its path")
	}
	if len(opt.Skills) > 0 {
		return pickNamed(s.source, d, listed, opt.Skills)
	}
	paths := make([]string, len(listed))
	for i, f := range listed {
		paths[i] = f.Path
	}
	if opt.All || len(paths) == 1 {
		return paths, nil
	}
	if opt.Choose != nil {
		return opt.Choose(s.source.Repository(), paths)
	}
	return nil, ambiguousSkills(s.source, listed)
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
			faults = append(faults, ambiguousSkills(src, hits))
		}
	}
	return paths, faults.Err()
}

// addOneGit decides key and requirement of one skill.
func (p *Project) addOneGit(ctx context.Context, refs *fetch.Refs, s spec, src skill.Source, as string) (addition, error) {
	req := skill.Requirement{Source: src, Range: s.rng, Ref: s.ref}
	place := fetch.PlaceOf(src)
	list := fetch.Versions(refs, place)
	var want fetch.Want
	switch {
	case s.ref != "":
		r, err := fetch.ResolveRef(refs, src, s.ref)
		if err != nil {
			return addition{}, err
		}
		want = r.Want()
	case list.Class == fetch.ClassNone:
		if s.rng != "" && s.rng != "*" {
			return addition{}, noVersions(src, s.rng)
		}
		return p.addHead(ctx, refs, src, as)
	default:
		c, err := p.newest(ctx, src, list, s.rng)
		if s.rng == "" && diag.CodeOf(err) == diag.SkillNotFound { // tags of the time before this skill
			return p.addHead(ctx, refs, src, as)
		}
		if s.rng != "" && diag.CodeOf(err) == diag.SubskillUnresolved { // the solver tells why
			key, err := chooseKey(as, "", src.Name(), src)
			return addition{key: key, req: req}, err
		}
		if err != nil {
			return addition{}, err
		}
		if s.rng == "" {
			req.Range = "^" + c.Version.String()
		}
		want = c.Want()
		p.noteMixed(ctx, src, list)
	}
	return p.addAt(ctx, req, want, as)
}

// addHead follows the default branch.
func (p *Project) addHead(ctx context.Context, refs *fetch.Refs, src skill.Source, as string) (addition, error) {
	head, err := fetch.DefaultBranch(refs, src)
	if err != nil {
		return addition{}, err
	}
	req := skill.Requirement{Source: src, Ref: strings.TrimPrefix(head.Ref, "refs/heads/")}
	_, tag := refs.Find("refs/tags/" + req.Ref)
	switch {
	case req.Ref == "" || skill.CheckRef(req.Ref) != nil:
		req.Ref = string(head.Commit) // a detached HEAD has no name, another none that can be written
	case tag || fetch.IsCommit(req.Ref):
		req.Ref = head.Ref // the short name would mean that
	}
	return p.addAt(ctx, req, head.Want(), as)
}

// addAt reads the skill at a commit and decides its key.
func (p *Project) addAt(ctx context.Context, req skill.Requirement, want fetch.Want, as string) (addition, error) {
	src := req.Source
	fact, err := p.skillAt(ctx, src, want)
	if err != nil {
		return addition{}, p.atWrongPlace(ctx, src, want, err)
	}
	f := readSkill(fact, src, nil)
	if f.fault != nil {
		return addition{}, f.fault
	}
	key, err := chooseKey(as, f.parsed.Name, src.Name(), src)
	return addition{key: key, req: req}, err
}

func noVersions(src skill.Source, rng string) error {
	return diag.New(diag.NoVersions, "%s has no version tags, so `%s` cannot be satisfied", src.Identity(), rng).
		WithReason("no_versions").
		WithHint("`skillpm add %s` follows the default branch and pins the commit in the lock", src.Identity())
}

// newest returns the highest stable version, in range if one is given, whose
// tree has the skill and that its author did not withdraw, unless the range names
// it exactly; without a stable one the highest pre-release.
func (p *Project) newest(ctx context.Context, src skill.Source, list fetch.VersionList, rng string) (fetch.Candidate, error) {
	u := newUniverse(p)
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
		batch := pool[:min(len(pool), readAhead)]
		pool = pool[len(batch):]
		var files []wantedFile
		for _, c := range batch {
			files = append(files, wantedFile{src, c.Want()})
		}
		if err := u.readFiles(ctx, src, files); err != nil {
			return fetch.Candidate{}, err
		}
		retracted := u.retractions(resolver.Wanted{}, src, list.Candidates)
		for _, c := range batch {
			f, _ := u.file(src, c.Commit)
			reason, withdrawn := retracted(c.Version)
			young := p.tooYoung(src, c)
			switch {
			case f.fault != nil:
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
		e.Details = hidden[:min(len(hidden), maxListed)]
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

func (p *Project) noteMixed(ctx context.Context, src skill.Source, list fetch.VersionList) {
	wants := list.Mixed()
	if wants == nil {
		return
	}
	snaps, err := p.snapshots(ctx, src, wants)
	if err != nil {
		return // a note is not worth a failure
	}
	if mixed, err := list.TagsMixed(snaps[0], snaps[1]); err == nil && mixed {
		p.opt.Report(diag.Note(diag.TagsMixed, "%s has repository-wide tags that are newer than those of this skill; they do not count", src.Identity()))
	}
}
