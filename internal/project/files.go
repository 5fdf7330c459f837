package project

import (
	"context"
	"path"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// wantedFile is one SKILL.md to read.
type wantedFile struct {
	src  skill.Source
	want fetch.Want
}

// skillFile is one SKILL.md as read.
type skillFile struct {
	fact   skillFact
	parsed *parse.Skill
	// fault is why it cannot be used, nil if it can.
	fault error
	notes diag.List
}

func (u *universe) file(src skill.Source, commit fetch.ID) (skillFile, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f, ok := u.files[factKey(src.Repository(), commit, src.Subpath())]
	return f, ok
}

func (u *universe) setFile(src skill.Source, commit fetch.ID, f skillFile) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.files[factKey(src.Repository(), commit, src.Subpath())] = f
}

// readFiles reads the SKILL.md files that are not known yet, one opening of the
// repository for all. A place without a skill is no error: its file says so.
func (u *universe) readFiles(ctx context.Context, repo skill.Source, list []wantedFile) error {
	var missing []wantedFile
	for _, w := range list {
		if _, ok := u.file(w.src, w.want.Commit); ok {
			continue
		}
		if fact := u.p.fact(w.src.Repository(), w.want.Commit, w.src.Subpath()); fact.Text != nil {
			u.setFile(w.src, w.want.Commit, readSkill(fact, w.src, nil))
			continue
		}
		missing = append(missing, w)
	}
	if len(missing) == 0 {
		return nil
	}
	facts, errs, err := u.p.readSkillFiles(ctx, repo, missing)
	if err != nil {
		return err
	}
	for i, w := range missing {
		u.setFile(w.src, w.want.Commit, readSkill(facts[i], w.src, errs[i]))
	}
	return nil
}

// readSkillFiles fetches SKILL.md files and keeps what was learnt in the index.
func (p *Project) readSkillFiles(ctx context.Context, repo skill.Source, list []wantedFile) ([]skillFact, []error, error) {
	wants := make([]fetch.Want, len(list))
	for i, w := range list {
		wants[i] = w.want
	}
	snaps, err := p.snapshots(ctx, repo, wants)
	if err != nil {
		return nil, nil, err
	}
	facts, errs := make([]skillFact, len(list)), make([]error, len(list))
	groups := map[fetch.Snapshot][]int{}
	var order []fetch.Snapshot
	for i, s := range snaps {
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], i)
	}
	for _, s := range order {
		at := make([]fetch.SkillAt, len(groups[s]))
		for k, i := range groups[s] {
			at[k] = fetch.SkillAt{Commit: list[i].want.Commit, Path: list[i].src.Subpath()}
		}
		files, err := fetch.SkillFiles(ctx, s, at)
		if err != nil {
			return nil, nil, err
		}
		for k, i := range groups[s] {
			facts[i], errs[i] = p.factOf(s, list[i], files[k])
		}
	}
	return facts, errs, nil
}

func (p *Project) factOf(s fetch.Snapshot, w wantedFile, f fetch.SkillFile) (skillFact, error) {
	repository := w.src.Repository()
	if f.Err != nil && diag.CodeOf(f.Err) != diag.SkillNotFound {
		return skillFact{}, f.Err
	}
	commit, err := s.Commit(w.want.Commit)
	if err != nil {
		return skillFact{}, err
	}
	if f.Err != nil {
		p.putFact(repository, w.want.Commit, w.src.Subpath(), skillFact{Time: commit.Time.UTC(), Absent: true})
		return skillFact{}, f.Err
	}
	fact := p.fact(repository, w.want.Commit, w.src.Subpath())
	fact.Time, fact.Tree, fact.File = commit.Time.UTC(), f.GitTree, f.Name
	fact.Text = head(f.Data)
	p.putFact(repository, w.want.Commit, w.src.Subpath(), fact)
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

func readSkill(fact skillFact, src skill.Source, err error) skillFile {
	if err != nil {
		return skillFile{fault: err}
	}
	f := skillFile{fact: fact}
	f.parsed, f.notes = parse.Read(fact.Text, parse.Options{
		File: fact.File, Label: label(src, fact.File), Dir: path.Base(src.Subpath()), Local: src.Kind() == skill.SourcePath,
	})
	f.fault = firstError(f.notes)
	return f
}

func label(src skill.Source, file string) string {
	if file == "" {
		file = parse.FileName
	}
	return src.Identity() + "/" + file
}

func firstError(list diag.List) error {
	for _, e := range list {
		if e.Severity == diag.SeverityError || e.Severity == "" {
			return e
		}
	}
	return nil
}

// skillAt returns the fact of the skill of src at a commit, from the index or
// the repository. No skill there is skill_not_found.
func (p *Project) skillAt(ctx context.Context, src skill.Source, want fetch.Want) (skillFact, error) {
	if fact := p.fact(src.Repository(), want.Commit, src.Subpath()); fact.Tree != "" && fact.Text != nil {
		return fact, nil
	}
	facts, errs, err := p.readSkillFiles(ctx, src, []wantedFile{{src, want}})
	if err != nil {
		return skillFact{}, err
	}
	return facts[0], errs[0]
}

// atHand reports whether the skill's bytes are in the store.
func (p *Project) atHand(src skill.Source, commit fetch.ID) bool {
	fact := p.fact(src.Repository(), commit, src.Subpath())
	return fact.Dig != "" && (p.cache.Has(fact.Dig) || p.inMirror(fact.Dig))
}

// loadRequirements answers Requirements: SKILL.md files in one batch, then each
// requirement is settled.
func (u *universe) loadRequirements(ctx context.Context, w *work) error {
	var list []wantedFile
	var cands []*candidate
	for _, want := range w.reqs {
		k := u.candidate(want.Candidate)
		if k == nil {
			return diag.New(diag.Internal, "the solver asked for a version of `%s` that was never listed", want.Name)
		}
		cands = append(cands, k)
		list = append(list, wantedFile{src: k.source, want: k.want})
	}
	if err := u.readFiles(ctx, w.src, list); err != nil {
		if !isOffline(err) {
			return err
		}
		for _, want := range w.reqs {
			u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Unavailable})
		}
		return nil
	}
	for i, want := range w.reqs {
		f, _ := u.file(list[i].src, list[i].want.Commit)
		if f.fault != nil {
			u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Loaded, Unreadable: f.fault.Error()})
			continue
		}
		edges, steps, err := u.settle(ctx, parent{key: want.Candidate.Name, src: list[i].src, want: list[i].want, skill: f.parsed})
		if err != nil {
			return err
		}
		u.mu.Lock()
		cands[i].parsed, cands[i].chain = f.parsed, steps
		u.mu.Unlock()
		u.setRequirements(want.Candidate, resolver.Requirements{State: resolver.Loaded, Edges: edges})
	}
	return nil
}
