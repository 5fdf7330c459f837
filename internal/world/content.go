package world

import (
	"fmt"
	"path"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// Content is a skill's verified bytes, wherever they lie.
type Content struct {
	Tree *skill.Tree
	// Read returns the verified bytes of one file of tree.
	Read func(path string) ([]byte, error)
}

// Stored returns the content of a tree in the store.
func (p *Local) Stored(tree *skill.Tree) Content {
	d := tree.Digest()
	return Content{tree, func(file string) ([]byte, error) { return p.Cache.ReadFile(d, file) }}
}

// SkillFileOf returns the spelling of SKILL.md in a tree, the exact one first.
func SkillFileOf(tree *skill.Tree) (string, bool) {
	if _, ok := tree.File(parse.FileName); ok {
		return parse.FileName, true
	}
	for _, f := range tree.Files() {
		if !strings.Contains(f.Path, "/") && skill.FoldPath(f.Path) == skill.FoldPath(parse.FileName) {
			return f.Path, true
		}
	}
	return "", false
}

// Parsed reads the SKILL.md of verified content.
func (c Content) Parsed(src skill.Source) (*parse.Skill, diag.List, error) {
	name, ok := SkillFileOf(c.Tree)
	if !ok {
		return nil, nil, diag.New(diag.SkillNotFound, "no SKILL.md in %s", src.Identity())
	}
	data, err := c.Read(name)
	if err != nil {
		return nil, nil, err
	}
	s, notes := parse.Read(data, parse.Options{File: name, Label: label(src, name), Dir: dirName(src), Local: src.Kind() == skill.SourcePath})
	if s == nil {
		return nil, notes, workspace.FirstError(notes)
	}
	return s, notes, nil
}

// dirName is the directory name that a declared name must equal; a root skill
// has none of its own.
func dirName(src skill.Source) string {
	switch {
	case src.Kind() == skill.SourcePath:
		return path.Base(src.Path())
	case src.Subpath() == "":
		return ""
	}
	return path.Base(src.Subpath())
}

// Describe fills the fields of e that come from the skill's own bytes:
// declaredName, description, requires, allowedTools, size and training. What a
// lock says of them must equal this.
func (c Content) Describe(e *lockfile.Entry, s *parse.Skill) error {
	e.DeclaredName = ""
	if s.Name != "" && s.Name != e.Key {
		e.DeclaredName = s.Name
	}
	e.Description, e.AllowedTools = s.Description, s.AllowedTools
	e.Requires = nil
	for _, d := range s.Requires {
		if e.Requires == nil {
			e.Requires = map[string]string{}
		}
		e.Requires[string(d.Name)] = d.Requirement.String()
	}
	file, _ := SkillFileOf(c.Tree)
	f, _ := c.Tree.File(file)
	e.Size = lockfile.Size{Body: int64(s.BodySize), Resources: c.Tree.Size() - f.Size, Files: int64(len(c.Tree.Files())), Unknown: e.Size.Unknown}
	var err error
	e.Training, err = c.training(s.Name)
	return err
}

// training reads training.zon, if there is a valid one. An invalid one is a
// problem of validate and no reason not to install.
func (c Content) training(name string) (*lockfile.Training, error) {
	if _, ok := c.Tree.File(parse.TrainingFile); !ok {
		return nil, nil
	}
	data, err := c.Read(parse.TrainingFile)
	if err != nil {
		return nil, err
	}
	t, problems := parse.ReadTraining(data, name)
	if t == nil || len(problems) > 0 {
		return nil, nil
	}
	out := &lockfile.Training{Mode: t.Mode, SHA256: t.SHA256.Hex()}
	if len(t.Suites) == 0 {
		return out, nil
	}
	suites := map[string]lockfile.Suite{}
	for _, s := range t.Suites {
		f, ok := c.Tree.File(s.Path)
		if !ok {
			return nil, nil
		}
		suites[s.Name] = lockfile.Suite{Path: s.Path, SHA256: fmt.Sprintf("%x", f.SHA256)}
	}
	out.Suites = &lockfile.Suites{Train: suites["train"], Validation: suites["validation"], Test: suites["test"]}
	return out, nil
}

// ChainOf returns the lock's chain with its steps; depth is measured over the
// whole lock later.
func ChainOf(s *parse.Skill, steps []ChainStep) *lockfile.Chain {
	if s.Chain == nil {
		return nil
	}
	c := &lockfile.Chain{Mode: s.Chain.Mode(), Policy: policyOf(s.Chain.Policy)}
	for _, step := range steps {
		if step.Resolved {
			c.Steps = append(c.Steps, string(step.Name))
		} else {
			c.Unresolved = append(c.Unresolved, string(step.Name))
		}
	}
	return c
}

func policyOf(p parse.Policy) lockfile.Policy {
	return lockfile.Policy{
		ContinueOnError: p.ContinueOnError, Timeout: int64(p.Timeout), MaxDepth: int64(p.MaxDepth),
		ParallelLimit: int64(p.ParallelLimit), CleanupAfter: p.CleanupAfter, EarlyExitOn: p.EarlyExitOn,
		ContinueOnSuccess: p.ContinueOnSuccess, PassState: p.PassState, RetryCount: int64(p.RetryCount),
		RetryUntil: p.RetryUntil, RaceMode: p.RaceMode,
	}
}

// MeasureChains fills every chain's depth and refuses one that nests deeper
// than its max_depth. The lock has no cycles.
func MeasureChains(l *lockfile.Lock) error {
	memo, entries := map[string]int64{}, workspace.EntriesByKey(l)
	var depth func(key string) int64
	depth = func(key string) int64 {
		if d, ok := memo[key]; ok {
			return d
		}
		memo[key] = 0
		e := entries[key]
		if e == nil || e.Chain == nil {
			return 0
		}
		deepest := int64(0)
		for _, step := range e.Chain.Steps {
			deepest = max(deepest, depth(step))
		}
		memo[key] = deepest + 1
		return deepest + 1
	}
	var list diag.List
	for _, e := range l.Skills {
		if e.Chain == nil {
			continue
		}
		e.Chain.Depth = depth(e.Key)
		if e.Chain.Depth > e.Chain.Policy.MaxDepth {
			list = append(list, diag.New(diag.ChainDepthExceeded, "chains nest %d deep below `%s`; its max_depth is %d", e.Chain.Depth, e.Key, e.Chain.Policy.MaxDepth).
				WithHint("raise metadata.max_depth of `%s` or flatten the chain", e.Key))
		}
	}
	return list.Err()
}

// ChainStep is one member of a chain and whether it exists.
type ChainStep struct {
	Name     skill.Key
	Resolved bool
}
