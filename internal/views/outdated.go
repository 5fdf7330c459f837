package views

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// RowState is what a locked skill is in relation to its source.
type RowState string

// The states, in the order in which the first that holds becomes a row's State.
const (
	// RowUnreachable: the source did not answer; what the row says is what an
	// earlier run saw.
	RowUnreachable RowState = "unreachable"
	// RowTagMoved: the locked tag, or a tag that is pinned, names another commit.
	RowTagMoved RowState = "tag_moved"
	// RowRepointed: a registry names another source for the skill.
	RowRepointed RowState = "source_repointed"
	// RowHeld: skills.toml says hold = true.
	RowHeld RowState = "held"
	// RowGone: the newest version, or the branch, has no skill at this place.
	RowGone RowState = "gone_upstream"
	// RowRetracted: the locked version was withdrawn.
	RowRetracted RowState = "retracted"
	// RowNewer: there is a newer version that every requirement allows.
	RowNewer RowState = "newer"
	// RowBranchMoved: the followed branch has other files of the skill.
	RowBranchMoved RowState = "branch_moved"
	// RowRefGone: the followed branch, or the pinned tag, does not exist any more.
	RowRefGone RowState = "ref_gone"
	// RowTagGone: the tag of the locked version does not exist any more.
	RowTagGone RowState = "tag_gone"
	// RowPastRange: there is a newer version, and a requirement excludes it.
	RowPastRange RowState = "newer_past_range"
	// RowPinned: a ref or a digest pins the skill, and there is something newer.
	RowPinned RowState = "pinned"
	// RowCurrent: nothing newer is known.
	RowCurrent RowState = "up_to_date"
)

var rowStates = []RowState{
	RowUnreachable, RowTagMoved, RowRepointed, RowHeld, RowGone, RowRetracted, RowNewer, RowBranchMoved,
	RowRefGone, RowTagGone, RowPastRange, RowPinned, RowCurrent,
}

// OutdatedRow is one row of Outdated's answer.
type OutdatedRow struct {
	Key   string   `json:"key"`
	State RowState `json:"state"`
	// Also are further states that hold, in the order of the constants.
	Also   []RowState `json:"also,omitempty"`
	Locked string     `json:"locked"`
	Wanted string     `json:"wanted"` // newest that update takes, or ""
	Latest string     `json:"latest"` // newest of all, or "" if nothing is newer
	Range  string     `json:"range"`
	Commit string     `json:"commit,omitempty"` // head of a followed branch, where a tag points now
	// Content says whether the skill's own files differ at Wanted, or at Latest
	// where nothing is wanted.
	Content bool `json:"content"`
	// GoneIn is the version or commit that no longer has the skill, NowAt where
	// skills of its content or its name are there.
	GoneIn    string   `json:"goneIn,omitempty"`
	NowAt     []string `json:"nowAt,omitempty"`
	Retracted string   `json:"retracted,omitempty"` // why the locked version was withdrawn
	Source    string   `json:"source,omitempty"`    // what a registry names instead
	// Code is why the source did not answer, AsOf the time of the listing that the
	// row rests on, if it is not this run's.
	Code diag.Code  `json:"code,omitempty"`
	AsOf *time.Time `json:"asOf,omitempty"`

	// Hint is how to move what `update --latest` leaves, if there is a way.
	Hint string `json:"hint,omitempty"`

	goneAt string // the commit of GoneIn
	// NothingAbove says that no usable version over the locked one is in the
	// project's own range, so that to release the skill could only lower it.
	NothingAbove bool
}

// Is reports whether state is among the row's states.
func (r *OutdatedRow) Is(state RowState) bool {
	return r.State == state || slices.Contains(r.Also, state)
}

// HasNewer reports whether the skill could be at something newer and nobody said
// that it is to stay: what `outdated --exit-code` counts.
func (r *OutdatedRow) HasNewer() bool {
	return !r.Is(RowHeld) && (r.Wanted != "" || r.Latest != "" || r.Is(RowBranchMoved) || r.Is(RowPinned))
}

// settle puts the states in their order.
func (r *OutdatedRow) settle(states []RowState) {
	var in []RowState
	for _, s := range rowStates {
		if slices.Contains(states, s) {
			in = append(in, s)
		}
	}
	if len(in) == 0 {
		in = []RowState{RowCurrent}
	}
	r.State, r.Also = in[0], in[1:]
}

// OutdatedResult has a row for every locked skill that comes from git.
type OutdatedResult struct {
	Skills []OutdatedRow `json:"skills"`
}

// Outdated says of every locked skill how it stands to its source, in and past
// its ranges. It writes nothing. Repositories are asked in parallel, with one
// request each where no tag or branch is new to this machine. One that fails is
// a finding beside the rows; its own rows say what was last known.
func Outdated(ctx context.Context, p *world.World) (*OutdatedResult, error) {
	if p.Lock == nil {
		return nil, p.NoLock()
	}
	rows, notes, err := Rows(ctx, p, p.Lock.Skills, false, false)
	for _, n := range notes {
		p.Gather(n.Finding.Code, n.Key, n.Finding)
	}
	p.ReportGathered()
	return &OutdatedResult{Skills: rows}, err
}

// Rows surveys the repositories of entries. The error holds what did not answer,
// one finding a repository; the rows are complete nevertheless. update says that a
// solve follows, latest that it goes past the ranges: what it will most likely take
// then comes with what the rows need.
func Rows(ctx context.Context, p *world.World, entries []*lockfile.Entry, update, latest bool) ([]OutdatedRow, []surveyNote, error) {
	var faults diag.List
	if err := p.LoadRegistries(ctx); err != nil {
		faults = append(faults, diag.All(err)...)
	}
	demands := demands(p.Project)
	surveys := surveys(p, entries, demands)
	errs := par.Each(ctx, p.Opt.Jobs, len(surveys), func(ctx context.Context, i int) error { return surveys[i].run(ctx, purpose{update, latest}) })
	if err := ctx.Err(); err != nil {
		return []OutdatedRow{}, nil, context.Cause(ctx)
	}
	var notes []surveyNote
	byKey := make(map[string]OutdatedRow, len(entries))
	for i, s := range surveys {
		if errs[i] != nil {
			faults = append(faults, s.finding(errs[i]))
		}
		for _, r := range s.rows {
			byKey[r.Key] = r
		}
		notes = append(notes, s.notes...)
	}
	stayWithParents(p.Project, byKey)
	rows := make([]OutdatedRow, 0, len(byKey))
	for _, e := range entries {
		if r, ok := byKey[e.Key]; ok {
			rows = append(rows, r)
		}
	}
	return rows, notes, faults.Err()
}

// demand is what the requirements on one name say together.
type demand struct {
	ranges, refs []string
	pinned       bool    // a digest
	root         *string // the project's own range
	held         bool
}

func (d *demand) text() string {
	var out []string
	for _, r := range d.ranges {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, r := range d.refs {
		if r = "ref:" + r; !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return strings.Join(out, ", ")
}

func (d *demand) allows(v skill.Version) bool {
	return !slices.ContainsFunc(d.ranges, func(r string) bool { return !resolver.Match(r, v) })
}

// demands reads the lock's graph once; an override stands for all requirements.
func demands(p *workspace.Project) map[string]*demand {
	out := map[string]*demand{}
	add := func(key, text string) {
		r, err := skill.ParseRequirement(text, nil)
		if err != nil {
			return
		}
		d := out[key]
		if d == nil {
			d = &demand{}
			out[key] = d
		}
		if r.Ref != "" {
			d.refs = append(d.refs, r.Ref)
		} else {
			d.ranges = append(d.ranges, r.Range)
		}
		d.pinned = d.pinned || r.Digest != ""
	}
	for _, e := range p.Lock.Edges() {
		add(e.To, e.Requirement)
	}
	for key, text := range p.Lock.Root.Overrides {
		delete(out, key)
		add(key, text)
	}
	for _, s := range p.Manifest.Skills {
		if d := out[string(s.Key)]; d != nil {
			d.held = s.Hold
			if s.Requirement.Ref == "" {
				d.root = &s.Requirement.Range
			}
		}
	}
	return out
}

// surveys groups the entries by repository, in their order.
func surveys(p *world.World, entries []*lockfile.Entry, demands map[string]*demand) []*survey {
	byRepo := map[string]*survey{}
	var list []*survey
	required := WithoutSource(p.Project)
	for _, e := range entries {
		src, ok := workspace.EntrySource(e)
		if !ok || src.Kind() != skill.SourceGit {
			continue
		}
		id := src.Repository()
		s := byRepo[id]
		if s == nil {
			s = &survey{p: p, repo: src, files: map[string]*seenFile{}, found: map[fetch.ID]*fetch.Discovery{}}
			byRepo[id] = s
			list = append(list, s)
		}
		d := demands[e.Key]
		if d == nil {
			d = &demand{}
		}
		it := surveyed{entry: e, src: src, demand: d}
		if required[e.Key] {
			it.repointed = Repointed(p, skill.Key(e.Key), src)
		}
		s.items = append(s.items, it)
	}
	return list
}

// Repointed returns the other source that registries now give a name, or "".
func Repointed(p *world.World, name skill.Key, locked skill.Source) string {
	now, _, ok := p.FromRegistries(name)
	if !ok || now.Identity() == locked.Identity() || !now.HasSubpath() && now.Repository() == locked.Repository() {
		return ""
	}
	return now.Identity()
}

// WithoutSource are the names that the project requires without a source: a
// registry says where they come from.
func WithoutSource(p *workspace.Project) map[string]bool {
	names := map[string]bool{}
	for _, s := range p.Manifest.Skills {
		if s.Requirement.Source.IsZero() {
			names[string(s.Key)] = true
		}
	}
	return names
}
