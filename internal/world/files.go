package world

import (
	"context"
	"path"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// WantedFile is one SKILL.md to read.
type WantedFile struct {
	Src  skill.Source
	Want fetch.Want
	// Whole says that the skill will most likely be installed, so that its other
	// files come in the same request, unless its directory is the one that is
	// locked already, Have.
	Whole bool
	Have  fetch.ID
}

// SkillFile is one SKILL.md as read.
type SkillFile struct {
	fact   SkillFact
	Parsed *parse.Skill
	// Fault is why it cannot be used, nil if it can.
	Fault error
	Notes diag.List
}

// ReadSkillFiles fetches SKILL.md files and keeps what was learnt in the index.
func (p *World) ReadSkillFiles(ctx context.Context, repo skill.Source, list []WantedFile) ([]SkillFact, []error, error) {
	wants := make([]fetch.Want, len(list))
	for i, w := range list {
		wants[i] = w.Want
	}
	snaps, err := p.Snapshots(ctx, repo, wants)
	if err != nil {
		return nil, nil, err
	}
	facts, errs := make([]SkillFact, len(list)), make([]error, len(list))
	groups := map[fetch.Snapshot][]int{}
	var order []fetch.Snapshot
	for i, s := range snaps {
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], i)
	}
	for _, s := range order {
		rest, err := p.loadWhole(ctx, s, list, groups[s], facts)
		if err != nil {
			return nil, nil, err
		}
		files, err := fetch.SkillFiles(ctx, s, places(list, rest))
		if err != nil {
			return nil, nil, err
		}
		for k, i := range rest {
			facts[i], errs[i] = p.factOf(s, list[i], files[k])
		}
	}
	return facts, errs, nil
}

// places are the places of some of list.
func places(list []WantedFile, some []int) []fetch.SkillAt {
	at := make([]fetch.SkillAt, len(some))
	for k, i := range some {
		at[k] = fetch.SkillAt{Commit: list[i].Want.Commit, Path: list[i].Src.Subpath()}
	}
	return at
}

// loadWhole brings the content of the wanted skills that are to come whole into
// the store, the SKILL.md of the others with it, and what is then known into
// facts. It returns those whose SKILL.md is still to be read, also where the
// content cannot be used.
func (p *World) loadWhole(ctx context.Context, s fetch.Snapshot, list []WantedFile, some []int, facts []SkillFact) ([]int, error) {
	if !slices.ContainsFunc(some, func(i int) bool { return list[i].Whole }) {
		return some, nil
	}
	found, err := fetch.FindSkills(ctx, s, places(list, some))
	if err != nil {
		return nil, err
	}
	var orders []Request
	var batch, rest, whole []int
	for k, i := range some {
		w := list[i]
		o := Request{Key: skill.Key(w.Src.Name()), Src: w.Src, Want: w.Want}
		if !w.Whole || found[k].Err != nil || found[k].GitTree == w.Have {
			rest = append(rest, i)
			continue
		}
		batch, orders, whole = append(batch, len(batch)), append(orders, o), append(whole, i)
	}
	if len(orders) == 0 {
		return some, nil
	}
	errs := make([]error, len(orders))
	err = p.loadBatch(ctx, s, orders, batch, places(list, rest), make([]Artifact, len(orders)), errs)
	if diag.CodeOf(err) == diag.FetchFailed && ctx.Err() == nil { // perhaps for one file, which is not needed yet
		return some, nil
	}
	for k, i := range whole {
		fact := p.Fact(list[i].Src.Repository(), list[i].Want.Commit, list[i].Src.Subpath())
		if errs[k] != nil || !fact.Known() {
			rest = append(rest, i)
			continue
		}
		facts[i] = fact
	}
	return rest, err
}

func (p *World) factOf(s fetch.Snapshot, w WantedFile, f fetch.SkillFile) (SkillFact, error) {
	repository := w.Src.Repository()
	if f.Err != nil && diag.CodeOf(f.Err) != diag.SkillNotFound {
		return SkillFact{}, f.Err
	}
	commit, err := s.Commit(w.Want.Commit)
	if err != nil {
		return SkillFact{}, err
	}
	if f.Err != nil {
		p.putFact(repository, w.Want.Commit, w.Src.Subpath(), SkillFact{Time: commit.Time.UTC(), Absent: true})
		return SkillFact{}, f.Err
	}
	fact := p.Fact(repository, w.Want.Commit, w.Src.Subpath())
	fact.Time, fact.Tree, fact.File = commit.Time.UTC(), f.GitTree, f.Name
	fact.Text = head(f.Data)
	p.putFact(repository, w.Want.Commit, w.Src.Subpath(), fact)
	return fact, nil
}

// head returns SKILL.md without its body: what requirements and versions need.
func head(data []byte) []byte {
	s, _ := parse.Read(data, parse.Options{})
	if s == nil || s.BodyOffset > len(data) {
		return data
	}
	return data[:s.BodyOffset]
}

// ReadSkill parses the SKILL.md of a fact, or keeps err as its fault.
func ReadSkill(fact SkillFact, src skill.Source, err error) SkillFile {
	if err != nil {
		return SkillFile{Fault: err}
	}
	f := SkillFile{fact: fact}
	f.Parsed, f.Notes = parse.Read(fact.Text, parse.Options{
		File: fact.File, Label: label(src, fact.File), Dir: path.Base(src.Subpath()), Local: src.Kind() == skill.SourcePath,
	})
	f.Fault = workspace.FirstError(f.Notes)
	return f
}

func label(src skill.Source, file string) string {
	if file == "" {
		file = parse.FileName
	}
	return src.Identity() + "/" + file
}

// SkillAt returns the fact of the skill of src at a commit, from the index or
// the repository. No skill there is skill_not_found.
func (p *World) SkillAt(ctx context.Context, src skill.Source, want fetch.Want) (SkillFact, error) {
	if fact := p.Fact(src.Repository(), want.Commit, src.Subpath()); fact.Tree != "" && fact.Text != nil {
		return fact, nil
	}
	facts, errs, err := p.ReadSkillFiles(ctx, src, []WantedFile{{Src: src, Want: want}})
	if err != nil {
		return SkillFact{}, err
	}
	return facts[0], errs[0]
}

// AtHand reports whether the skill's bytes are in the store.
func (p *World) AtHand(src skill.Source, commit fetch.ID) bool {
	fact := p.Fact(src.Repository(), commit, src.Subpath())
	return fact.Dig != "" && (p.Cache.Has(fact.Dig) || p.inMirror(fact.Dig))
}

// WarmFacts reads the SKILL.md files of many places in one go, so that looking
// at each afterwards costs nothing. Places without a skill are left for later.
func (p *World) WarmFacts(ctx context.Context, repo skill.Source, files []WantedFile) error {
	var missing []WantedFile
	for _, f := range files {
		if fact := p.Fact(f.Src.Repository(), f.Want.Commit, f.Src.Subpath()); fact.Text == nil {
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, _, err := p.ReadSkillFiles(ctx, repo, missing)
	return err
}

// MaxReadAhead is how many of the newest versions' SKILL.md come with a listing:
// more are read only when a conflict asks for them.
const MaxReadAhead = 8

// IsOffline reports whether err only says that something is not at hand.
func IsOffline(err error) bool { return diag.CodeOf(err) == diag.FetchOffline }

// FirstVersions returns the candidates that a solve will most likely ask for:
// the newest stable ones, or the newest of all where none is stable.
func FirstVersions(list []fetch.Candidate) []fetch.Candidate {
	var out []fetch.Candidate
	for _, c := range list {
		if c.Version.Prerelease() == "" && len(out) < MaxReadAhead {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = list[:min(len(list), MaxReadAhead)]
	}
	return out
}
