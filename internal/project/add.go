package project

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/resolver"
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
	var adds []addition
	var skipped []SkippedSkill
	for _, text := range specs {
		more, left, err := p.additions(ctx, text, opt)
		if err != nil {
			return nil, err
		}
		adds, skipped = append(adds, more...), append(skipped, left...)
	}
	if err := distinctKeys(adds); err != nil {
		return nil, err
	}
	if len(adds) == 0 {
		return nil, skippedFindings(skipped)
	}
	t, left, err := p.addSolvable(ctx, adds, opt)
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
// skills whose requirements cannot be met, until the rest can be solved.
func (p *Project) addSolvable(ctx context.Context, adds []addition, opt AddOptions) (transaction, []SkippedSkill, error) {
	var skipped []SkippedSkill
	for {
		t, err := p.addAll(ctx, adds, opt)
		unsolved, ok := errors.AsType[*solveError](err)
		if !ok || !opt.All {
			return t, skipped, err
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
			return t, skipped, err
		}
		adds = rest
	}
}

// addAll edits the manifest and resolves.
func (p *Project) addAll(ctx context.Context, adds []addition, opt AddOptions) (transaction, error) {
	var prefer []skill.Key
	var entries []manifest.Entry
	for _, a := range adds {
		if err := p.checkKey(a); err != nil {
			return transaction{}, err
		}
		prefer = append(prefer, a.key)
		entries = append(entries, manifest.Entry{Key: a.key, Requirement: a.req})
	}
	data, err := manifest.SetAll(p.manifestData, entries)
	for i := 0; err == nil && opt.Use != "" && i < len(adds); i++ {
		data, err = manifest.SetUse(data, adds[i].key, opt.Use)
	}
	if err != nil {
		return transaction{}, err
	}
	if err := p.setManifest(data); err != nil {
		return transaction{}, err
	}
	t, err := p.relock(ctx, resolveOptions{lock: p.lock, prefer: prefer, consent: opt.ResolveSubskills})
	if err != nil {
		return transaction{}, err
	}
	if t.manifest == nil {
		t.manifest = data
	}
	return t, nil
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

// setManifest makes data the manifest of this run; the file is written by the
// transaction.
func (p *Project) setManifest(data []byte) error {
	old := p.manifestData
	m, err := manifest.Parse(p.display(p.manifestPath()), data, resolver.CheckRange)
	if err != nil {
		return err
	}
	p.manifest = m // p.written stays what is on disk
	p.config = manifest.Layer(p.user, m.Config)
	p.manifestData = data
	if err := p.loadPolicies(); err != nil {
		return err
	}
	p.manifestData = old // what is on disk
	return nil
}

func addTrustSource(data []byte, source string) ([]byte, error) {
	return manifest.AddTrustSource(data, source)
}

// additions turns one argument of add into lines for skills.toml.
func (p *Project) additions(ctx context.Context, text string, opt AddOptions) ([]addition, []SkippedSkill, error) {
	s, err := parseSpec(text)
	if err != nil {
		return nil, nil, badSpec(text, err)
	}
	if s.name != "" {
		return p.addName(s, opt)
	}
	switch s.source.Kind() {
	case skill.SourcePath:
		return p.addPath(ctx, s, opt)
	case skill.SourceIndex:
		return p.addIndex(ctx, s, opt)
	}
	p.argHosts[s.source.Host()] = true
	p.consent[s.source.Repository()] = true
	return p.addGit(ctx, s, opt)
}

func badSpec(text string, err error) error {
	e := usage("`%s` is no source", text).WithCause(err)
	return e.WithHint("write owner/repo//path, a URL, user@host:path or ./directory; @VERSION or @BRANCH may follow")
}

// addName adds a name that a configured registry knows.
func (p *Project) addName(s spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	src, fault, ok := p.fromRegistries(skill.Key(s.name))
	if fault != nil {
		return nil, nil, fault
	}
	if !ok {
		return nil, nil, usage("`%s` is no source, and no configured registry names it", s.name).
			WithHint("write owner/repo//path, a URL or ./directory")
	}
	key := skill.Key(s.name)
	if opt.As != "" {
		key = skill.Key(opt.As)
	}
	req := skill.Requirement{Source: src, Ref: s.ref, Range: s.rng}
	if req.Range == "" && req.Ref == "" {
		req.Range = "*"
	}
	p.consent[src.Repository()] = true
	return []addition{{key, req}}, nil, nil
}

// addPath adds a skill of the project itself.
func (p *Project) addPath(ctx context.Context, s spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	if s.ref != "" {
		return nil, nil, usage("a path has no branches: `%s`", s.text).WithHint("a repository on disk is written file:///…")
	}
	src, err := p.relativePath(s.source)
	if err != nil {
		return nil, nil, err
	}
	f, err := p.readPathSkill(src)
	if err != nil {
		return nil, nil, err
	}
	if f.fault != nil {
		return nil, nil, f.fault
	}
	key, err := chooseKey(opt.As, f.parsed.Name, path.Base(src.Path()), src)
	if err != nil {
		return nil, nil, err
	}
	return []addition{{key, skill.Requirement{Range: rangeOr(s.rng, "*"), Source: src}}}, nil, nil
}

func rangeOr(rng, fallback string) string {
	if rng == "" {
		return fallback
	}
	return rng
}

// chooseKey returns the key for a skill: --as, else the declared name if legal,
// else the last path element if legal. Names are never repaired.
func chooseKey(as, declared, element string, src skill.Source) (skill.Key, error) {
	if as != "" {
		key, err := skill.ParseKey(as)
		if err != nil {
			return "", usage("--as: %v", err)
		}
		return key, nil
	}
	if key, err := skill.ParseKey(declared); err == nil {
		return key, nil
	}
	if key, err := skill.ParseKey(element); err == nil {
		return key, nil
	}
	return "", diag.New(diag.NameNeeded, "neither the declared name %q nor the directory %q can be a key", declared, element).
		WithDetail("a key has A-Z a-z 0-9 and, after the first, also . _ -").
		WithHint("`skillpm add %s --as KEY` names it", src.Identity())
}

// addGit adds one or several skills of a repository.
func (p *Project) addGit(ctx context.Context, s spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	if err := p.settleBrowser(ctx, &s); err != nil {
		return nil, nil, err
	}
	refs, err := p.repos.listing(ctx, s.source)
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
		return nil, nil, err
	}
	d, err := p.discover(ctx, parent{src: s.source, want: at})
	if err != nil {
		return nil, nil, err
	}
	paths, err := p.choose(s, d, opt)
	if err != nil {
		return nil, nil, err
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
	return fetch.Want{Commit: r.Commit, Ref: r.Ref}, err
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
			faults = append(faults, diag.New(diag.SkillNotFound, "no skill `%s` in %s", name, src.Repository()).
				WithHint("`skillpm add %s` lists what there is", short(src)))
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
		c, k, err := p.at(ctx, a.req.Source, a.key, a.req.Ref)
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
		want = fetch.Want{Commit: r.Commit, Ref: r.Ref}
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
	if req.Ref == "" { // a detached HEAD has no name
		req.Ref = string(head.Commit)
	}
	return p.addAt(ctx, req, fetch.Want{Commit: head.Commit, Ref: head.Ref}, as)
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
	return addition{key, req}, err
}

func noVersions(src skill.Source, rng string) error {
	return diag.New(diag.NoVersions, "%s has no version tags, so `%s` cannot be satisfied", src.Identity(), rng).
		WithReason("no_versions").
		WithHint("`skillpm add %s` follows the default branch and pins the commit in the lock", src.Identity())
}

// newest returns the highest stable version, in range if one is given, whose
// tree has the skill and that its author did not withdraw; without a stable one
// the highest pre-release.
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
			if _, withdrawn := retracted(c.Version); f.fault != nil || withdrawn || p.tooYoung(src, c) != "" {
				continue
			}
			return c, nil
		}
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
	snaps, err := p.repos.snapshots(ctx, src, wants)
	if err != nil || len(snaps) == 0 {
		return // a note is not worth a failure
	}
	if mixed, err := list.TagsMixed(snaps[0]); err == nil && mixed {
		p.opt.Report(diag.Note(diag.TagsMixed, "%s has repository-wide tags that are newer than those of this skill; they do not count", src.Identity()))
	}
}

// atWrongPlace adds to skill_not_found where a skill of that name is.
func (p *Project) atWrongPlace(ctx context.Context, src skill.Source, want fetch.Want, err error) error {
	if diag.CodeOf(err) != diag.SkillNotFound {
		return err
	}
	e := *diag.All(err)[0]
	d, discoverErr := p.discover(ctx, parent{src: src, want: want})
	if discoverErr != nil {
		return err
	}
	for _, f := range d.Skills {
		if path.Base(f.Path) == src.Name() && f.Excluded == "" {
			return e.WithHint("did you mean %s?", src.WithSubpath(f.Path).Identity())
		}
	}
	if e.Hint == "" {
		e.Hint = fmt.Sprintf("`skillpm add %s` lists the skills there", short(src))
	}
	return &e
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
