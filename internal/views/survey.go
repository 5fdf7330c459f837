package views

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// survey looks at one repository for all of its locked skills. It is used by one
// goroutine.
type survey struct {
	p     *world.World
	repo  skill.Source
	items []surveyed

	refs  *fetch.Refs
	tags  *fetch.Tags
	asOf  *time.Time // of a listing that is not this run's
	files map[string]*seenFile
	found map[fetch.ID]*fetch.Discovery
	// failed is why the repository did not answer: only what is known counts.
	failed error

	rows  []OutdatedRow
	notes []surveyNote
}

// surveyed is one locked skill of a survey.
type surveyed struct {
	entry     *lockfile.Entry
	src       skill.Source
	demand    *demand
	repointed string // what a registry names instead
}

// surveyNote is a finding beside the rows.
type surveyNote struct {
	Key     string
	Finding *diag.Error
}

// seenFile is one SKILL.md, or that there is none.
type seenFile struct {
	fact world.SkillFact
	err  error
	read *world.SkillFile // once it was parsed
}

// purpose is what follows on a survey: a solve, past the ranges or within.
type purpose struct{ update, latest bool }

// run lists the repository, reads what the rows need, all of it in one opening
// where that is possible, and leaves rows. The error is why it did not answer.
func (s *survey) run(ctx context.Context, why purpose) error {
	s.list(ctx)
	if s.refs != nil {
		s.tags = fetch.NewTags(s.refs)
	}
	rows := map[string]OutdatedRow{}
	open := s.items
	ahead := 1
	if why.update { // a solve will ask for the next one anyway where the first will not do
		ahead = world.MaxReadAhead
	}
	for ; len(open) > 0; ahead *= world.MaxReadAhead {
		var rest []surveyed
		var need []world.WantedFile
		for _, it := range open {
			a := &asking{survey: s, surveyed: it, ahead: ahead, purpose: why}
			row := a.row()
			if len(a.need) > 0 {
				a.before()
				rest, need = append(rest, it), append(need, a.need...)
				continue
			}
			rows[row.Key] = row
			s.notes = append(s.notes, a.notes...)
		}
		open = rest
		if len(need) > 0 {
			s.read(ctx, need)
		}
	}
	for _, it := range s.items {
		row := rows[it.entry.Key]
		if row.GoneIn != "" {
			row.NowAt = s.nowAt(ctx, it, fetch.ID(row.goneAt))
		}
		s.rows = append(s.rows, row)
	}
	return s.failed
}

// list sets refs: this run's, else, with failed set, the last that is known.
func (s *survey) list(ctx context.Context) {
	refs, err := s.p.Listing(ctx, s.repo)
	if err != nil {
		s.failed = err
	}
	s.refs = refs
	if err == nil && !s.p.Opt.Offline {
		return
	}
	if last, ok := s.p.LastListing(s.repo); ok {
		s.refs, s.asOf = last.Refs, &last.Time
	}
}

// read brings SKILL.md files; after a failure only what is known counts.
func (s *survey) read(ctx context.Context, need []world.WantedFile) {
	facts, errs, err := s.p.ReadSkillFiles(ctx, s.repo, need)
	if err != nil {
		s.failed = err
		return
	}
	for i, w := range need {
		f := &seenFile{fact: facts[i], err: errs[i]}
		f.fact.Absent = diag.CodeOf(errs[i]) == diag.SkillNotFound
		if f.fact.Absent { // with the commit's time
			f.fact.Time = s.p.Fact(w.Src.Repository(), w.Want.Commit, w.Src.Subpath()).Time
		}
		s.files[world.FactKey("", w.Want.Commit, w.Src.Subpath())] = f
	}
}

// finding is the failure of the whole repository, with whom it concerns.
func (s *survey) finding(err error) *diag.Error {
	var keys []string
	for _, it := range s.items {
		keys = append(keys, it.entry.Key)
	}
	e := diag.New(diag.FetchFailed, "%s does not answer", s.repo.Repository()).WithCause(err)
	if all := diag.All(err); len(all) > 0 {
		copied := *all[0]
		copied.Details = slices.Clone(copied.Details)
		e = &copied
	}
	return e.WithDetail("asked for %s; locked and installed versions stay", namesText(keys))
}

// namesText names the first few of many.
func namesText(keys []string) string {
	text := "`" + strings.Join(keys[:min(len(keys), workspace.MaxNamed)], "`, `") + "`"
	if more := len(keys) - workspace.MaxNamed; more > 0 {
		text += " and " + plural(more, "more skill")
	}
	return text
}

// nowAt looks where a skill that is gone may have gone: the same content first,
// else the same directory name, at most maxNamed places.
func (s *survey) nowAt(ctx context.Context, it surveyed, commit fetch.ID) []string {
	d, ok := s.found[commit]
	if !ok {
		var err error
		if d, err = s.p.Discover(ctx, world.Parent{Src: s.repo, Want: fetch.Want{Commit: commit}}); err != nil {
			d = nil // a guess is not worth a failure
		}
		s.found[commit] = d
	}
	if d == nil {
		return nil
	}
	var same, named []string
	for _, f := range d.Skills {
		place := it.src.WithSubpath(f.Path).Identity()
		switch {
		case f.Path == it.src.Subpath():
		case it.entry.Source.Tree != "" && string(f.Tree) == it.entry.Source.Tree:
			same = append(same, place)
		case path.Base(f.Path) == path.Base(it.src.Subpath()):
			named = append(named, place)
		}
	}
	if len(same) == 0 {
		same = named
	}
	return same[:min(len(same), workspace.MaxNamed)]
}

// asking makes one row from what is known, and says what is lacking for it.
type asking struct {
	*survey
	surveyed
	ahead int // how many further versions to read where the first will not do
	need  []world.WantedFile
	// purpose says whether a solve follows, likely what it will then take.
	purpose purpose
	likely  fetch.ID
	notes   []surveyNote
	states  []RowState
}

// row makes the row; it counts only if nothing is needed.
func (a *asking) row() OutdatedRow {
	e := a.entry
	row := OutdatedRow{Key: e.Key, Locked: e.Version, Range: a.demand.text(), AsOf: a.asOf, Source: a.repointed}
	if a.failed != nil {
		row.Code = diag.CodeOf(a.failed)
		a.say(RowUnreachable)
	}
	if a.repointed != "" {
		a.say(RowRepointed)
	}
	if a.demand.held {
		a.say(RowHeld)
	}
	if a.refs != nil {
		a.look(&row)
	} else if e.Retracted != "" {
		row.Retracted = e.Retracted
		a.say(RowRetracted)
	}
	row.settle(a.states)
	return row
}

func (a *asking) say(s RowState) { a.states = append(a.states, s) }

// look compares the entry with the listing.
func (a *asking) look(row *OutdatedRow) {
	if a.entry.Source.Tag != "" {
		a.tag(row, a.entry.Source.Tag)
	}
	switch {
	case a.pinnedRef():
		a.pinned(row)
	case a.entry.Source.Tag != "":
		a.versions(row)
	case strings.HasPrefix(a.entry.Source.Ref, "refs/heads/"):
		a.branch(row)
	}
}

// tag says whether a tag is as it was when it was locked.
func (a *asking) tag(row *OutdatedRow, name string) {
	commit, ok := world.TagCommit(a.refs, name)
	switch {
	case !ok:
		a.say(RowTagGone)
		a.notes = append(a.notes, surveyNote{row.Key, diag.Warn(diag.TagGone, "`%s`: the locked tag %s no longer exists", row.Key, name).
			WithHint("the locked commit stays installable from the cache and from mirrors")})
	case string(commit) != a.entry.Source.Commit:
		row.Commit = string(commit)
		a.say(RowTagMoved)
		a.notes = append(a.notes, surveyNote{row.Key, diag.Warn(diag.TagMoved, "`%s`: the tag %s now names commit %s", row.Key, name, commit)})
	}
}

// pinnedRef reports whether a requirement names one commit or one tag.
func (a *asking) pinnedRef() bool {
	if strings.HasPrefix(a.entry.Source.Ref, TagRefs) {
		return true
	}
	return slices.ContainsFunc(a.demand.refs, func(ref string) bool {
		if fetch.IsCommit(ref) {
			return true
		}
		_, isTag := world.TagCommit(a.refs, strings.TrimPrefix(ref, TagRefs))
		return isTag
	})
}

// TagRefs begins the full name of a tag.
const TagRefs = "refs/tags/"

// file returns a SKILL.md at a commit. What is unknown is needed, unless the
// repository does not answer.
func (a *asking) file(want fetch.Want) (*seenFile, bool) {
	key := world.FactKey("", want.Commit, a.src.Subpath())
	if f, ok := a.files[key]; ok {
		return f, true
	}
	fact := a.p.Fact(a.src.Repository(), want.Commit, a.src.Subpath())
	if fact.Known() {
		f := &seenFile{fact: fact, err: fact.Missing(a.src)}
		a.files[key] = f
		return f, true
	}
	needed := slices.ContainsFunc(a.need, func(w world.WantedFile) bool { return w.Want == want })
	if a.failed == nil && !needed {
		a.need = append(a.need, world.WantedFile{
			Src: a.src, Want: want, Whole: want.Commit == a.likely, Have: fetch.ID(a.entry.Source.Tree),
		})
	}
	return nil, false
}

// before asks for the locked content too, with which an update compares what it
// takes, where a tag still leads to it and it is not at hand.
func (a *asking) before() {
	e := a.entry
	commit, ok := world.TagCommit(a.refs, e.Source.Tag)
	if !a.purpose.update || !ok || string(commit) != e.Source.Commit || a.p.Cache.Has(e.Digest) || a.failed != nil {
		return
	}
	a.need = append(a.need, world.WantedFile{Src: a.src, Want: workspace.EntryWant(e), Whole: true})
}

// parsed reads the head of a SKILL.md once.
func (f *seenFile) parsed(src skill.Source) *world.SkillFile {
	if f.read == nil {
		read := world.ReadSkill(f.fact, src, f.err)
		f.read = &read
	}
	return f.read
}
