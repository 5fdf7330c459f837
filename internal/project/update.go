package project

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// UpdateOptions tunes Update.
type UpdateOptions struct {
	InstallOptions
	// Latest goes past the ranges in skills.toml and rewrites them.
	Latest bool
	// Prefer names skills that must come first when not all can be newest.
	Prefer []string
	// Yes agrees to every change that needs consent.
	Yes bool
	// AcceptTools, AcceptScripts and AcceptMovedTag agree to one kind each.
	AcceptTools, AcceptScripts, AcceptMovedTag bool
}

// Update moves the named skills, or all, to the newest versions their ranges
// allow, with as little else changed as possible. A change of allowed-tools, of
// scripts or of the signer needs consent.
func (p *Project) Update(ctx context.Context, names []string, opt UpdateOptions) (*UpdateResult, error) {
	if p.lock == nil && len(names) > 0 {
		return nil, p.noLock()
	}
	for _, n := range names {
		if _, err := p.entry(n); err != nil {
			return nil, err
		}
	}
	var edited []byte
	if opt.Latest {
		var err error
		if edited, err = p.latestRanges(ctx, names); err != nil {
			return nil, err
		}
		if p, err = p.edited(edited); err != nil {
			return nil, err
		}
	}
	ro := resolveOptions{lock: p.lock, unlockAll: len(names) == 0, consent: opt.ResolveSubskills}
	for _, n := range append(slices.Clone(opt.Prefer), names...) {
		ro.prefer = append(ro.prefer, skill.Key(n))
	}
	t, err := p.relock(ctx, edited, ro)
	if err != nil {
		return nil, err
	}
	moved, err := p.checkTags(ctx, t.lock, names, opt)
	if err != nil {
		return nil, err
	}
	result := &UpdateResult{}
	if result.Content, err = p.contentChanges(ctx, p.lock, t.lock); err != nil {
		return nil, err
	}
	if err := p.consentTo(result, &opt); err != nil {
		return result, err
	}
	opt.AcceptSignerChange = opt.AcceptSignerChange || opt.Yes
	result.Change, err = p.apply(ctx, t, opt.InstallOptions)
	result.MovedTags = moved
	return result, err
}

// UpdateResult is a Change with what it means for the content.
type UpdateResult struct {
	*Change
	// Content describes, skill by skill, which files differ and what of it a
	// person should look at.
	Content []ContentChange `json:"content"`
	// MovedTags are tags that name another commit than the lock and were accepted.
	MovedTags []string `json:"movedTags,omitempty"`
}

// latestRanges rewrites the ranges of the named skills, or of all, to the newest
// version there is.
func (p *Project) latestRanges(ctx context.Context, names []string) ([]byte, error) {
	data := p.manifestData
	for _, s := range p.manifest.Skills {
		src := s.Requirement.Source
		if len(names) > 0 && !slices.Contains(names, string(s.Key)) || s.Requirement.Ref != "" || src.Kind() != skill.SourceGit {
			continue
		}
		src, fault, err := p.withSubpath(ctx, src)
		if err != nil {
			return nil, err
		}
		if fault != nil {
			return nil, fault
		}
		refs, err := p.listing(ctx, src)
		if err != nil {
			return nil, err
		}
		list := fetch.Versions(refs, fetch.PlaceOf(src))
		if list.Class == fetch.ClassNone {
			continue
		}
		c, err := p.newest(ctx, src, list, "")
		if err != nil {
			return nil, err
		}
		if resolver.Match(s.Requirement.Range, c.Version) {
			continue
		}
		req := s.Requirement
		req.Range, req.Digest = "^"+c.Version.String(), ""
		if data, err = manifest.Set(data, s.Key, req); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// checkTags refuses a version whose tag names another commit than it was locked
// at, and warns of tags that are gone.
func (p *Project) checkTags(ctx context.Context, l *lockfile.Lock, names []string, opt UpdateOptions) ([]string, error) {
	if p.lock == nil {
		return nil, nil
	}
	var faults diag.List
	var moved []string
	var asked []*lockfile.Entry
	for _, e := range l.Skills {
		old := p.lock.Get(e.Key)
		if old == nil || old.Source.Tag == "" || sourceText(old) != sourceText(e) || len(names) > 0 && !slices.Contains(names, e.Key) {
			continue
		}
		asked = append(asked, e)
	}
	p.listAll(ctx, asked)
	for _, e := range asked {
		old := p.lock.Get(e.Key)
		refs, err := p.listing(ctx, mustSource(e))
		if err != nil {
			return nil, err
		}
		commit, ok := tagCommit(refs, old.Source.Tag)
		switch {
		case !ok:
			p.opt.Report(diag.Warn(diag.TagGone, "`%s`: the locked tag %s no longer exists", e.Key, old.Source.Tag).
				WithHint("the locked commit stays installable from the cache and from mirrors"))
		case string(commit) == old.Source.Commit:
		case opt.AcceptMovedTag:
			moved = append(moved, fmt.Sprintf("%s: %s %s -> %s", e.Key, old.Source.Tag, old.Source.Commit, commit))
		default:
			faults = append(faults, diag.New(diag.TagMoved, "`%s`: the tag %s names another commit than when it was locked", e.Key, old.Source.Tag).
				WithDetail("locked %s", old.Source.Commit).WithDetail("now    %s", commit).
				WithHint("ask the author why; `skillpm update %s --accept-moved-tag` takes the new content", e.Key))
		}
	}
	return moved, faults.Err()
}

func tagCommit(refs *fetch.Refs, tag string) (fetch.ID, bool) {
	for _, r := range refs.List {
		if r.Name == "refs/tags/"+tag {
			return r.Commit(), true
		}
	}
	return "", false
}

// consentTo asks, or refuses, where an update changes what a skill may do.
func (p *Project) consentTo(r *UpdateResult, opt *UpdateOptions) error {
	if opt.Yes || opt.DryRun {
		return nil
	}
	var open []string
	for _, c := range r.Content {
		if c.ToolsBefore != c.ToolsAfter && !opt.AcceptTools {
			open = append(open, fmt.Sprintf("`%s` changes allowed-tools from %q to %q (--accept-tools)", c.Key, c.ToolsBefore, c.ToolsAfter))
		}
		if len(c.Scripts) > 0 && !opt.AcceptScripts {
			open = append(open, fmt.Sprintf("`%s` changes scripts: %s (--accept-scripts)", c.Key, strings.Join(c.Scripts, ", ")))
		}
		// Without a terminal the verdict itself refuses, as signature_signer_changed.
		if p.opt.Ask != nil && c.SignerBefore != c.SignerAfter && c.SignerBefore != "" && !opt.AcceptSignerChange {
			open = append(open, fmt.Sprintf("`%s` changes its signer from %s to %s (--accept-signer-change)", c.Key, c.SignerBefore, orUnsigned(c.SignerAfter)))
		}
	}
	if len(open) == 0 {
		return nil
	}
	e := diag.New(diag.ConsentRequired, "the update changes what skills may do")
	e.Details = open
	e.WithHint("look at it with `skillpm update --dry-run`, then agree with --yes or the flag named")
	if p.opt.Ask != nil && p.opt.Ask("The update changes what skills may do:\n  "+strings.Join(open, "\n  ")+"\nGo on?") {
		opt.AcceptSignerChange = true
		return nil
	}
	return e
}

func orUnsigned(s string) string {
	if s == "" {
		return "nobody (unsigned)"
	}
	return s
}

// Outdated is one row of Outdated's answer.
type Outdated struct {
	Key     string `json:"key"`
	Locked  string `json:"locked"`
	Wanted  string `json:"wanted"` // newest in range, or "" if the branch did not move
	Latest  string `json:"latest"` // newest of all
	Range   string `json:"range"`
	Commit  string `json:"commit,omitempty"` // new head of a followed branch
	Content bool   `json:"content"`          // whether the skill's own files differ at Wanted
}

// OutdatedResult lists what could be updated.
type OutdatedResult struct {
	Skills []Outdated `json:"skills"`
}

// Outdated says which locked skills have newer versions, in and past their
// ranges. It writes nothing.
func (p *Project) Outdated(ctx context.Context) (*OutdatedResult, error) {
	if p.lock == nil {
		return nil, p.noLock()
	}
	r := &OutdatedResult{Skills: []Outdated{}}
	p.listAll(ctx, p.lock.Skills)
	for _, e := range p.lock.Skills {
		if e.Source.Type != lockfile.TypeGit {
			continue
		}
		row, ok, err := p.outdatedEntry(ctx, e)
		if err != nil {
			return nil, err
		}
		if ok {
			r.Skills = append(r.Skills, row)
		}
	}
	return r, nil
}

func (p *Project) outdatedEntry(ctx context.Context, e *lockfile.Entry) (Outdated, bool, error) {
	src := mustSource(e)
	refs, err := p.listing(ctx, src)
	if err != nil {
		return Outdated{}, false, err
	}
	row := Outdated{Key: e.Key, Locked: e.Version, Range: p.rangeOf(e.Key)}
	if e.Source.Tag == "" {
		return p.outdatedRef(ctx, e, src, row)
	}
	if commit, ok := tagCommit(refs, e.Source.Tag); !ok {
		p.opt.Report(diag.Warn(diag.TagGone, "`%s`: the locked tag %s no longer exists", e.Key, e.Source.Tag))
	} else if string(commit) != e.Source.Commit {
		p.opt.Report(diag.Warn(diag.TagMoved, "`%s`: the tag %s now names commit %s", e.Key, e.Source.Tag, commit))
	}
	list := fetch.Versions(refs, fetch.PlaceOf(src))
	p.noteMixed(ctx, src, list)
	locked, err := skill.ParseVersion(e.Version)
	if err != nil {
		return row, false, nil
	}
	var wanted *fetch.Candidate
	for i, c := range list.Candidates { // highest first
		if c.Version.Compare(locked) <= 0 {
			break
		}
		if row.Latest == "" && c.Version.Prerelease() == "" {
			row.Latest = c.Version.String()
		}
		if wanted == nil && p.inRange(e.Key, c.Version) {
			wanted = &list.Candidates[i]
		}
	}
	if wanted == nil {
		return row, row.Latest != "", nil
	}
	row.Wanted = wanted.Version.String()
	fact, err := p.skillAt(ctx, src, wanted.Want())
	row.Content = err == nil && string(fact.Tree) != e.Source.Tree
	return row, true, nil
}

func (p *Project) outdatedRef(ctx context.Context, e *lockfile.Entry, src skill.Source, row Outdated) (Outdated, bool, error) {
	if e.Source.Ref == "" {
		return row, false, nil
	}
	c, _, err := p.at(ctx, src, skill.Key(e.Key), e.Source.Ref, true)
	if err != nil {
		return row, false, err
	}
	row.Latest, row.Wanted, row.Commit, row.Content = c.Version.String(), c.Version.String(), c.Commit, true
	return row, c.Commit != e.Source.Commit, nil
}

// rangeOf joins the ranges that the lock's graph puts on a skill.
func (p *Project) rangeOf(key string) string {
	var out []string
	for _, r := range p.rangesOn(key) {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return strings.Join(out, ", ")
}

func (p *Project) rangesOn(key string) []string {
	var out []string
	for _, e := range p.lock.Edges() {
		if e.To != key {
			continue
		}
		r, err := skill.ParseRequirement(e.Requirement, nil)
		if err != nil {
			continue
		}
		if r.Ref != "" {
			out = append(out, "ref:"+r.Ref)
			continue
		}
		out = append(out, r.Range)
	}
	if o, ok := p.lock.Root.Overrides[key]; ok {
		if r, err := skill.ParseRequirement(o, nil); err == nil {
			return []string{r.Range}
		}
	}
	return out
}

func (p *Project) inRange(key string, v skill.Version) bool {
	for _, r := range p.rangesOn(key) {
		if !resolver.Match(r, v) {
			return false
		}
	}
	return true
}
