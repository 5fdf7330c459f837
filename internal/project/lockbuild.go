package project

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// buildLock turns a solution into a lock: the bytes of every new choice are
// brought into the store, and each entry is described from them.
func (p *Project) buildLock(ctx context.Context, r *resolution) (*lockfile.Lock, error) {
	chosen := r.solution.Chosen
	l := p.emptyLock()
	entries := make([]*lockfile.Entry, len(chosen))
	var orders []order
	var at []int
	for i, c := range chosen {
		k := r.universe.candidate(c.Candidate)
		if k == nil {
			return nil, diag.New(diag.Internal, "nothing is known of the chosen `%s`", c.Name)
		}
		if k.source.Kind() == skill.SourcePath {
			entries[i] = p.pathEntry(c, k)
			continue
		}
		if old := p.keptEntry(c); old != nil {
			entries[i] = old
			continue
		}
		orders = append(orders, order{key: c.Name, src: k.source, want: k.want, index: k.index})
		at = append(at, i)
	}
	got, err := p.obtain(ctx, orders)
	if err != nil {
		return nil, err
	}
	var faults diag.List
	for n, i := range at {
		k := r.universe.candidate(chosen[i].Candidate)
		e, err := p.newEntry(chosen[i], k, got[n])
		if errors.Is(err, fs.ErrNotExist) { // the store threw a damaged copy away
			if got[n], err = p.obtainOne(ctx, orders[n]); err == nil {
				e, err = p.newEntry(chosen[i], k, got[n])
			}
		}
		if err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		entries[i] = e
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	uses := p.uses()
	for i, c := range chosen {
		entries[i].Dependencies = dependencies(c)
		entries[i].Use = uses[string(c.Name)]
		l.Skills = append(l.Skills, entries[i])
	}
	for _, e := range l.Skills {
		if e.Source.Type == lockfile.TypeGit {
			e.Source.URL = p.spelling(mustSource(e)).URL() // a kept one, too: skills.toml may spell it anew
		}
	}
	recordRefs(l, func(e *lockfile.Entry, ref string) string {
		if full := r.universe.fullRef(skill.Key(e.Key), mustSource(e).Identity(), ref); full != "" {
			return full
		}
		return lockedRef(e, ref)
	})
	return p.finishLock(l)
}

// emptyLock returns a lock with what comes from the manifest alone.
func (p *Project) emptyLock() *lockfile.Lock {
	l := &lockfile.Lock{Root: lockfile.Root{Requires: map[string]string{}}, Targets: p.targets()}
	for _, s := range p.manifest.Skills {
		l.Root.Requires[string(s.Key)] = s.Requirement.String()
	}
	for _, s := range p.manifest.Overrides {
		if l.Root.Overrides == nil {
			l.Root.Overrides = map[string]string{}
		}
		l.Root.Overrides[string(s.Key)] = s.Requirement.String()
	}
	return l
}

func (p *Project) finishLock(l *lockfile.Lock) (*lockfile.Lock, error) {
	if err := measureChains(l); err != nil {
		return nil, err
	}
	l.Sort(p.order())
	if p.lock != nil {
		l.KeepUnknown(p.lock)
	}
	return l, nil
}

// uses is what the manifest says of the use of each skill.
func (p *Project) uses() map[string]string {
	uses := make(map[string]string, len(p.manifest.Skills))
	for _, s := range p.manifest.Skills {
		uses[string(s.Key)] = s.Use
	}
	return uses
}

// order is the manifest's order of skills.
func (p *Project) order() []string {
	keys := make([]string, len(p.manifest.Skills))
	for i, s := range p.manifest.Skills {
		keys[i] = string(s.Key)
	}
	return keys
}

func dependencies(c resolver.Chosen) []string {
	var names []string
	for _, e := range c.Edges {
		if !slices.Contains(names, string(e.Name)) && e.Delegate == "" {
			names = append(names, string(e.Name))
		}
	}
	slices.Sort(names)
	return names
}

// keptEntry returns a copy of the locked entry that a solution kept, described
// anew where its bytes are at hand.
func (p *Project) keptEntry(c resolver.Chosen) *lockfile.Entry {
	if !c.Kept || p.lock == nil {
		return nil
	}
	old := p.lock.Get(string(c.Name))
	if old == nil || old.Source.Commit != c.Commit {
		return nil
	}
	e := *old
	if !p.cache.Has(e.Digest) {
		return &e
	}
	tree, err := p.cache.Manifest(e.Digest)
	if err != nil {
		return &e
	}
	src, ok := entrySource(&e)
	if !ok {
		return &e
	}
	content := p.stored(tree)
	s, _, err := content.parsed(src)
	if err != nil {
		return &e
	}
	if content.describe(&e, s) != nil {
		copied := *old
		return &copied
	}
	return &e
}

func (p *Project) pathEntry(c resolver.Chosen, k *candidate) *lockfile.Entry {
	e := &lockfile.Entry{
		Key: string(c.Name), Version: c.Version.String(),
		Source: lockfile.Source{Type: lockfile.TypePath, Path: k.source.Path()},
		Chain:  chainOf(k.parsed, k.chain),
	}
	if k.parsed.Name != "" && k.parsed.Name != e.Key {
		e.DeclaredName = k.parsed.Name
	}
	for _, d := range k.parsed.Requires {
		if e.Requires == nil {
			e.Requires = map[string]string{}
		}
		e.Requires[string(d.Name)] = d.Requirement.String()
	}
	return e
}

// newEntry describes a chosen skill from its bytes.
func (p *Project) newEntry(c resolver.Chosen, k *candidate, g goods) (*lockfile.Entry, error) {
	e := &lockfile.Entry{Key: string(c.Name), Version: c.Version.String(), Digest: g.digest, Source: p.sourceEntry(k, g)}
	if c.Retracted {
		if e.Retracted = c.RetractedReason; e.Retracted == "" {
			e.Retracted = "withdrawn"
		}
	}
	stored := p.stored(g.tree)
	s, notes, err := stored.parsed(k.source)
	if err != nil {
		return nil, err
	}
	if err := stored.describe(e, s); err != nil {
		return nil, err
	}
	e.Chain = chainOf(s, k.chain)
	if g.bundle != "" {
		if e.Signature, err = p.signatureFacts(g.bundle); err != nil {
			return nil, named(order{key: c.Name, src: k.source}, err)
		}
	}
	p.reportReading(e, s.DeclaredVersion, notes)
	return e, nil
}

// signatureFacts reads what a bundle says of its signer. One that cannot be read
// refuses the skill: a signature nobody can check is no signature.
func (p *Project) signatureFacts(bundle skill.Digest) (*lockfile.Signature, error) {
	data, err := p.cache.Bundle(bundle)
	if err != nil {
		return nil, err
	}
	inspection, err := signing.Inspect(data, skill.Source{})
	if err != nil {
		return nil, err
	}
	return signatureOf(inspection.Facts), nil
}

func (p *Project) sourceEntry(k *candidate, g goods) lockfile.Source {
	if k.index != nil {
		return lockfile.Source{Type: lockfile.TypeIndex, URL: k.source.URL(), Artifact: k.index.url, SHA256: k.index.digest.Hex()}
	}
	return lockfile.Source{
		Type: lockfile.TypeGit, URL: p.spelling(k.source).URL(), Path: k.source.Subpath(),
		Tag: k.tag, Ref: k.ref, Commit: string(k.want.Commit), Tree: string(g.gitTree),
	}
}

// reportReading passes on what reading a newly chosen SKILL.md found.
func (p *Project) reportReading(e *lockfile.Entry, declaredVersion string, notes diag.List) {
	for _, n := range notes {
		info, ok := diag.Lookup(n.Code)
		switch {
		case n.Code == diag.FrontmatterRepaired || ok && info.Exit == 2 && n.Severity != diag.SeverityNote:
			p.gather(n.Code, e.Key, n)
		}
	}
	if e.DeclaredName != "" {
		p.opt.Report(diag.Note(diag.KeyNotName, "`%s` declares the name `%s`; runtimes that demand directory = name will not load it", e.Key, diag.Escape(e.DeclaredName)))
	}
	if declaredVersion == "" || e.Source.Tag == "" {
		return
	}
	if v, err := skill.ParseVersion(declaredVersion); err == nil && v.String() != e.Version {
		p.opt.Report(diag.Note(diag.VersionDiffers, "`%s` is tagged %s and its SKILL.md says %s; the tag decides", e.Key, e.Version, declaredVersion))
	}
}

// wantOf is what to ask for to get a lock entry's bytes.
func wantOf(e *lockfile.Entry) (order, bool) {
	src, ok := entrySource(e)
	if !ok {
		return order{}, false
	}
	o := order{key: skill.Key(e.Key), src: src, want: entryWant(e), digest: e.Digest}
	o.want.Tree = fetch.ID(e.Source.Tree) // all of its files are about to be read
	if e.Signature != nil {
		o.bundle = e.Signature.Bundle
	}
	if e.Source.Type == lockfile.TypeIndex {
		o.index = &indexArtifact{url: e.Source.Artifact, kind: artifactKind(e.Source.Artifact), digest: skill.Digest("sha256:" + e.Source.SHA256)}
		o.want = fetch.Want{Commit: fetch.ID(e.Source.SHA256)}
	}
	return o, true
}
