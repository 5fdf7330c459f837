package decide

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// buildLock turns a solution into a lock: the bytes of every new choice are
// brought into the store, and each entry is described from them.
func buildLock(ctx context.Context, p *world.World, r *resolution) (*lockfile.Lock, error) {
	chosen := r.solution.Chosen
	l := emptyLock(p.Project)
	entries := make([]*lockfile.Entry, len(chosen))
	var orders []world.Request
	var at []int
	for i, c := range chosen {
		k := r.universe.Candidate(c.Candidate)
		if k == nil {
			return nil, diag.New(diag.Internal, "nothing is known of the chosen `%s`", c.Name)
		}
		if k.Source.Kind() == skill.SourcePath {
			entries[i] = pathEntry(c, k)
			continue
		}
		if old := keptEntry(p.Local, c); old != nil {
			entries[i] = old
			continue
		}
		orders = append(orders, world.Request{Key: c.Name, Src: k.Source, Want: k.Want, Index: k.index})
		at = append(at, i)
	}
	got, err := p.Obtain(ctx, orders)
	if err != nil {
		return nil, err
	}
	var faults diag.List
	for n, i := range at {
		k := r.universe.Candidate(chosen[i].Candidate)
		e, err := NewEntry(p.Local, chosen[i], k, got[n])
		if errors.Is(err, fs.ErrNotExist) { // the store threw a damaged copy away
			if got[n], err = p.ObtainOne(ctx, orders[n]); err == nil {
				e, err = NewEntry(p.Local, chosen[i], k, got[n])
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
	uses := uses(p.Project)
	for i, c := range chosen {
		entries[i].Dependencies = dependencies(c)
		entries[i].Use = uses[string(c.Name)]
		l.Skills = append(l.Skills, entries[i])
	}
	for _, e := range l.Skills {
		if e.Source.Type == lockfile.TypeGit {
			e.Source.URL = p.Spelling(workspace.MustSource(e)).URL() // a kept one, too: skills.toml may spell it anew
		}
	}
	recordRefs(l, func(e *lockfile.Entry, ref string) string {
		if full := r.universe.fullRef(skill.Key(e.Key), workspace.MustSource(e).Identity(), ref); full != "" {
			return full
		}
		return lockedRef(e, ref)
	})
	p.ReportGathered()
	return finishLock(p.Project, l)
}

// emptyLock returns a lock with what comes from the manifest alone.
func emptyLock(p *workspace.Project) *lockfile.Lock {
	l := &lockfile.Lock{Root: lockfile.Root{Requires: map[string]string{}}, Targets: p.Targets()}
	for _, s := range p.Manifest.Skills {
		l.Root.Requires[string(s.Key)] = s.Requirement.String()
	}
	for _, s := range p.Manifest.Overrides {
		if l.Root.Overrides == nil {
			l.Root.Overrides = map[string]string{}
		}
		l.Root.Overrides[string(s.Key)] = s.Requirement.String()
	}
	return l
}

func finishLock(p *workspace.Project, l *lockfile.Lock) (*lockfile.Lock, error) {
	if err := world.MeasureChains(l); err != nil {
		return nil, err
	}
	l.Sort(p.Order())
	if p.Lock != nil {
		l.KeepUnknown(p.Lock)
	}
	return l, nil
}

// uses is what the manifest says of the use of each skill.
func uses(p *workspace.Project) map[string]string {
	uses := make(map[string]string, len(p.Manifest.Skills))
	for _, s := range p.Manifest.Skills {
		uses[string(s.Key)] = s.Use
	}
	return uses
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
func keptEntry(p *world.Local, c resolver.Chosen) *lockfile.Entry {
	if !c.Kept || p.Lock == nil {
		return nil
	}
	old := p.Lock.Get(string(c.Name))
	if old == nil || old.Source.Commit != c.Commit {
		return nil
	}
	e := *old
	if !p.Cache.Has(e.Digest) {
		return &e
	}
	tree, err := p.Cache.Manifest(e.Digest)
	if err != nil {
		return &e
	}
	src, ok := workspace.EntrySource(&e)
	if !ok {
		return &e
	}
	content := p.Stored(tree)
	s, _, err := content.Parsed(src)
	if err != nil {
		return &e
	}
	if content.Describe(&e, s) != nil {
		copied := *old
		return &copied
	}
	return &e
}

func pathEntry(c resolver.Chosen, k *Candidate) *lockfile.Entry {
	e := &lockfile.Entry{
		Key: string(c.Name), Version: c.Version.String(),
		Source: lockfile.Source{Type: lockfile.TypePath, Path: k.Source.Path()},
		Chain:  world.ChainOf(k.parsed, k.chain),
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

// NewEntry describes a chosen skill from its bytes.
func NewEntry(p *world.Local, c resolver.Chosen, k *Candidate, g world.Artifact) (*lockfile.Entry, error) {
	e := &lockfile.Entry{Key: string(c.Name), Version: c.Version.String(), Digest: g.Digest, Source: sourceEntry(p.Project, k, g)}
	if c.Retracted {
		if e.Retracted = c.RetractedReason; e.Retracted == "" {
			e.Retracted = "withdrawn"
		}
	}
	stored := p.Stored(g.Tree)
	s, notes, err := stored.Parsed(k.Source)
	if err != nil {
		return nil, err
	}
	if err := stored.Describe(e, s); err != nil {
		return nil, err
	}
	e.Chain = world.ChainOf(s, k.chain)
	if g.Bundle != "" {
		if e.Signature, err = signatureFacts(p, g.Bundle); err != nil {
			return nil, world.Named(world.Request{Key: c.Name, Src: k.Source}, err)
		}
	}
	reportReading(p.Project, e, s.DeclaredVersion, notes)
	return e, nil
}

// signatureFacts reads what a bundle says of its signer. One that cannot be read
// refuses the skill: a signature nobody can check is no signature.
func signatureFacts(p *world.Local, bundle skill.Digest) (*lockfile.Signature, error) {
	data, err := p.Cache.Bundle(bundle)
	if err != nil {
		return nil, err
	}
	facts, err := p.Policies.Facts(data)
	if err != nil {
		return nil, err
	}
	return workspace.SignatureOf(facts), nil
}

func sourceEntry(p *workspace.Project, k *Candidate, g world.Artifact) lockfile.Source {
	if k.index != nil {
		return lockfile.Source{Type: lockfile.TypeIndex, URL: k.Source.URL(), Artifact: k.index.Url, SHA256: k.index.Digest.Hex()}
	}
	return lockfile.Source{
		Type: lockfile.TypeGit, URL: p.Spelling(k.Source).URL(), Path: k.Source.Subpath(),
		Tag: k.Tag, Ref: k.ref, Commit: string(k.Want.Commit), Tree: string(g.GitTree),
	}
}

// reportReading passes on what reading a newly chosen SKILL.md found.
func reportReading(p *workspace.Project, e *lockfile.Entry, declaredVersion string, notes diag.List) {
	for _, n := range notes {
		info, ok := diag.Lookup(n.Code)
		switch {
		case n.Code == diag.FrontmatterRepaired || ok && info.Exit == 2 && n.Severity != diag.SeverityNote:
			p.Gather(n.Code, e.Key, n)
		}
	}
	if e.DeclaredName != "" {
		p.Gather(diag.KeyNotName, e.Key, diag.Note(diag.KeyNotName, "`%s` declares the name `%s`; runtimes that demand directory = name will not load it", e.Key, diag.Escape(e.DeclaredName)))
	}
	if declaredVersion == "" || e.Source.Tag == "" {
		return
	}
	if v, err := skill.ParseVersion(declaredVersion); err == nil && v.String() != e.Version {
		p.Gather(diag.VersionDiffers, e.Key, diag.Note(diag.VersionDiffers, "`%s` is tagged %s and its SKILL.md says %s; the tag decides", e.Key, e.Version, declaredVersion))
	}
}
