package decide

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// locate decides, for every requirement and chain member of p, where it points:
// its own source; the root's entry of that name; the lock's answer for this same
// edge; the same repository; a registry. Never any repository that merely has
// the name.
func (u *Provider) locate(ctx context.Context, p world.Parent) ([]resolver.Edge, []world.ChainStep, error) {
	var edges []resolver.Edge
	explicit := map[skill.Key]resolver.Edge{}
	for _, d := range p.Skill.Requires {
		e, err := u.locateOne(ctx, p, skill.Key(d.Name), d.Requirement, "")
		if err != nil {
			return nil, nil, err
		}
		edges = append(edges, e)
		explicit[e.Name] = e
	}
	steps, chain, err := u.locateChain(ctx, p, explicit)
	if err != nil {
		return nil, nil, err
	}
	return append(edges, chain...), steps, nil
}

func (u *Provider) locateChain(ctx context.Context, p world.Parent, explicit map[skill.Key]resolver.Edge) ([]world.ChainStep, []resolver.Edge, error) {
	if p.Skill.Chain == nil {
		return nil, nil, nil
	}
	var steps []world.ChainStep
	var edges []resolver.Edge
	seen := map[skill.Key]bool{}
	for _, s := range p.Skill.Chain.Steps {
		key := skill.Key(s.Name)
		e, ok := explicit[key]
		if !ok {
			var err error
			if e, err = u.locateOne(ctx, p, key, skill.Requirement{Range: "*"}, s.Path); err != nil {
				return nil, nil, err
			}
		}
		e.Chain = true
		if e.Fault != nil && e.Fault.Code == diag.AmbiguousSkill {
			e.Fault.Code = diag.ChainAmbiguous
		}
		if len(e.Sources) == 0 && e.Fault == nil && !p.Skill.Chain.ValidateOnLoad {
			steps = append(steps, world.ChainStep{Name: key})
			continue
		}
		steps = append(steps, world.ChainStep{Name: key, Resolved: true})
		if !seen[key] {
			edges = append(edges, e)
		}
		seen[key] = true
	}
	return steps, edges, nil
}

// locateOne settles one requirement. memberPath is the path a chain member was
// written as, "" for a requirement.
func (u *Provider) locateOne(ctx context.Context, p world.Parent, name skill.Key, r skill.Requirement, memberPath string) (resolver.Edge, error) {
	e := resolver.Edge{Name: name, Range: r.Range, Ref: r.Ref, Digest: r.Digest, Delegate: r.Delegate}
	if r.Delegate != "" {
		return e, nil
	}
	u.pin(name, r.Ref)
	if !r.Source.IsZero() {
		src, fault, err := u.p.WithSubpath(ctx, r.Source)
		if err != nil {
			return e, err
		}
		e.Sources, e.Fault = []string{src.Identity()}, fault
		return e, nil
	}
	if src, ok := u.rootNames[name]; ok {
		e.Sources, e.OrRoot = []string{src.Identity()}, true
		return e, nil
	}
	if src, ok := lockedEdge(u.p.Project, p.Key, name); ok {
		e.Sources, e.OrLocked = []string{src.Identity()}, true
		if err := u.markSibling(ctx, p, src, &e); err != nil {
			return e, err
		}
		return e, nil
	}
	if done, err := u.lookUp(ctx, p, memberPath, &e); done || err != nil {
		return e, err
	}
	src, fault, ok := u.p.FromRegistries(name)
	switch {
	case fault != nil:
		e.Fault = fault
	case ok:
		e.Sources, e.OrLocked = []string{src.Identity()}, true
	default:
		e.Missing = fmt.Sprintf("no skill `%s` beside or below %s, and no configured registry names it", name, besides(p.Src))
	}
	return e, nil
}

// besides names the directory that a look-up begins in.
func besides(src skill.Source) string {
	if src.Kind() == skill.SourcePath {
		return "path:" + path.Dir(src.Path())
	}
	dir := path.Dir(src.Subpath())
	if dir == "." {
		return src.Repository()
	}
	return src.Repository() + "//" + dir
}

// markSibling gives an edge to a skill of the parent's own repository what the
// look-up would have given it.
func (u *Provider) markSibling(ctx context.Context, p world.Parent, src skill.Source, e *resolver.Edge) error {
	if p.Src.Kind() != skill.SourceGit || src.Kind() != skill.SourceGit || src.Repository() != p.Src.Repository() {
		return nil
	}
	e.LookedUp = true
	refs, err := u.p.Listing(ctx, p.Src)
	if world.IsOffline(err) {
		e.Exact = string(p.Want.Commit)
		return nil
	}
	if err != nil {
		return err
	}
	if fetch.Versions(refs, fetch.PlaceOf(src)).Class == fetch.ClassNone {
		e.Exact = string(p.Want.Commit)
	}
	return nil
}

// lookUp searches the parent's own repository at the parent's own commit.
func (u *Provider) lookUp(ctx context.Context, p world.Parent, memberPath string, e *resolver.Edge) (bool, error) {
	if p.Src.Kind() == skill.SourceIndex {
		return false, nil
	}
	found, at, err := u.discovery(ctx, p)
	if err != nil {
		return false, err
	}
	hit, err := sibling(found, at, string(e.Name), memberPath)
	switch diag.CodeOf(err) {
	case "":
	case diag.SkillNotFound:
		return false, nil
	default:
		for _, f := range diag.All(err) {
			e.Fault = f
			break
		}
		return true, nil
	}
	if p.Src.Kind() == skill.SourcePath {
		src, err := skill.ParseSource("path:" + path.Join(path.Dir(p.Src.Path()), hit.Path))
		if err != nil {
			return false, err
		}
		e.Sources = []string{src.Identity()}
		return true, nil
	}
	src := p.Src.WithSubpath(hit.Path)
	e.Sources = []string{src.Identity()}
	return true, u.markSibling(ctx, p, src, e)
}

// sibling finds a requirement by name, a chain member by its path first.
func sibling(d *fetch.Discovery, at, name, memberPath string) (fetch.Found, error) {
	if memberPath != "" && memberPath != name {
		dir := path.Dir(at)
		if at == "" {
			dir = ""
		}
		if f, ok := d.At(path.Join(dir, memberPath)); ok {
			return f, nil
		}
		return fetch.Found{}, diag.New(diag.SkillNotFound, "no skill at %s", path.Join(dir, memberPath))
	}
	return d.Sibling(at, name)
}

// discovery returns every skill of the parent's commit and the parent's place
// among them. For a path skill it covers the directory beside it.
func (u *Provider) discovery(ctx context.Context, p world.Parent) (*fetch.Discovery, string, error) {
	key := p.Src.Repository() + "\x00" + string(p.Want.Commit)
	if p.Src.Kind() == skill.SourcePath {
		key = "path\x00" + path.Dir(p.Src.Path())
	}
	u.mu.Lock()
	d, ok := u.found[key]
	u.mu.Unlock()
	at := p.Src.Subpath()
	if p.Src.Kind() == skill.SourcePath {
		at = path.Base(p.Src.Path())
	}
	if ok {
		return d, at, nil
	}
	d, err := u.p.Discover(ctx, p)
	if err != nil {
		return nil, "", err
	}
	u.mu.Lock()
	u.found[key] = d
	u.mu.Unlock()
	return d, at, nil
}

// lockedEdge returns where the lock says that parent's requirement on name
// without a source points.
func lockedEdge(p *workspace.Project, parentKey, name skill.Key) (skill.Source, bool) {
	if p.Lock == nil {
		return skill.Source{}, false
	}
	e, dep := p.Lock.Get(string(parentKey)), p.Lock.Get(string(name))
	if e == nil || dep == nil || !slices.Contains(e.Dependencies, string(name)) {
		return skill.Source{}, false
	}
	if text, ok := e.Requires[string(name)]; ok {
		r, err := skill.ParseRequirement(text, nil)
		if err != nil || !r.Source.IsZero() {
			return skill.Source{}, false
		}
	}
	return workspace.EntrySource(dep)
}

// lockedSame returns name's lock entry if it comes from src.
func lockedSame(p *workspace.Project, name skill.Key, src skill.Source) *lockfile.Entry {
	if p.Lock == nil {
		return nil
	}
	e := p.Lock.Get(string(name))
	if e == nil {
		return nil
	}
	if have, ok := workspace.EntrySource(e); ok && have.Identity() == src.Identity() {
		return e
	}
	return nil
}
