package project

import (
	"context"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
)

// Card is what a model sees of a skill before it chooses to read it.
func (p *Project) Card(ctx context.Context, key string) (*derive.Card, error) {
	s, err := p.derivable(ctx, key)
	if err != nil {
		return nil, err
	}
	card, err := derive.NewCard(s)
	return card, p.derivedError(key, err)
}

// ResourcesResult lists the files of one skill besides its SKILL.md.
type ResourcesResult struct {
	Key       string            `json:"key"`
	Digest    skill.Digest      `json:"digest"`
	Path      string            `json:"path"`
	Resources []derive.Resource `json:"resources"`
}

// Resources lists the files of a skill with kind, size, hash and summary.
func (p *Project) Resources(ctx context.Context, key string) (*ResourcesResult, error) {
	s, err := p.derivable(ctx, key)
	if err != nil {
		return nil, err
	}
	rows, err := derive.Resources(s)
	if err != nil {
		return nil, p.derivedError(key, err)
	}
	return &ResourcesResult{Key: key, Digest: s.Tree.Digest(), Path: p.skillPath(p.lock.Get(key)), Resources: rows}, nil
}

// NeedsResult says which capabilities a skill's text and files ask for. It
// advises a host and grants nothing.
type NeedsResult struct {
	Key    string        `json:"key"`
	Digest skill.Digest  `json:"digest"`
	Needs  []derive.Need `json:"needs"`
	// Advisory is always true, so that no reader takes a need for a permission.
	Advisory bool            `json:"advisory"`
	Declares derive.Declares `json:"declares"`
	// Fetches are the commands in its text that would download at run time.
	Fetches []derive.Fetch `json:"fetches"`
}

// Needs scans a skill for the six capability words.
func (p *Project) Needs(ctx context.Context, key string) (*NeedsResult, error) {
	s, err := p.derivable(ctx, key)
	if err != nil {
		return nil, err
	}
	card, err := derive.NewCard(s)
	if err != nil {
		return nil, p.derivedError(key, err)
	}
	r := &NeedsResult{Key: key, Digest: card.Checksum, Needs: card.CapabilityNeeds, Advisory: true, Declares: card.Declares, Fetches: card.Fetches}
	if r.Fetches == nil {
		r.Fetches = []derive.Fetch{}
	}
	return r, nil
}

// Pack cuts guidance and resources of skills to a budget.
func (p *Project) Pack(ctx context.Context, keys []string, opt derive.PackOptions) (*derive.ContextPack, error) {
	var skills []*derive.Skill
	var faults diag.List
	for _, key := range keys {
		s, err := p.derivable(ctx, key)
		if err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		skills = append(skills, s)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	pack, err := derive.Pack(skills, opt)
	if skill.CodeOf(err) == string(diag.Usage) {
		return nil, usage("%s", err.Error())
	}
	return pack, err
}

// derivedError keeps findings and names the skill in every other error.
func (p *Project) derivedError(key string, err error) error {
	if err == nil || diag.CodeOf(err) != "" {
		return err
	}
	return diag.New(diag.PermissionDenied, "`%s` cannot be read", key).WithCause(err)
}

// derivable returns a locked skill with verified bytes, as package derive takes
// it. Nothing is written and nothing is fetched.
func (p *Project) derivable(ctx context.Context, key string) (*derive.Skill, error) {
	e, err := p.entry(key)
	if err != nil {
		return nil, err
	}
	c, err := p.readOnly(ctx, e)
	if err != nil {
		return nil, err
	}
	return p.derivableOf(e, c)
}

func (p *Project) derivableOf(e *lockfile.Entry, c content) (*derive.Skill, error) {
	parsed, _, err := c.parsed(mustSource(e))
	if err != nil {
		return nil, err
	}
	file, _ := skillFileOf(c.tree)
	text, err := c.read(file)
	if err != nil {
		return nil, err
	}
	s := derive.Of(parsed, text, c.tree, c.read)
	s.Key, s.Version, s.File = e.Key, e.Version, file
	return s, nil
}

// readOnly returns an entry's bytes as locked: from where it is installed, else
// from the store. Unlike content it throws nothing away that is damaged, since
// the commands that runtimes call write nothing. A path skill is read as it is.
func (p *Project) readOnly(ctx context.Context, e *lockfile.Entry) (content, error) {
	if e.Source.Type == lockfile.TypePath {
		return p.pathContent(ctx, e)
	}
	place := p.place(p.lock, e)
	c, _, err := p.installed(ctx, place)
	if err == nil && c.tree.Digest() == e.Digest {
		return c, nil
	}
	changed := err == nil
	if ctx.Err() != nil {
		return content{}, ctx.Err()
	}
	if stored, ok := p.inStore(ctx, e.Digest); ok {
		if changed {
			p.opt.Report(diag.Warn(diag.VerifyChanged, "`%s` on disk is not what is locked; this is about the locked content", e.Key).
				WithDetail("%s", place).WithHint("`skillpm diff %s` shows the change", e.Key))
		}
		return stored, nil
	}
	if changed {
		return content{}, diag.New(diag.VerifyChanged, "`%s` on disk is not what is locked", e.Key).
			WithDetail("locked %s", e.Digest).WithDetail("found  %s in %s", c.tree.Digest(), place).
			WithHint("`skillpm diff %s` shows the change", e.Key)
	}
	if code := diag.CodeOf(err); code == diag.PathUnsafe || code == diag.TreeTooLarge || code == diag.PermissionDenied {
		return content{}, err // there is something, and it is no skill
	}
	return content{}, diag.New(diag.VerifyMissing, "`%s` is neither installed nor in the cache", e.Key).
		WithDetail("%s", e.Digest).WithHint("`skillpm materialize %s` brings it", e.Key)
}

// inStore reads a tree of the store without touching it: one that is damaged
// counts as absent and stays where it is.
func (p *Project) inStore(ctx context.Context, d skill.Digest) (content, bool) {
	if !p.cache.Has(d) {
		return content{}, false
	}
	dir := p.cache.TreeDir(d)
	layout := install.Layout{Root: filepath.Dir(dir), State: stateDir}
	tree, _, err := install.Tree(ctx, layout, p.installOptions(), filepath.Base(dir))
	if err != nil || tree.Digest() != d {
		return content{}, false
	}
	return content{tree, func(file string) ([]byte, error) {
		f, _ := tree.File(file)
		return readChecked(dir, file, f)
	}}, true
}

// skillPath returns where a runtime reads the skill: its install directory
// relative to the project, "~/…" for the user's own, or a path skill's directory
// where it is not linked into a target.
func (p *Project) skillPath(e *lockfile.Entry) string {
	place := p.place(p.lock, e)
	if e.Source.Type == lockfile.TypePath {
		if _, err := skillFileIn(filepath.Join(p.layout().Root, filepath.FromSlash(place))); err != nil {
			return e.Source.Path
		}
	}
	if p.opt.Global {
		return "~/" + place
	}
	return place
}
