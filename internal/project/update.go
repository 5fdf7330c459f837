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
	// AcceptTools, AcceptScripts, AcceptMovedTag and AcceptMovedSource agree to
	// one kind each.
	AcceptTools, AcceptScripts, AcceptMovedTag, AcceptMovedSource bool
}

// Update moves the named skills, or all, to the newest versions their ranges
// allow, with as little else changed as possible, and never to an older one. A
// change of allowed-tools, of scripts or of the signer needs consent.
//
// What cannot move is a row: a skill that is gone upstream, retracted without a
// successor, held, or whose repository does not answer stays locked. Nothing is
// written where a named skill cannot move for such a reason, or where a tag
// moved. Of all skills those that can move do, and a repository that did not
// answer is an error beside the result.
func (p *Project) Update(ctx context.Context, names []string, opt UpdateOptions) (*UpdateResult, error) {
	if p.lock == nil && len(names) > 0 {
		return nil, p.noLock()
	}
	for _, n := range names {
		if _, err := p.entry(n); err != nil {
			return nil, err
		}
	}
	if err := p.loadRegistries(ctx); err != nil {
		return nil, err
	}
	result := &UpdateResult{Rows: []Outdated{}, Content: []ContentChange{}}
	silent, err := p.survey(ctx, result, names, opt)
	if err != nil {
		return result, err
	}
	var edited []byte
	if opt.Latest {
		if edited, err = p.latestRanges(result.Rows, names); err != nil {
			return result, err
		}
		if p, err = p.edited(edited); err != nil {
			return result, err
		}
	}
	t, err := p.updated(ctx, edited, result.Rows, names, opt)
	if err != nil {
		return result, err
	}
	if result.Content, err = p.contentChanges(ctx, p.lock, t.lock); err != nil {
		return result, err
	}
	if err := p.consentTo(result, t.lock, &opt); err != nil {
		return result, err
	}
	opt.AcceptSignerChange = opt.AcceptSignerChange || opt.Yes
	if result.Change, err = p.apply(ctx, t, opt.InstallOptions); err != nil {
		return result, err
	}
	return result, silent
}

// UpdateResult is a Change with what it means for the content.
type UpdateResult struct {
	*Change
	// Rows say how the skills stood to their sources before the update.
	Rows []Outdated `json:"rows"`
	// Content describes, skill by skill, which files differ and what of it a
	// person should look at.
	Content []ContentChange `json:"content"`
	// MovedTags are tags that name another commit than the lock and were accepted.
	MovedTags []string `json:"movedTags,omitempty"`
}

// survey fills the rows of what is asked for. The first error is of repositories
// that did not answer and need not stop the rest; the second refuses the update.
func (p *Project) survey(ctx context.Context, r *UpdateResult, names []string, opt UpdateOptions) (silent, refusal error) {
	if p.lock == nil {
		return nil, nil
	}
	rows, notes, silent := p.rows(ctx, p.asked(names, opt), true)
	r.Rows = rows
	for _, n := range notes {
		if n.finding.Code == diag.TagGone { // a moved tag is refused, or accepted
			p.gather(n.finding.Code, n.key, n.finding)
		}
	}
	p.reportGathered()
	if ctx.Err() != nil {
		return nil, silent
	}
	var faults diag.List
	locked := entriesByKey(p.lock)
	for i := range rows {
		row, e := &rows[i], locked[rows[i].Key]
		switch {
		case row.Is(RowTagMoved) && opt.AcceptMovedTag:
			r.MovedTags = append(r.MovedTags, fmt.Sprintf("%s: %s %s -> %s", e.Key, tagOf(e), e.Source.Commit, row.Commit))
		case row.Is(RowTagMoved):
			faults = append(faults, tagMoved(e, row.Commit))
		case len(names) > 0:
			if f := p.cannotMove(e, row, opt); f != nil {
				faults = append(faults, f)
			}
		}
	}
	if len(names) > 0 && silent != nil {
		faults = append(faults, diag.All(silent)...)
	}
	return silent, faults.Err()
}

// asked returns the entries whose sources an update asks. What moves to another
// source is none: the old one need not even answer.
func (p *Project) asked(names []string, opt UpdateOptions) []*lockfile.Entry {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var list []*lockfile.Entry
	without := p.withoutSource()
	for _, e := range p.lock.Skills {
		if len(names) > 0 && !wanted[e.Key] {
			continue
		}
		if opt.AcceptMovedSource && without[e.Key] && p.repointed(skill.Key(e.Key), mustSource(e)) != "" {
			continue
		}
		list = append(list, e)
	}
	return list
}

func tagOf(e *lockfile.Entry) string {
	if e.Source.Tag != "" {
		return e.Source.Tag
	}
	return strings.TrimPrefix(e.Source.Ref, tagRefs)
}

func tagMoved(e *lockfile.Entry, now string) *diag.Error {
	return diag.New(diag.TagMoved, "`%s`: the tag %s names another commit than when it was locked", e.Key, tagOf(e)).
		WithDetail("locked %s", e.Source.Commit).WithDetail("now    %s", now).
		WithHint("ask the author why; `skillpm update %s --accept-moved-tag` takes the new content", e.Key)
}

// cannotMove is why a skill that was named stays where it is, nil if it need not.
func (p *Project) cannotMove(e *lockfile.Entry, row *Outdated, opt UpdateOptions) *diag.Error {
	switch {
	case row.Is(RowRepointed) && !opt.AcceptMovedSource:
		return diag.New(diag.SourceRepointed, "`%s` is locked from %s, and a registry now names %s", e.Key, sourceText(e), row.Source).
			WithHint("look at it; `skillpm update %s --accept-moved-source` takes the skill from there", e.Key)
	case row.Is(RowHeld):
		return diag.New(diag.SkillHeld, "`%s` is held at %s by `hold = true`", e.Key, e.Version).
			At(p.manifest.File, p.manifest.Get(e.Key).Line, p.manifest.Get(e.Key).Column).
			WithHint("remove `hold` from its line in skills.toml to move it")
	case row.Is(RowGone) && row.Wanted == "":
		f := diag.New(diag.SkillNotFound, "`%s` is no longer at %s in %s; %s stays locked", e.Key, sourceText(e), row.GoneIn, e.Version)
		if len(row.NowAt) > 0 {
			return f.WithHint("now at %s? `skillpm remove %s`, then `skillpm add %s`", strings.Join(row.NowAt, " or "), e.Key, row.NowAt[0])
		}
		return f.WithHint("`skillpm remove %s` gives it up; its locked version stays installable", e.Key)
	case row.Is(RowRefGone):
		return diag.New(diag.RefNotFound, "`%s`: %s no longer exists in %s; the locked commit stays", e.Key, e.Source.Ref, mustSource(e).Repository()).
			WithHint("`skillpm versions %s` lists what there is", e.Key)
	}
	return nil
}

// updated solves with everything released that may move.
func (p *Project) updated(ctx context.Context, edited []byte, rows []Outdated, names []string, opt UpdateOptions) (transaction, error) {
	stays := map[string]bool{}
	for i := range rows {
		if row := &rows[i]; mustStay(row, opt) {
			stays[row.Key] = true
		}
	}
	ro := resolveOptions{lock: p.lock, unlockAll: len(names) == 0 && len(stays) == 0, consent: opt.ResolveSubskills}
	if len(names) == 0 && p.lock != nil && !ro.unlockAll {
		for _, e := range p.lock.Skills {
			if !stays[e.Key] {
				ro.unlock = append(ro.unlock, skill.Key(e.Key))
			}
		}
	}
	for _, n := range append(slices.Clone(opt.Prefer), names...) {
		if !stays[n] {
			ro.prefer = append(ro.prefer, skill.Key(n))
		}
	}
	t, err := p.relock(ctx, edited, ro)
	if err != nil {
		return t, err
	}
	return t, p.checkUpdated(t.lock)
}

// mustStay reports whether the solver has to hold on to the locked version.
func mustStay(r *Outdated, opt UpdateOptions) bool {
	switch {
	case r.Is(RowUnreachable), r.Is(RowHeld), r.Is(RowRefGone):
		return true
	case r.Is(RowRepointed):
		return !opt.AcceptMovedSource
	case r.Is(RowTagMoved): // accepted
		return false
	case r.Is(RowGone) && r.Wanted == "":
		return true
	}
	return r.nothingAbove && !(opt.Latest && r.Latest != "")
}

// checkUpdated holds a new lock to the old one: what is held did not move, and a
// commit has the content that was locked of it.
func (p *Project) checkUpdated(l *lockfile.Lock) error {
	before := entriesByKey(p.lock)
	var faults diag.List
	for _, e := range l.Skills {
		old := before[e.Key]
		if old == nil || sourceText(old) != sourceText(e) || old.Source.Commit != e.Source.Commit {
			if s := p.manifest.Get(e.Key); old != nil && s != nil && s.Hold {
				faults = append(faults, diag.New(diag.SkillHeld, "`%s` is held at %s, and the update would need %s", e.Key, old.Version, e.Version).
					At(p.manifest.File, s.Line, s.Column).WithHint("`skillpm update NAME…` updates the others one by one; or remove `hold`"))
			}
			continue
		}
		if old.Digest != "" && e.Digest != "" && old.Digest != e.Digest {
			faults = append(faults, diag.New(diag.DigestMismatch, "`%s` is not what was locked", e.Key).
				WithDetail("locked %s", old.Digest).WithDetail("commit %s has %s", e.Source.Commit, e.Digest).
				WithHint("the lock was altered: take the entry from its history, or `skillpm remove %s` and add it again", e.Key))
		}
	}
	return faults.Err()
}

// latestRanges raises the ranges of the named skills, or of all, to the newest
// version there is, each in its own spelling. A range that cannot be raised so
// stays, and its row says how to change it.
func (p *Project) latestRanges(rows []Outdated, names []string) ([]byte, error) {
	byKey := make(map[string]*Outdated, len(rows))
	for i := range rows {
		byKey[rows[i].Key] = &rows[i]
	}
	edit, err := manifest.NewEdit(p.manifestData)
	if err != nil {
		return nil, err
	}
	for _, s := range p.manifest.Skills {
		row := byKey[string(s.Key)]
		if row == nil || row.Latest == "" || s.Requirement.Ref != "" || row.Is(RowUnreachable) || row.Is(RowHeld) || row.Is(RowRepointed) || row.Is(RowTagMoved) {
			continue
		}
		v, err := skill.ParseVersion(row.Latest)
		if err != nil || v.IsPseudo() {
			continue
		}
		req := s.Requirement
		raised, ok := resolver.Raise(req.Range, v)
		if req.Digest != "" || !ok {
			row.Hint = fmt.Sprintf("`skillpm add %s@^%s` goes past it", p.spelled(row.Key, req.Source), plainVersion(v))
			continue
		}
		if raised != req.Range {
			req.Range = raised
			if err := edit.Set(s.Key, req); err != nil {
				return nil, err
			}
		}
	}
	return edit.Bytes()
}

func plainVersion(v skill.Version) string {
	text, _, _ := strings.Cut(v.String(), "+")
	return text
}

// spelled is a source as `add` takes it, with its place.
func (p *Project) spelled(key string, src skill.Source) string {
	if e := p.lock.Get(key); e != nil && (src.IsZero() || !src.HasSubpath()) {
		return mustSource(e).Spelling()
	}
	return src.Spelling()
}

func tagCommit(refs *fetch.Refs, tag string) (fetch.ID, bool) {
	for _, r := range refs.List {
		if r.Name == "refs/tags/"+tag {
			return r.Commit(), true
		}
	}
	return "", false
}

// consentTo asks, or refuses, where an update changes what a skill may do, or
// lowers a version that the project's own ranges allow.
func (p *Project) consentTo(r *UpdateResult, l *lockfile.Lock, opt *UpdateOptions) error {
	if opt.Yes || opt.DryRun {
		return nil
	}
	open := p.lowered(l)
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

// lowered names the skills that others force down.
func (p *Project) lowered(l *lockfile.Lock) []string {
	before := entriesByKey(p.lock)
	roots := make(map[string]skill.Requirement, len(p.manifest.Skills))
	for _, s := range p.manifest.Skills {
		roots[string(s.Key)] = s.Requirement
	}
	var open []string
	for _, e := range l.Skills {
		old := before[e.Key]
		if old == nil || sourceText(old) != sourceText(e) || old.Source.Tag == "" || e.Source.Tag == "" {
			continue
		}
		from, err1 := skill.ParseVersion(old.Version)
		to, err2 := skill.ParseVersion(e.Version)
		root, direct := roots[e.Key]
		if err1 != nil || err2 != nil || to.Compare(from) >= 0 || direct && (root.Ref != "" || !resolver.Match(root.Range, from)) {
			continue
		}
		open = append(open, fmt.Sprintf("`%s` goes down from %s to %s, which %s needs (--yes)", e.Key, old.Version, e.Version, strings.Join(l.Dependents(e.Key), ", ")))
	}
	return open
}

func orUnsigned(s string) string {
	if s == "" {
		return "nobody (unsigned)"
	}
	return s
}
