package project

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/skill"
)

// parseSpecs reads the arguments of add.
func (p *Project) parseSpecs(texts []string) ([]spec, error) {
	specs := make([]spec, len(texts))
	for i, text := range texts {
		var err error
		if specs[i], err = parseSpec(text); err != nil {
			return nil, badSpec(text, err)
		}
	}
	return specs, nil
}

// namingSpecs returns the project with what specs name as named by the user: a
// source with its host, and the repository that a registry gives a name.
func (p *Project) namingSpecs(specs []spec) *Project {
	permit := p.permit
	for _, s := range specs {
		if src, _, ok := p.fromRegistries(skill.Key(s.name)); ok {
			permit = permit.agree(src.Repository())
		}
		if !s.source.IsZero() {
			permit = permit.name(s.source)
		}
	}
	return p.with(permit)
}

// allAdditions turns the arguments of add into lines for skills.toml, repositories
// in parallel, in the order of the arguments.
func (p *Project) allAdditions(ctx context.Context, specs []spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	asks := slices.ContainsFunc(specs, func(s spec) bool {
		return (s.source.Kind() == skill.SourceGit || s.source.Kind() == skill.SourceIndex) && !s.source.IsZero() && !s.source.HasSubpath()
	})
	jobs := p.opt.Jobs
	if asks && opt.Choose != nil {
		jobs = 1 // one question at a time
	}
	adds, skipped := make([][]addition, len(specs)), make([][]SkippedSkill, len(specs))
	errs := par.Each(ctx, jobs, len(specs), func(ctx context.Context, i int) error {
		var err error
		adds[i], skipped[i], err = p.additions(ctx, specs[i], opt)
		for k := range adds[i] {
			adds[i][k].asked = specs[i].rng != "" || specs[i].ref != ""
		}
		return err
	})
	return slices.Concat(adds...), slices.Concat(skipped...), joinFindings(errs)
}

// additions turns one argument of add into lines for skills.toml.
func (p *Project) additions(ctx context.Context, s spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	if s.name != "" {
		return p.addName(s, opt)
	}
	switch s.source.Kind() {
	case skill.SourcePath:
		return p.addPath(ctx, s, opt)
	case skill.SourceIndex:
		return p.addIndex(ctx, s, opt)
	}
	if s.every {
		opt.All = true
	}
	return p.addGit(ctx, s, opt)
}

func badSpec(text string, err error) error {
	// Of a URL's password every finding is free; without a scheme nobody sees one.
	if first, _, _ := strings.Cut(text, "/"); strings.Contains(first, ":") && !strings.Contains(text, ":/") {
		if at := strings.LastIndexByte(first, '@'); at > strings.IndexByte(first, ':') {
			text = "…" + text[at:]
		}
	}
	e := usage("`%s` is no source", text).WithCause(err)
	return e.WithHint("write owner/repo//path, a URL, user@host:path or ./directory; @VERSION or @BRANCH may follow")
}

// addName adds a name that a configured registry knows.
func (p *Project) addName(s spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	src, fault, ok := p.fromRegistries(skill.Key(s.name))
	if fault != nil {
		return nil, nil, fault
	}
	if !ok {
		return nil, nil, usage("`%s` is no source, and no configured registry names it", s.name).
			WithHint("write owner/repo//path, a URL or ./directory")
	}
	key := skill.Key(s.name)
	if opt.As != "" {
		key = skill.Key(opt.As)
	}
	req := skill.Requirement{Source: src, Ref: s.ref, Range: s.rng}
	if req.Range == "" && req.Ref == "" {
		req.Range = "*"
	}
	return []addition{{key: key, req: req}}, nil, nil
}

// addPath adds a skill of the project itself.
func (p *Project) addPath(ctx context.Context, s spec, opt AddOptions) ([]addition, []SkippedSkill, error) {
	if s.ref != "" {
		return nil, nil, usage("a path has no branches: `%s`", s.text).WithHint("a repository on disk is written file:///…")
	}
	src, err := p.relativePath(s.source)
	if err != nil {
		return nil, nil, err
	}
	f, err := p.readPathSkill(src)
	if err != nil {
		return nil, nil, err
	}
	if f.fault != nil {
		return nil, nil, f.fault
	}
	key, err := chooseKey(opt.As, f.parsed.Name, path.Base(src.Path()), src)
	if err != nil {
		return nil, nil, err
	}
	return []addition{{key: key, req: skill.Requirement{Range: rangeOr(s.rng, "*"), Source: src}}}, nil, nil
}

func rangeOr(rng, fallback string) string {
	if rng == "" {
		return fallback
	}
	return rng
}

// chooseKey returns the key for a skill: --as, else the declared name if legal,
// else the last path element if legal. Names are never repaired.
func chooseKey(as, declared, element string, src skill.Source) (skill.Key, error) {
	if as != "" {
		key, err := skill.ParseKey(as)
		if err != nil {
			return "", usage("--as: %v", err)
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
