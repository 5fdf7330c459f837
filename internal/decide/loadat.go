package decide

import (
	"context"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// loadAts answers every At of a repository. What the project itself asks for and
// is not there is told of all of them, not of the first alone.
func (u *Provider) loadAts(ctx context.Context, w *work) error {
	if err := u.readAts(ctx, w); err != nil {
		return err
	}
	var faults diag.List
	for _, want := range w.at {
		err := u.loadAt(ctx, want)
		switch code := diag.CodeOf(err); {
		case err == nil:
		case code == diag.RefNotFound || code == diag.SkillNotFound:
			faults = append(faults, diag.All(err)...)
		default:
			return err
		}
	}
	return faults.Err()
}

// maxHeldWhole bounds how many skills that need not move are read whole when the
// solver asks what else they could be: a few may well have to move.
const maxHeldWhole = 8

// readAts reads in one opening what loadAt will look at one by one, with the
// content where that will most likely be chosen. What cannot be read so is left
// to loadAt.
func (u *Provider) readAts(ctx context.Context, w *work) error {
	moving := 0
	for _, want := range w.at {
		if !u.held[want.Name] {
			moving++
		}
	}
	var files []world.WantedFile
	for _, want := range w.at {
		src, err := skill.ParseSource(want.Source)
		if err != nil {
			return err
		}
		at, err := resolveAt(ctx, u.p, src, want.Ref)
		if err != nil {
			continue
		}
		f := world.WantedFile{Src: src, Want: at.Want(), Whole: !u.held[want.Name] || len(w.at)-moving <= maxHeldWhole}
		if e := lockedSame(u.p.Project, want.Name, src); e != nil {
			f.Have = fetch.ID(e.Source.Tree)
		}
		files = append(files, f)
	}
	err := u.p.WarmFacts(ctx, w.src, files)
	if world.IsOffline(err) || diag.CodeOf(err) == diag.CommitGone {
		return nil
	}
	return err
}

// resolveAt says which commit of src ref is. A listing is asked for where ref can
// be a name.
func resolveAt(ctx context.Context, p *world.World, src skill.Source, ref string) (fetch.Resolved, error) {
	var refs *fetch.Refs
	if fetch.RefPrefixes(ref) != nil {
		var err error
		if refs, err = p.Listing(ctx, src); err != nil {
			return fetch.Resolved{}, err
		}
	}
	return fetch.ResolveRef(refs, src, ref)
}
