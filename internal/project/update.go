package project

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/choose"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// UpdateOptions tunes Update.
type UpdateOptions struct {
	apply.InstallOptions
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
func Update(ctx context.Context, p *world.World, names []string, opt UpdateOptions) (*UpdateResult, error) {
	if p.Lock == nil && len(names) > 0 {
		return nil, p.NoLock()
	}
	names, wanted := splitVersions(p.Project, names)
	for _, n := range names {
		if _, err := p.Entry(n); err != nil {
			return nil, err
		}
	}
	if err := p.LoadRegistries(ctx); err != nil {
		return nil, err
	}
	result := &UpdateResult{Rows: []views.OutdatedRow{}, Content: []views.ContentChange{}}
	silent, err := survey(ctx, p, result, names, opt)
	if err != nil {
		return result, err
	}
	var edited []byte
	if opt.Latest {
		if edited, err = latestRanges(p.Project, result.Rows, names); err != nil {
			return result, err
		}
	}
	if len(wanted) > 0 {
		if edited, err = withVersions(p.Project, edited, wanted); err != nil {
			return result, err
		}
	}
	if edited != nil {
		if p, err = p.Edited(edited); err != nil {
			return result, err
		}
	}
	t, err := updated(ctx, p, edited, result.Rows, names, opt)
	if err != nil {
		return result, err
	}
	if result.Content, err = views.ContentChanges(ctx, p.Local, p.Lock, t.Lock); err != nil {
		return result, err
	}
	if err := consentTo(p.Project, result, t.Lock, &opt); err != nil {
		return result, err
	}
	opt.AcceptSignerChange = opt.AcceptSignerChange || opt.Yes
	if result.Change, err = apply.Apply(ctx, p, t, opt.InstallOptions); err != nil {
		return result, err
	}
	return result, silent
}

// splitVersions cuts @VERSION off names and returns what is asked for so.
func splitVersions(p *workspace.Project, args []string) (names []string, wanted []choose.Spec) {
	for _, arg := range args {
		s, err := choose.ParseSpec(arg)
		if own := choose.Own(p, []choose.Spec{s})[0]; err == nil {
			if key, _, ok := own.Asked(); ok {
				names, wanted = append(names, string(key)), append(wanted, own)
				continue
			}
		}
		names = append(names, arg)
	}
	return names, wanted
}

// withVersions writes the versions that were asked for into the manifest data, or
// that on disk if it is nil.
func withVersions(p *workspace.Project, data []byte, wanted []choose.Spec) ([]byte, error) {
	if data == nil {
		data = p.ManifestData
	}
	edit, err := manifest.NewEdit(data)
	if err != nil {
		return nil, err
	}
	for _, s := range wanted {
		key, req, _ := s.Asked()
		if err := edit.Set(key, req); err != nil {
			return nil, err
		}
	}
	return edit.Bytes()
}

// UpdateResult is a Change with what it means for the content.
type UpdateResult struct {
	*decide.Change
	// Rows say how the skills stood to their sources before the update.
	Rows []views.OutdatedRow `json:"rows"`
	// Content describes, skill by skill, which files differ and what of it a
	// person should look at.
	Content []views.ContentChange `json:"content"`
	// MovedTags are tags that name another commit than the lock and were accepted.
	MovedTags []string `json:"movedTags,omitempty"`
}

// survey fills the rows of what is asked for. The first error is of repositories
// that did not answer and need not stop the rest; the second refuses the update.
func survey(ctx context.Context, p *world.World, r *UpdateResult, names []string, opt UpdateOptions) (silent, refusal error) {
	if p.Lock == nil {
		return nil, nil
	}
	rows, notes, silent := views.Rows(ctx, p, asked(p, names, opt), true, opt.Latest)
	r.Rows = rows
	for _, n := range notes {
		if n.Finding.Code == diag.TagGone { // a moved tag is refused, or accepted
			p.Gather(n.Finding.Code, n.Key, n.Finding)
		}
	}
	p.ReportGathered()
	if ctx.Err() != nil {
		return nil, silent
	}
	var faults diag.List
	locked := workspace.EntriesByKey(p.Lock)
	for i := range rows {
		row, e := &rows[i], locked[rows[i].Key]
		switch {
		case row.Is(views.RowTagMoved) && opt.AcceptMovedTag:
			r.MovedTags = append(r.MovedTags, fmt.Sprintf("%s: %s %s -> %s", e.Key, tagOf(e), e.Source.Commit, row.Commit))
		case row.Is(views.RowTagMoved):
			faults = append(faults, tagMoved(e, row.Commit))
		case len(names) > 0:
			if f := cannotMove(p.Project, e, row, opt); f != nil {
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
func asked(p *world.World, names []string, opt UpdateOptions) []*lockfile.Entry {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var list []*lockfile.Entry
	without := views.WithoutSource(p.Project)
	for _, e := range p.Lock.Skills {
		if len(names) > 0 && !wanted[e.Key] {
			continue
		}
		if opt.AcceptMovedSource && without[e.Key] && views.Repointed(p, skill.Key(e.Key), workspace.MustSource(e)) != "" {
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
	return strings.TrimPrefix(e.Source.Ref, views.TagRefs)
}

func tagMoved(e *lockfile.Entry, now string) *diag.Error {
	return diag.New(diag.TagMoved, "`%s`: the tag %s names another commit than when it was locked", e.Key, tagOf(e)).
		WithDetail("locked %s", e.Source.Commit).WithDetail("now    %s", now).
		WithHint("ask the author why; `skillpm update %s --accept-moved-tag` takes the new content", e.Key)
}

// cannotMove is why a skill that was named stays where it is, nil if it need not.
func cannotMove(p *workspace.Project, e *lockfile.Entry, row *views.OutdatedRow, opt UpdateOptions) *diag.Error {
	switch {
	case row.Is(views.RowRepointed) && !opt.AcceptMovedSource:
		return diag.New(diag.SourceRepointed, "`%s` is locked from %s, and a registry now names %s", e.Key, workspace.SourceText(e), row.Source).
			WithHint("look at it; `skillpm update %s --accept-moved-source` takes the skill from there", e.Key)
	case row.Is(views.RowHeld):
		return diag.New(diag.SkillHeld, "`%s` is held at %s by `hold = true`", e.Key, e.Version).
			At(p.Manifest.File, p.Manifest.Get(e.Key).Line, p.Manifest.Get(e.Key).Column).
			WithHint("remove `hold` from its line in skills.toml to move it")
	case row.Is(views.RowGone) && row.Wanted == "":
		f := diag.New(diag.SkillNotFound, "`%s` is no longer at %s in %s; %s stays locked", e.Key, workspace.SourceText(e), row.GoneIn, e.Version)
		if len(row.NowAt) > 0 {
			return f.WithHint("now at %s? `skillpm remove %s`, then `skillpm add %s`", strings.Join(row.NowAt, " or "), e.Key, row.NowAt[0])
		}
		return f.WithHint("`skillpm remove %s` gives it up; its locked version stays installable", e.Key)
	case row.Is(views.RowRefGone):
		return diag.New(diag.RefNotFound, "`%s`: %s no longer exists in %s; the locked commit stays", e.Key, e.Source.Ref, workspace.MustSource(e).Repository()).
			WithHint("`skillpm versions %s` lists what there is", e.Key)
	}
	return nil
}

// updated solves with everything released that may move.
func updated(ctx context.Context, p *world.World, edited []byte, rows []views.OutdatedRow, names []string, opt UpdateOptions) (decide.Transaction, error) {
	stays := map[string]bool{}
	for i := range rows {
		if row := &rows[i]; mustStay(row, opt) {
			stays[row.Key] = true
		}
	}
	ro := decide.ResolveOptions{Lock: p.Lock, UnlockAll: len(names) == 0 && len(stays) == 0, Consent: opt.ResolveSubskills}
	if len(names) == 0 && p.Lock != nil && !ro.UnlockAll {
		for _, e := range p.Lock.Skills {
			if !stays[e.Key] {
				ro.Unlock = append(ro.Unlock, skill.Key(e.Key))
			}
		}
	}
	for _, n := range append(slices.Clone(opt.Prefer), names...) {
		if !stays[n] {
			ro.Prefer = append(ro.Prefer, skill.Key(n))
		}
	}
	t, err := decide.Relock(ctx, p, edited, ro)
	if err != nil {
		return t, err
	}
	return t, checkUpdated(p.Project, t.Lock)
}

// mustStay reports whether the solver has to hold on to the locked version.
func mustStay(r *views.OutdatedRow, opt UpdateOptions) bool {
	switch {
	case r.Is(views.RowUnreachable), r.Is(views.RowHeld), r.Is(views.RowRefGone):
		return true
	case r.Is(views.RowRepointed):
		return !opt.AcceptMovedSource
	case r.Is(views.RowTagMoved): // accepted
		return false
	case r.Is(views.RowGone) && r.Wanted == "":
		return true
	}
	return r.NothingAbove && !(opt.Latest && r.Latest != "")
}

// checkUpdated holds a new lock to the old one: what is held did not move, and a
// commit has the content that was locked of it.
func checkUpdated(p *workspace.Project, l *lockfile.Lock) error {
	before := workspace.EntriesByKey(p.Lock)
	var faults diag.List
	for _, e := range l.Skills {
		old := before[e.Key]
		if old == nil || workspace.SourceText(old) != workspace.SourceText(e) || old.Source.Commit != e.Source.Commit || old.Source.SHA256 != e.Source.SHA256 {
			if s := p.Manifest.Get(e.Key); old != nil && s != nil && s.Hold {
				faults = append(faults, diag.New(diag.SkillHeld, "`%s` is held at %s, and the update would need %s", e.Key, old.Version, e.Version).
					At(p.Manifest.File, s.Line, s.Column).WithHint("`skillpm update NAME…` updates the others one by one; or remove `hold`"))
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
func latestRanges(p *workspace.Project, rows []views.OutdatedRow, names []string) ([]byte, error) {
	byKey := make(map[string]*views.OutdatedRow, len(rows))
	for i := range rows {
		byKey[rows[i].Key] = &rows[i]
	}
	edit, err := manifest.NewEdit(p.ManifestData)
	if err != nil {
		return nil, err
	}
	for _, s := range p.Manifest.Skills {
		row := byKey[string(s.Key)]
		if row == nil || row.Latest == "" || s.Requirement.Ref != "" || row.Is(views.RowUnreachable) || row.Is(views.RowHeld) || row.Is(views.RowRepointed) || row.Is(views.RowTagMoved) {
			continue
		}
		v, err := skill.ParseVersion(row.Latest)
		if err != nil || v.IsPseudo() {
			continue
		}
		req := s.Requirement
		raised, ok := resolver.Raise(req.Range, v)
		if req.Digest != "" || !ok {
			row.Hint = fmt.Sprintf("`skillpm add %s@^%s` goes past it", spelled(p, row.Key, req.Source), plainVersion(v))
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
func spelled(p *workspace.Project, key string, src skill.Source) string {
	if e := p.Lock.Get(key); e != nil && (src.IsZero() || !src.HasSubpath()) {
		return workspace.MustSource(e).Spelling()
	}
	return src.Spelling()
}

// consentTo asks, or refuses, where an update changes what a skill may do, or
// lowers a version that the project's own ranges allow.
func consentTo(p *workspace.Project, r *UpdateResult, l *lockfile.Lock, opt *UpdateOptions) error {
	if opt.Yes || opt.DryRun {
		return nil
	}
	open := lowered(p, l)
	for _, c := range r.Content {
		if c.ToolsBefore != c.ToolsAfter && !opt.AcceptTools {
			open = append(open, fmt.Sprintf("`%s` changes allowed-tools from %q to %q (--accept-tools)", c.Key, c.ToolsBefore, c.ToolsAfter))
		}
		if len(c.Scripts) > 0 && !opt.AcceptScripts {
			open = append(open, fmt.Sprintf("`%s` changes scripts: %s (--accept-scripts)", c.Key, strings.Join(c.Scripts, ", ")))
		}
		// Without a terminal the verdict itself refuses, as signature_signer_changed.
		if p.Opt.Ask != nil && c.SignerBefore != c.SignerAfter && c.SignerBefore != "" && !opt.AcceptSignerChange {
			open = append(open, fmt.Sprintf("`%s` changes its signer from %s to %s (--accept-signer-change)", c.Key, c.SignerBefore, orUnsigned(c.SignerAfter)))
		}
	}
	if len(open) == 0 {
		return nil
	}
	e := diag.New(diag.ConsentRequired, "the update changes what skills may do")
	e.Details = open
	e.WithHint("look at it with `skillpm update --dry-run`, then agree with --yes or the flag named")
	if p.Opt.Ask != nil && p.Opt.Ask("The update changes what skills may do:\n  "+strings.Join(open, "\n  ")+"\nGo on?") {
		opt.AcceptSignerChange = true
		return nil
	}
	return e
}

// lowered names the skills that others force down.
func lowered(p *workspace.Project, l *lockfile.Lock) []string {
	before := workspace.EntriesByKey(p.Lock)
	roots := make(map[string]skill.Requirement, len(p.Manifest.Skills))
	for _, s := range p.Manifest.Skills {
		roots[string(s.Key)] = s.Requirement
	}
	var open []string
	for _, e := range l.Skills {
		old := before[e.Key]
		if old == nil || workspace.SourceText(old) != workspace.SourceText(e) || old.Source.Tag == "" || e.Source.Tag == "" {
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
