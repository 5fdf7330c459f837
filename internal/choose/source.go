package choose

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// ParseSpecs reads the arguments of add.
func ParseSpecs(texts []string) ([]Spec, error) {
	specs := make([]Spec, len(texts))
	for i, text := range texts {
		var err error
		if specs[i], err = ParseSpec(text); err != nil {
			return nil, BadSpec(text, err)
		}
	}
	return specs, nil
}

// Own gives every name that the project itself has a skill under the source that
// skills.toml, else the lock, has for it.
func Own(p *workspace.Project, specs []Spec) []Spec {
	specs = slices.Clone(specs)
	for i, s := range specs {
		if s.Name == "" {
			continue
		}
		if r, ok := ownRequirement(p, s.Name); ok {
			specs[i].Source, specs[i].Name, specs[i].key = r.Source, "", skill.Key(s.Name)
		}
	}
	return specs
}

// ownRequirement returns what the project asks for under a name, with its source,
// the zero requirement but for that if only other skills ask. What skills.toml
// leaves to the registries is for them to say.
func ownRequirement(p *workspace.Project, name string) (skill.Requirement, bool) {
	if s := p.Written.Get(name); s != nil {
		return s.Requirement, !s.Requirement.Source.IsZero()
	}
	if p.Lock == nil {
		return skill.Requirement{}, false
	}
	e := p.Lock.Get(name)
	if e == nil {
		return skill.Requirement{}, false
	}
	src, ok := workspace.EntrySource(e)
	return skill.Requirement{Source: src}, ok
}

// Asked returns the requirement that a name of the project gets with the version
// that s asks for, false where s names nothing of the project.
func (s Spec) Asked() (skill.Key, skill.Requirement, bool) {
	return s.key, skill.Requirement{Source: s.Source, Range: s.Rng, Ref: s.Ref}, s.key != "" && (s.Rng != "" || s.Ref != "")
}

// NamingSpecs returns the project with what specs name as named by the user: a
// source with its host, and the repository that a registry gives a name.
func NamingSpecs(p *world.World, specs []Spec) *world.World {
	permit := p.Permit
	for _, s := range specs {
		if src, _, ok := p.FromRegistries(skill.Key(s.Name)); ok {
			permit = permit.Agree(src.Repository())
		}
		if !s.Source.IsZero() {
			permit = permit.Name(s.Source)
		}
	}
	return p.With(permit)
}

// AllAdditions turns the arguments of add into lines for skills.toml, repositories
// in parallel, in the order of the arguments.
func AllAdditions(ctx context.Context, p *world.World, specs []Spec, opt AddOptions) ([]Addition, []decide.SkippedSkill, error) {
	asks := slices.ContainsFunc(specs, func(s Spec) bool {
		return (s.Source.Kind() == skill.SourceGit || s.Source.Kind() == skill.SourceIndex) && !s.Source.IsZero() && !s.Source.HasSubpath()
	})
	jobs := p.Opt.Jobs
	if asks && opt.Choose != nil {
		jobs = 1 // one question at a time
	}
	adds, skipped := make([][]Addition, len(specs)), make([][]decide.SkippedSkill, len(specs))
	errs := par.Each(ctx, jobs, len(specs), func(ctx context.Context, i int) error {
		var err error
		adds[i], skipped[i], err = additions(ctx, p, specs[i], opt)
		for k := range adds[i] {
			adds[i][k].asked = specs[i].Rng != "" || specs[i].Ref != ""
		}
		return err
	})
	return slices.Concat(adds...), slices.Concat(skipped...), world.JoinFindings(errs)
}

// additions turns one argument of add into lines for skills.toml.
func additions(ctx context.Context, p *world.World, s Spec, opt AddOptions) ([]Addition, []decide.SkippedSkill, error) {
	if s.Name != "" {
		return addName(p, s, opt)
	}
	if s.key != "" {
		if r, ok := ownRequirement(p.Project, string(s.key)); ok && p.Written.Get(string(s.key)) != nil && s.Rng == "" && s.Ref == "" {
			return []Addition{{Key: s.key, Req: r}}, nil, nil // there already
		}
		if opt.As == "" && !opt.All && len(opt.Skills) == 0 {
			opt.As = string(s.key)
		}
	}
	switch s.Source.Kind() {
	case skill.SourcePath:
		return AddPath(ctx, p.Project, s, opt)
	case skill.SourceIndex:
		return AddIndex(ctx, p, s, opt)
	}
	if s.every {
		opt.All = true
	}
	return AddGit(ctx, p, s, opt)
}

// BadSpec is the usage error for an argument that is no source.
func BadSpec(text string, err error) error {
	// Of a URL's password every finding is free; without a scheme nobody sees one.
	if first, _, _ := strings.Cut(text, "/"); strings.Contains(first, ":") && !strings.Contains(text, ":/") {
		if at := strings.LastIndexByte(first, '@'); at > strings.IndexByte(first, ':') {
			text = "…" + text[at:]
		}
	}
	e := workspace.Usage("`%s` is no source", text).WithCause(err)
	return e.WithHint("write owner/repo//path, a URL, user@host:path or ./directory; @VERSION or @BRANCH may follow")
}

// addName adds a name that a configured registry knows.
func addName(p *world.World, s Spec, opt AddOptions) ([]Addition, []decide.SkippedSkill, error) {
	src, fault, ok := p.FromRegistries(skill.Key(s.Name))
	if fault != nil {
		return nil, nil, fault
	}
	if !ok {
		return nil, nil, workspace.Usage("`%s` is no source, and no configured registry names it", s.Name).
			WithHint("write owner/repo//path, a URL or ./directory")
	}
	key := skill.Key(s.Name)
	if opt.As != "" {
		key = skill.Key(opt.As)
	}
	req := skill.Requirement{Source: src, Ref: s.Ref, Range: s.Rng}
	if req.Range == "" && req.Ref == "" {
		req.Range = "*"
	}
	return []Addition{{Key: key, Req: req}}, nil, nil
}

// AddPath adds a skill of the project itself.
func AddPath(ctx context.Context, p *workspace.Project, s Spec, opt AddOptions) ([]Addition, []decide.SkippedSkill, error) {
	if s.Ref != "" {
		return nil, nil, workspace.Usage("a path has no branches: `%s`", s.Text).WithHint("a repository on disk is written file:///…")
	}
	src, err := world.RelativePath(p, s.Source)
	if err != nil {
		return nil, nil, err
	}
	f, err := world.ReadPathSkill(p, src)
	if err != nil {
		return nil, nil, err
	}
	if f.Fault != nil {
		return nil, nil, f.Fault
	}
	key, err := chooseKey(opt.As, f.Parsed.Name, path.Base(src.Path()), src)
	if err != nil {
		return nil, nil, err
	}
	return []Addition{{Key: key, Req: skill.Requirement{Range: cmp.Or(s.Rng, "*"), Source: src}}}, nil, nil
}

// chooseKey returns the key for a skill: --as, else the declared name if legal,
// else the last path element if legal. Names are never repaired.
func chooseKey(as, declared, element string, src skill.Source) (skill.Key, error) {
	if as != "" {
		key, err := skill.ParseKey(as)
		if err != nil {
			return "", workspace.Usage("--as: %v", err)
		}
		return key, nil
	}
	if key, err := skill.ParseKey(declared); err == nil {
		return key, nil
	}
	if key, err := skill.ParseKey(element); err == nil {
		return key, nil
	}
	return "", diag.New(diag.NameNeeded, "neither the declared name %q nor the directory %q can be a key", declared, element).
		WithDetail("a key has A-Z a-z 0-9 and, after the first, also . _ -").
		WithHint("`skillpm add %s --as KEY` names it", src.Identity())
}
