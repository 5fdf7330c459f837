package views

import (
	"context"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
)

// Card is what a model sees of a skill before it chooses to read it.
func Card(ctx context.Context, p *world.Local, key string) (*derive.Card, error) {
	s, err := derivable(ctx, p, key)
	if err != nil {
		return nil, err
	}
	card, err := derive.NewCard(s)
	return card, derivedError(key, err)
}

// ResourcesResult lists the files of one skill besides its SKILL.md.
type ResourcesResult struct {
	Key       string            `json:"key"`
	Digest    skill.Digest      `json:"digest"`
	Path      string            `json:"path"`
	Resources []derive.Resource `json:"resources"`
}

// Resources lists the files of a skill with kind, size, hash and summary.
func Resources(ctx context.Context, p *world.Local, key string) (*ResourcesResult, error) {
	s, err := derivable(ctx, p, key)
	if err != nil {
		return nil, err
	}
	rows, err := derive.Resources(s)
	if err != nil {
		return nil, derivedError(key, err)
	}
	return &ResourcesResult{Key: key, Digest: s.Tree.Digest(), Path: SkillPath(p.Project, p.Lock.Get(key)), Resources: rows}, nil
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
func Needs(ctx context.Context, p *world.Local, key string) (*NeedsResult, error) {
	s, err := derivable(ctx, p, key)
	if err != nil {
		return nil, err
	}
	card, err := derive.NewCard(s)
	if err != nil {
		return nil, derivedError(key, err)
	}
	r := &NeedsResult{Key: key, Digest: card.Checksum, Needs: card.CapabilityNeeds, Advisory: true, Declares: card.Declares, Fetches: card.Fetches}
	if r.Fetches == nil {
		r.Fetches = []derive.Fetch{}
	}
	return r, nil
}

// Pack cuts guidance and resources of skills to a budget.
func Pack(ctx context.Context, p *world.Local, keys []string, opt derive.PackOptions) (*derive.ContextPack, error) {
	var skills []*derive.Skill
	var faults diag.List
	for _, key := range keys {
		s, err := derivable(ctx, p, key)
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
		return nil, workspace.Usage("%s", err.Error())
	}
	return pack, err
}

// derivedError keeps findings and names the skill in every other error.
func derivedError(key string, err error) error {
	if err == nil || diag.CodeOf(err) != "" {
		return err
	}
	return diag.New(diag.PermissionDenied, "`%s` cannot be read", key).WithCause(err)
}

// derivable returns a locked skill with verified bytes, as package derive takes
// it. Nothing is written and nothing is fetched.
func derivable(ctx context.Context, p *world.Local, key string) (*derive.Skill, error) {
	e, err := p.Entry(key)
	if err != nil {
		return nil, err
	}
	c, err := p.ReadOnly(ctx, e)
	if err != nil {
		return nil, err
	}
	return derivableOf(e, c)
}

func derivableOf(e *lockfile.Entry, c world.Content) (*derive.Skill, error) {
	parsed, _, err := c.Parsed(workspace.MustSource(e))
	if err != nil {
		return nil, err
	}
	file, _ := world.SkillFileOf(c.Tree)
	text, err := c.Read(file)
	if err != nil {
		return nil, err
	}
	s := derive.Of(parsed, text, c.Tree, c.Read)
	s.Key, s.Version, s.File = e.Key, e.Version, file
	return s, nil
}

// SkillPath returns where a runtime reads the skill: its install directory
// relative to the project, "~/…" for the user's own, or a path skill's directory
// where it is not linked into a target.
func SkillPath(p *workspace.Project, e *lockfile.Entry) string {
	place := p.Place(p.Lock, e)
	if e.Source.Type == lockfile.TypePath {
		if _, err := world.SkillFileIn(filepath.Join(p.Layout().Root, filepath.FromSlash(place))); err != nil {
			return e.Source.Path
		}
	}
	if p.Opt.Global {
		return "~/" + place
	}
	return place
}
