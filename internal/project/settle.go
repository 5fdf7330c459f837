package project

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// parent is a skill whose requirements are being settled.
type parent struct {
	key   skill.Key
	src   skill.Source
	want  fetch.Want // zero for a path skill
	skill *parse.Skill
}

// settle decides, for every requirement and chain member of p, where it points:
// its own source; the root's entry of that name; the lock's answer for this same
// edge; the same repository; a registry. Never any repository that merely has
// the name.
func (u *universe) settle(ctx context.Context, p parent) ([]resolver.Edge, []chainStep, error) {
	var edges []resolver.Edge
	explicit := map[skill.Key]resolver.Edge{}
	for _, d := range p.skill.Requires {
		e, err := u.settleOne(ctx, p, skill.Key(d.Name), d.Requirement, "")
		if err != nil {
			return nil, nil, err
		}
		edges = append(edges, e)
		explicit[e.Name] = e
	}
	steps, chain, err := u.settleChain(ctx, p, explicit)
	if err != nil {
		return nil, nil, err
	}
	return append(edges, chain...), steps, nil
}

func (u *universe) settleChain(ctx context.Context, p parent, explicit map[skill.Key]resolver.Edge) ([]chainStep, []resolver.Edge, error) {
	if p.skill.Chain == nil {
		return nil, nil, nil
	}
	var steps []chainStep
	var edges []resolver.Edge
	seen := map[skill.Key]bool{}
	for _, s := range p.skill.Chain.Steps {
		key := skill.Key(s.Name)
		e, ok := explicit[key]
		if !ok {
			var err error
			if e, err = u.settleOne(ctx, p, key, skill.Requirement{Range: "*"}, s.Path); err != nil {
				return nil, nil, err
			}
		}
		e.Chain = true
		if e.Fault != nil && e.Fault.Code == diag.AmbiguousSkill {
			e.Fault.Code = diag.ChainAmbiguous
		}
		if len(e.Sources) == 0 && e.Fault == nil && !p.skill.Chain.ValidateOnLoad {
			steps = append(steps, chainStep{name: key})
			continue
		}
		steps = append(steps, chainStep{name: key, resolved: true})
		if !seen[key] {
			edges = append(edges, e)
		}
		seen[key] = true
	}
	return steps, edges, nil
}

// settleOne settles one requirement. memberPath is the path a chain member was
// written as, "" for a requirement.
func (u *universe) settleOne(ctx context.Context, p parent, name skill.Key, r skill.Requirement, memberPath string) (resolver.Edge, error) {
	e := resolver.Edge{Name: name, Range: r.Range, Ref: r.Ref, Digest: r.Digest, Delegate: r.Delegate}
	if r.Delegate != "" {
		return e, nil
	}
	u.pin(name, r.Ref)
	if !r.Source.IsZero() {
		src, fault, err := u.p.withSubpath(ctx, r.Source)
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
	if src, ok := u.p.lockedEdge(p.key, name); ok {
		e.Sources, e.OrLocked = []string{src.Identity()}, true
		if err := u.markSibling(ctx, p, src, &e); err != nil {
			return e, err
		}
		return e, nil
	}
	if done, err := u.lookUp(ctx, p, memberPath, &e); done || err != nil {
		return e, err
	}
	src, fault, ok := u.p.fromRegistries(name)
	switch {
	case fault != nil:
		e.Fault = fault
	case ok:
		e.Sources, e.OrLocked = []string{src.Identity()}, true
	default:
		e.Missing = fmt.Sprintf("no skill `%s` beside or below %s, and no configured registry names it", name, besides(p.src))
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
func (u *universe) markSibling(ctx context.Context, p parent, src skill.Source, e *resolver.Edge) error {
	if p.src.Kind() != skill.SourceGit || src.Kind() != skill.SourceGit || src.Repository() != p.src.Repository() {
		return nil
	}
	e.LookedUp = true
	refs, err := u.p.listing(ctx, p.src)
	if isOffline(err) {
		e.Exact = string(p.want.Commit)
		return nil
	}
	if err != nil {
		return err
	}
	if fetch.Versions(refs, fetch.PlaceOf(src)).Class == fetch.ClassNone {
		e.Exact = string(p.want.Commit)
	}
	return nil
}

// lookUp searches the parent's own repository at the parent's own commit.
func (u *universe) lookUp(ctx context.Context, p parent, memberPath string, e *resolver.Edge) (bool, error) {
	if p.src.Kind() == skill.SourceIndex {
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
	if p.src.Kind() == skill.SourcePath {
		src, err := skill.ParseSource("path:" + path.Join(path.Dir(p.src.Path()), hit.Path))
		if err != nil {
			return false, err
		}
		e.Sources = []string{src.Identity()}
		return true, nil
	}
	src := p.src.WithSubpath(hit.Path)
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
func (u *universe) discovery(ctx context.Context, p parent) (*fetch.Discovery, string, error) {
	key := p.src.Repository() + "\x00" + string(p.want.Commit)
	if p.src.Kind() == skill.SourcePath {
		key = "path\x00" + path.Dir(p.src.Path())
	}
	u.mu.Lock()
	d, ok := u.found[key]
	u.mu.Unlock()
	at := p.src.Subpath()
	if p.src.Kind() == skill.SourcePath {
		at = path.Base(p.src.Path())
	}
	if ok {
		return d, at, nil
	}
	d, err := u.p.discover(ctx, p)
	if err != nil {
		return nil, "", err
	}
	u.mu.Lock()
	u.found[key] = d
	u.mu.Unlock()
	return d, at, nil
}

// everything is the path under which the index keeps a commit's discovery; no
// real path begins with NUL.
const everything = "\x00all"

func (p *Project) discover(ctx context.Context, at parent) (*fetch.Discovery, error) {
	if at.src.Kind() == skill.SourcePath {
		return discoverDir(ctx, p.pathDir(path.Dir(at.src.Path())))
	}
	repository := at.src.Repository()
	if data, ok := p.cache.Get(bucketSkills, factKey(repository, at.want.Commit, everything)); ok {
		var d fetch.Discovery
		if json.Unmarshal(data, &d) == nil {
			return &d, nil
		}
	}
	snap, err := p.snapshot(ctx, at.src, at.want)
	if err != nil {
		return nil, err
	}
	d, err := fetch.Discover(ctx, snap, at.want.Commit)
	if err != nil {
		return nil, err
	}
	if data, err := json.Marshal(d); err == nil {
		p.cache.Put(bucketSkills, factKey(repository, at.want.Commit, everything), data)
	}
	return d, nil
}

// lockedEdge returns where the lock says that parent's requirement on name
// without a source points.
func (p *Project) lockedEdge(parentKey, name skill.Key) (skill.Source, bool) {
	if p.lock == nil {
		return skill.Source{}, false
	}
	e, dep := p.lock.Get(string(parentKey)), p.lock.Get(string(name))
	if e == nil || dep == nil || !slices.Contains(e.Dependencies, string(name)) {
		return skill.Source{}, false
	}
	if text, ok := e.Requires[string(name)]; ok {
		r, err := skill.ParseRequirement(text, nil)
		if err != nil || !r.Source.IsZero() {
			return skill.Source{}, false
		}
	}
	return entrySource(dep)
}

// lockedSame returns name's lock entry if it comes from src.
func (p *Project) lockedSame(name skill.Key, src skill.Source) *lockfile.Entry {
	if p.lock == nil {
		return nil
	}
	e := p.lock.Get(string(name))
	if e == nil {
		return nil
	}
	if have, ok := entrySource(e); ok && have.Identity() == src.Identity() {
		return e
	}
	return nil
}

// withSubpath settles a repository given without a subpath: the one skill in it,
// else ambiguous_skill, listing them.
func (p *Project) withSubpath(ctx context.Context, src skill.Source) (skill.Source, *diag.Error, error) {
	if src.Kind() != skill.SourceGit || src.HasSubpath() {
		return src, nil, nil
	}
	if !p.approved(src) { // the solver will ask for consent; nothing may be contacted before
		return src, nil, nil
	}
	want, err := p.headOf(ctx, src)
	if err != nil {
		return src, nil, err
	}
	d, err := p.discover(ctx, parent{src: src, want: want})
	if err != nil {
		return src, nil, err
	}
	if len(d.Skills) == 1 {
		return src.WithSubpath(d.Skills[0].Path), nil, nil
	}
	listed := d.Listed()
	switch len(listed) {
	case 0:
		return src, diag.New(diag.SkillNotFound, "no SKILL.md anywhere in %s", src.Repository()), nil
	case 1:
		return src.WithSubpath(listed[0].Path), nil, nil
	}
	return src, ambiguousSkills(src, listed), nil
}

// maxListed bounds how many skills an ambiguous_skill names.
const maxListed = 20

func ambiguousSkills(src skill.Source, listed []fetch.Found) *diag.Error {
	e := diag.New(diag.AmbiguousSkill, "%s holds %d skills; say which", src.Repository(), len(listed))
	var names []string
	for i, f := range listed {
		if i == maxListed {
			e.WithDetail("… and %d more", len(listed)-i)
			break
		}
		names = append(names, f.Path)
		e.WithDetail("%s", src.WithSubpath(f.Path).Identity())
	}
	e.Data = map[string]any{"paths": names}
	e.WithHint("`skillpm add %s//%s` takes one, --skill NAME… some, --all every one", short(src), listed[0].Path)
	if len(listed) > maxListed {
		e.Hint += fmt.Sprintf("; `skillpm search WORD %s` looks for one", short(src))
	}
	return e
}

// short returns a repository as people write it.
func short(src skill.Source) string { return strings.TrimPrefix(src.Repository(), "github.com/") }

// headOf returns the head of src's default branch.
func (p *Project) headOf(ctx context.Context, src skill.Source) (fetch.Want, error) {
	refs, err := p.listing(ctx, src)
	if err != nil {
		return fetch.Want{}, err
	}
	head, err := fetch.DefaultBranch(refs, src)
	if err != nil {
		return fetch.Want{}, err
	}
	return head.Want(), nil
}
