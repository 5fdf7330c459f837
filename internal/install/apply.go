package install

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// Apply does what p says and then writes files, as one transaction: after an
// error, or a kill and the next Begin, everything is as before or everything is
// new. Conflicts in p are returned as findings before anything is touched. A
// *DamagedError means: fetch, then Apply again. p must be this session's.
func (s *Session) Apply(ctx context.Context, p *Plan, files ...FileChange) (*Result, error) {
	if p.owner != s.site {
		return nil, diag.New(diag.Internal, "the plan was made without the lock")
	}
	if err := p.Conflicts().Err(); err != nil {
		return nil, err
	}
	files, err := s.site.changedFiles(files)
	if err != nil {
		return nil, err
	}
	if p.NoOp() && len(files) == 0 {
		return result(p.Actions), nil
	}
	actions := slices.Clone(p.Actions)
	err = s.site.transact(func(g *staging) (*journal, error) { return g.prepare(ctx, p.view, actions, files) })
	if err != nil {
		return nil, err
	}
	return result(actions), nil
}

// Write writes files as one transaction and leaves the skills and the receipt
// alone, for runs that only resolve.
func (s *Session) Write(files ...FileChange) error {
	files, err := s.site.changedFiles(files)
	if err != nil || len(files) == 0 {
		return err
	}
	return s.site.transact(func(g *staging) (*journal, error) {
		j := &journal{}
		return j, g.stageFiles(j, files)
	})
}

// changedFiles leaves out the files that have their content already.
func (s *site) changedFiles(files []FileChange) ([]FileChange, error) {
	var changed []FileChange
	for _, f := range files {
		if !slices.Contains(s.layout.Files, f.Path) {
			return nil, diag.New(diag.Internal, "`%s` is no file of this layout", f.Path)
		}
		if now, err := readFile(s.opt.FS, f.Path); err != nil || !bytes.Equal(now, f.Data) {
			changed = append(changed, f)
		}
	}
	return changed, nil
}

// transact stages with prepare, journals, finishes and clears. Up to the journal
// an error leaves staging behind and nothing else; after it, an error is undone.
func (s *site) transact(prepare func(*staging) (*journal, error)) error {
	g, err := s.newStaging()
	if err != nil {
		_ = s.clear()
		return err
	}
	j, err := prepare(g)
	if err != nil {
		_ = s.clear() // best effort: the next Begin clears too
		return err
	}
	if err := s.writeJournal(j); err != nil {
		// The journal may stand although its sync was refused.
		_ = s.root.Remove(s.state(journalName))
		_ = s.clear()
		return fsx.Diag(err, "write `"+s.state(journalName)+"`")
	}
	if err := g.finish(j); err != nil {
		return s.giveUp(g, j, err)
	}
	return s.commit(func() error { return g.undo(j) })
}

func (s *site) writeJournal(j *journal) error {
	data, err := j.bytes()
	if err != nil {
		return err
	}
	return s.root.WriteAtomic(s.state(journalName), data, 0o644)
}

// prepare stages content and files and returns the journal of what is to be done.
func (g *staging) prepare(ctx context.Context, v *view, actions []Action, files []FileChange) (*journal, error) {
	moves := slices.DeleteFunc(actionsByRef(actions), func(a *Action) bool { return !a.writes() && a.Kind != Remove })
	staged := make([]Action, len(moves))
	for i, a := range moves {
		staged[i] = *a
	}
	if err := g.stage(ctx, staged); err != nil {
		return nil, err
	}
	j := &journal{}
	for i, a := range staged {
		*moves[i] = a
		sw := swap{Place: a.Path(), Old: a.seen.kind != seenNothing, New: a.writes()}
		if sw.Old {
			var err error
			if sw.Was, err = g.wasAtPlan(a); err != nil {
				return nil, fsx.Diag(err, "look at `"+a.Path()+"`")
			}
		}
		j.Swaps = append(j.Swaps, sw)
	}
	var err error
	if j.Dirs, err = g.missingDirs(j.Swaps); err != nil {
		return nil, err
	}
	receipt, err := v.nextReceipt(actions).bytes()
	if err != nil {
		return nil, err
	}
	return j, g.stageFiles(j, append([]FileChange{{Data: receipt}}, files...))
}

func actionsByRef(actions []Action) []*Action {
	refs := make([]*Action, len(actions))
	for i := range actions {
		refs[i] = &actions[i]
	}
	return refs
}

// wasAtPlan describes what the plan saw, so that an edit made since is noticed.
func (g *staging) wasAtPlan(a Action) (string, error) {
	switch {
	case a.seen.kind == seenDir && a.seen.fault == "":
		return a.seen.sig.sum, nil
	case a.seen.kind == seenLink:
		return "link:" + a.seen.link, nil
	}
	return g.site.was(a.Path())
}

// missingDirs lists the targets that have to be created, parents first.
func (g *staging) missingDirs(swaps []swap) ([]string, error) {
	var dirs []string
	for _, sw := range swaps {
		for dir := path.Dir(sw.Place); sw.New && dir != "."; dir = path.Dir(dir) {
			_, err := g.site.root.Stat(dir)
			if err == nil {
				break
			}
			if !fsx.IsNotExist(err) {
				return nil, fsx.Diag(err, "look at target `"+dir+"`")
			}
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs) // a parent sorts before what is below it
	return slices.Compact(dirs), nil
}

// stageFiles writes and syncs files, of which one without a path is the receipt,
// and saves what they replace.
func (g *staging) stageFiles(j *journal, files []FileChange) error {
	for n, f := range files {
		name := g.site.abs(receiptName)
		if f.Path != "" {
			name = f.Path
		}
		sw := fileSwap{Path: f.Path}
		perm := permOf(g.site.opt.FS, name, f.Perm)
		old, err := readFile(g.site.opt.FS, name)
		if err == nil {
			sw.Old = true
			err = g.site.root.WriteSynced(g.file(n)+".old", old, perm)
		} else if fsx.IsNotExist(err) {
			err = nil
		}
		if err == nil {
			err = g.site.root.WriteSynced(g.file(n), f.Data, perm)
		}
		if err != nil {
			return fsx.Diag(err, "prepare `"+g.name(sw)+"`")
		}
		j.Files = append(j.Files, sw)
	}
	return nil
}

// giveUp undoes a transaction that failed with cause. If that fails too, the
// journal stays, and the next run tries again.
func (s *site) giveUp(g *staging, j *journal, cause error) error {
	if err := g.undo(j); err != nil {
		return errors.Join(cause, halfUndone(err))
	}
	if err := s.root.Remove(s.state(journalName)); err != nil {
		return errors.Join(cause, fsx.Diag(err, "end the transaction"))
	}
	_ = s.clear()
	return cause
}

// halfUndone adds to the error of an undo what becomes of the rest.
func halfUndone(err error) error {
	list := diag.All(err)
	for _, e := range list {
		e.Hint = "the next run finishes or undoes what this one began"
	}
	return list.Err()
}

// commit removes the journal: the transaction is done. Where even that fails it
// is undone, since an error must mean that nothing happened.
func (s *site) commit(undo func() error) error {
	err := s.root.Remove(s.state(journalName))
	if err != nil && !fsx.IsNotExist(err) {
		return errors.Join(fsx.Diag(err, "end the transaction"), halfUndone(undo()))
	}
	if err := s.root.SyncDir(s.layout.State); err != nil {
		s.opt.Note(diag.Note(diag.DiskFailed, "the end of the run could not be synced to the disk").WithCause(err))
	}
	if err := s.clear(); err != nil {
		s.opt.Note(diag.Note(diag.DiskFailed, "`%s` could not be cleared; the next run does it", s.state(stageName)).WithCause(err))
	}
	return nil
}

// clear removes staging, also a dead run's: we hold the lock.
func (s *site) clear() error {
	return fsx.Diag(s.root.RemoveAll(s.state(stageName)), "clear `"+s.state(stageName)+"`")
}

// recover finishes what a killed run had journalled; where that cannot be done it
// is undone. Without a journal the run had changed nothing, and its leavings go.
func (s *site) recover(context.Context) error {
	j, err := s.readJournal()
	if err != nil {
		return err
	}
	if j == nil {
		return s.clearLeavings()
	}
	g := &staging{site: s, dir: s.state(stageName)}
	if err := g.finish(j); err != nil {
		if err := s.giveUp(g, j, err); err != nil && g.there(s.state(journalName)) {
			return err
		}
		return s.clearLeavings()
	}
	if err := s.commit(func() error { return nil }); err != nil {
		return err
	}
	return s.clearLeavings()
}

// clearLeavings removes staging and the temporary names of atomic writes.
func (s *site) clearLeavings() error {
	for _, name := range []string{journalName, receiptName, ".gitignore"} {
		if err := s.root.Remove(fsx.TemporaryName(s.state(name))); err != nil && !fsx.IsNotExist(err) {
			return fsx.Diag(err, "clear `"+s.layout.State+"`")
		}
	}
	return s.clear()
}

// result sums the actions up by key.
func result(actions []Action) *Result {
	r := &Result{Modes: map[string]Mode{}}
	strength := map[Kind]int{Create: 5, Replace: 4, Adopt: 3, Keep: 2, Remove: 1}
	best := map[skill.Key]Kind{}
	for _, a := range actions {
		if strength[a.Kind] > strength[best[a.Key]] {
			best[a.Key] = a.Kind
		}
		if strength[a.Kind] > 1 {
			r.Modes[a.Path()] = a.Mode
		}
	}
	lists := map[Kind]*[]skill.Key{Create: &r.Created, Replace: &r.Replaced, Adopt: &r.Adopted, Keep: &r.Kept, Remove: &r.Removed}
	for key, kind := range best {
		*lists[kind] = append(*lists[kind], key)
	}
	for _, list := range lists {
		slices.SortFunc(*list, func(a, b skill.Key) int { return strings.Compare(string(a), string(b)) })
	}
	return r
}
