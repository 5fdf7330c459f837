package world

import (
	"context"
	"errors"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/skill"
)

// mirror is one open mirror of this run.
type mirror struct {
	*oci.Mirror
	spec string
	// holds are trees that a listing named and that are really there. It is
	// written under Project.mirrorLock.
	holds map[skill.Digest]bool
	// claims are what its listings say of skills, by fact key, likewise.
	claims map[string]SkillFact
	// docs are the versions it was asked for, nil where it has none.
	docs par.Once[string, *oci.Versions]
}

// versions returns what the mirror says of a repository, asked once a run; nil
// if it says nothing.
func (m *mirror) versions(ctx context.Context, repository string) (*oci.Versions, error) {
	return m.docs.Get(ctx, repository, func() (*oci.Versions, error) {
		v, err := m.Versions(ctx, repository)
		if errors.Is(err, oci.ErrMiss) {
			return nil, nil
		}
		return v, err
	})
}

// mirrorSpecs lists the mirrors in reading order: command line, environment,
// project, user.
func mirrorSpecs(p *workspace.Project) []string {
	specs := append([]string{}, p.Opt.Mirrors...)
	for s := range strings.FieldsSeq(strings.ReplaceAll(p.Getenv("SKILLPM_MIRRORS"), ",", " ")) {
		specs = append(specs, s)
	}
	for _, m := range p.Config.Mirrors {
		specs = append(specs, m.Address)
	}
	return specs
}

// openMirrors opens every configured mirror once. Offline only folders and
// archives are used.
func (p *World) openMirrors(ctx context.Context) ([]*mirror, error) {
	p.mirrorLock.Lock()
	defer p.mirrorLock.Unlock()
	if p.mirrorsOpen {
		return p.mirrors, nil
	}
	for _, spec := range mirrorSpecs(p.Project) {
		m, err := oci.Open(ctx, spec, oci.Options{Dir: p.Root, Limits: p.Config.Install.Limits()})
		if err != nil {
			return nil, err
		}
		if p.Opt.Offline && !m.Offline() {
			if err := m.Close(); err != nil {
				return nil, err
			}
			continue
		}
		p.mirrors = append(p.mirrors, &mirror{Mirror: m, spec: spec, holds: map[skill.Digest]bool{}, claims: map[string]SkillFact{}})
	}
	p.mirrorsOpen = true
	return p.mirrors, nil
}

func (p *World) closeMirrors() {
	for _, m := range p.mirrors {
		_ = m.Close() // opened for reading: nothing can be lost
	}
	p.mirrors, p.mirrorsOpen = nil, false
}

// fromMirrors tries the mirrors in order. A mirror that does not hold the skill,
// or holds something else, is passed over, the latter with a warning.
func (p *World) fromMirrors(ctx context.Context, o Request) (Artifact, bool, error) {
	mirrors, err := p.openMirrors(ctx)
	if err != nil || len(mirrors) == 0 {
		return Artifact{}, false, err
	}
	digest, bundle := o.Digest, o.Bundle
	fact := p.Fact(o.Src.Repository(), o.Want.Commit, o.Src.Subpath())
	if digest == "" {
		digest, bundle = fact.Dig, fact.Sig
	}
	for _, m := range mirrors {
		if digest == "" {
			if !p.Opt.Offline { // git can prove what a commit holds
				continue
			}
			c, ok := mirrorCandidate(ctx, m, o.Src, o.Want.Commit)
			if !ok || c.Digest == "" {
				continue
			}
			digest, bundle, fact.Tree = c.Digest, c.Bundle, fetch.ID(c.Tree)
		}
		g, err := p.fromMirror(ctx, m, digest, bundle)
		switch {
		case err == nil:
			g.GitTree = fact.Tree
			return g, true, nil
		case ctx.Err() != nil:
			return Artifact{}, false, ctx.Err()
		case errors.Is(err, oci.ErrMiss):
		default:
			p.Opt.Report(diag.Warn(diag.CodeOf(err), "mirror %s has no usable copy of `%s`; the next source is tried", m, o.Key).WithCause(err))
		}
	}
	return Artifact{}, false, nil
}

func (p *Local) fromMirror(ctx context.Context, m *mirror, digest, bundle skill.Digest) (Artifact, error) {
	g := Artifact{Digest: digest, Bundle: bundle}
	if bundle != "" {
		if _, err := p.Cache.Bundle(bundle); err != nil {
			data, err := m.Bundle(ctx, bundle)
			if err != nil {
				return Artifact{}, err
			}
			if _, err := p.Cache.PutBundle(data); err != nil {
				return Artifact{}, err
			}
		}
	}
	if p.Cache.Has(digest) {
		tree, err := p.Cache.Manifest(digest)
		if err == nil {
			g.Tree = tree
			return g, nil
		}
	}
	w, err := p.Cache.NewTree()
	if err != nil {
		return Artifact{}, err
	}
	defer w.Abort()
	tree, err := m.Tree(ctx, digest, func(f skill.File, data []byte) error { return w.Add(f.Path, f.Exec, data) })
	if err != nil {
		return Artifact{}, err
	}
	if err := w.Commit(tree); err != nil {
		return Artifact{}, err
	}
	g.Tree = tree
	return g, nil
}

// mirrorListing returns the branches and tags of src that a mirror recorded.
func (p *World) mirrorListing(ctx context.Context, src skill.Source) (*fetch.Refs, bool) {
	mirrors, err := p.openMirrors(ctx)
	if err != nil {
		return nil, false
	}
	repository := src.WithSubpath("").Identity()
	for _, m := range mirrors {
		v, err := m.versions(ctx, repository)
		if err != nil || v == nil || len(v.Refs) == 0 {
			continue
		}
		refs := &fetch.Refs{Head: v.Head, HeadID: fetch.ID(v.HeadCommit)}
		held := map[fetch.ID]bool{}
		for _, c := range v.Candidates {
			held[fetch.ID(c.Commit)] = true
		}
		for _, r := range v.Refs {
			ref := fetch.Ref{Name: r.Name, ID: fetch.ID(r.ID), Peeled: fetch.ID(r.Peeled)}
			if strings.HasPrefix(ref.Name, "refs/tags/") && !held[ref.Commit()] {
				continue // a version whose SKILL.md cannot be read would stop the choice
			}
			refs.List = append(refs.List, ref)
		}
		p.learn(m, src, v)
		p.noteHoldings(ctx, m, v)
		p.Opt.Report(diag.Note(diag.MirrorListing, "%s is read from mirror %s: only what it holds can be chosen", src.Repository(), m))
		return refs, true
	}
	return nil, false
}

// learn puts a mirror's candidates where the solver looks for facts, for this
// run: what a mirror says of commits is not proven by git objects.
func (p *World) learn(m *mirror, src skill.Source, v *oci.Versions) {
	p.mirrorLock.Lock()
	defer p.mirrorLock.Unlock()
	for _, c := range v.Candidates {
		m.claims[FactKey(src.Repository(), fetch.ID(c.Commit), c.Path)] = SkillFact{
			Time: c.Time, Tree: fetch.ID(c.Tree), File: c.File, Text: head(c.Text), Dig: c.Digest, Sig: c.Bundle, claimed: true,
		}
	}
}

// claim returns what the first mirror that was listed says of a skill.
func (p *World) claim(key string) (SkillFact, bool) {
	p.mirrorLock.Lock()
	defer p.mirrorLock.Unlock()
	for _, m := range p.mirrors {
		if f, ok := m.claims[key]; ok {
			return f, true
		}
	}
	return SkillFact{}, false
}

// noteHoldings remembers which candidates' files can be had without a network:
// offline these count as at hand.
func (p *World) noteHoldings(ctx context.Context, m *mirror, v *oci.Versions) {
	if !m.Offline() {
		return
	}
	p.mirrorLock.Lock()
	defer p.mirrorLock.Unlock()
	for _, c := range v.Candidates {
		if c.Digest == "" {
			continue
		}
		if ok, err := m.Has(ctx, oci.Ref{Kind: oci.KindTree, Digest: c.Digest}); ok && err == nil {
			m.holds[c.Digest] = true
		}
	}
}

// inMirror reports whether a mirror that was listed holds the tree.
func (p *World) inMirror(d skill.Digest) bool {
	p.mirrorLock.Lock()
	defer p.mirrorLock.Unlock()
	for _, m := range p.mirrors {
		if m.holds[d] {
			return true
		}
	}
	return false
}

func mirrorCandidate(ctx context.Context, m *mirror, src skill.Source, commit fetch.ID) (oci.Candidate, bool) {
	v, err := m.versions(ctx, src.WithSubpath("").Identity())
	if err != nil || v == nil {
		return oci.Candidate{}, false
	}
	for _, c := range v.Candidates {
		if c.Commit == string(commit) && c.Path == src.Subpath() {
			return c, true
		}
	}
	return oci.Candidate{}, false
}
