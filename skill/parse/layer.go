package parse

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// How far a chain's members are looked for below the directory that holds the
// chain: what agents' loaders search.
const (
	maxChainDepth = 6
	maxChainDirs  = 2000
)

// links judges what one skill says of others: chain members, mentions, cycles.
// It runs after all skills are read, in one goroutine.
func (v *validation) links(ctx context.Context) error {
	l := &linker{v: v, known: map[string]*skillChecker{}, layers: map[string]*siblings{}, next: map[*skillChecker][]*skillChecker{}}
	for _, s := range v.skills {
		l.known[s.dir] = s
	}
	for _, s := range v.skills {
		if !s.readable {
			continue
		}
		if err := l.chain(ctx, s); err != nil {
			return err
		}
		l.mentions(s)
		l.asked(ctx, s)
	}
	return l.cycles(ctx)
}

// linker looks skills up by the rule of requirements without a source: in the
// directory that holds the parent's own, then deeper, by the last path element.
type linker struct {
	v *validation
	// known are all skills read so far, by absolute directory.
	known map[string]*skillChecker
	// layers are the directories searched so far.
	layers map[string]*siblings
	// next memoizes edges.
	next map[*skillChecker][]*skillChecker
}

// siblings are the skills at and below one directory.
type siblings struct {
	list     []found
	byName   map[string][]string // last path element → absolute directories
	complete bool
}

func (l *linker) siblings(ctx context.Context, dir string) (*siblings, error) {
	if s, ok := l.layers[dir]; ok {
		return s, nil
	}
	list, complete, err := discover(ctx, dir, maxChainDepth, maxChainDirs)
	if err != nil {
		return nil, err
	}
	s := &siblings{list: list, complete: complete, byName: map[string][]string{}}
	for _, f := range list {
		if f.fault == nil && f.rel != "" {
			name := filepath.Base(f.dir)
			s.byName[name] = append(s.byName[name], f.dir)
		}
	}
	l.layers[dir] = s
	return s, nil
}

// lookup returns the directories that answer to a member: one beside the parent
// wins over deeper ones.
func (l *linker) lookup(ctx context.Context, from *skillChecker, name skill.Name, member string) ([]string, error) {
	parent := filepath.Dir(from.dir)
	s, err := l.siblings(ctx, parent)
	if err != nil {
		return nil, err
	}
	exact := filepath.Join(parent, filepath.FromSlash(member))
	dirs := s.byName[string(name)]
	if slices.Contains(dirs, exact) {
		return []string{exact}, nil
	}
	if member != string(name) {
		return nil, nil // a path names one place
	}
	return dirs, nil
}

// read returns the skill at dir, reading it if it lies outside the given paths.
func (l *linker) read(ctx context.Context, dir string) (*skillChecker, error) {
	if s, ok := l.known[dir]; ok {
		return s, nil
	}
	s := &skillChecker{opt: l.v.opt, dir: dir, label: filepath.Base(dir), fileName: FileName}
	l.known[dir] = s
	return s, s.check(ctx)
}

// chain judges the members of a chain.
func (l *linker) chain(ctx context.Context, s *skillChecker) error {
	c := s.skill.Chain
	if c == nil {
		return nil
	}
	var absent []string
	for _, step := range c.Steps {
		dirs, err := l.lookup(ctx, s, step.Name, step.Path)
		if err != nil {
			return err
		}
		switch {
		case len(dirs) > 1:
			e := s.problem(diag.ChainAmbiguous, step.Position, "%d skills answer to the chain's member `%s`: %s", len(dirs), step.Path, l.labels(s, dirs))
			e.WithHint("write the path of the one that is meant, from the directory that holds the chain")
		case len(dirs) == 0 && l.elsewhere(ctx, s, step):
		case len(dirs) == 0 && !slices.Contains(absent, step.Path):
			absent = append(absent, step.Path)
		}
	}
	l.absent(s, absent)
	return nil
}

// elsewhere reports whether the requirements or the caller's lock answer for a
// member that is not on disk.
func (l *linker) elsewhere(ctx context.Context, s *skillChecker, step Step) bool {
	for _, d := range s.skill.Requires {
		if d.Name == step.Name && !d.Requirement.Source.IsZero() {
			return true // it lies in another repository, by its own requirement
		}
	}
	if l.v.opt.Deps == nil {
		return false
	}
	dep := Dependency{Name: step.Name, Requirement: skill.Requirement{Range: "*"}, Text: "*", Position: step.Position}
	return l.v.opt.Deps(ctx, Edge{Dir: s.dir, From: s.skill, Dependency: dep, Chain: true}) == nil
}

func (l *linker) absent(s *skillChecker, members []string) {
	if len(members) == 0 {
		return
	}
	c := s.skill.Chain
	text := "`" + strings.Join(members, "`, `") + "`"
	if !c.ValidateOnLoad {
		s.note(diag.ChainUnchecked, c.Position, "the chain names %s, not found here; validate_on_load is false", text)
		return
	}
	e := s.problem(diag.SubskillUnresolved, c.Position, "the chain names %s, found neither beside it nor deeper", text)
	e.Reason = "not_found"
	if layer := l.layers[filepath.Dir(s.dir)]; layer != nil && !layer.complete {
		e.WithHint("the search ended after %d directories", maxChainDirs)
	}
}

func (l *linker) labels(s *skillChecker, dirs []string) string {
	parent := filepath.Dir(s.dir)
	var out []string
	for _, d := range dirs {
		if rel, err := filepath.Rel(parent, d); err == nil {
			out = append(out, "`"+filepath.ToSlash(rel)+"`")
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// asked hands every requirement to the caller's look-up.
func (l *linker) asked(ctx context.Context, s *skillChecker) {
	if l.v.opt.Deps == nil {
		return
	}
	for _, d := range s.skill.Requires {
		if e := l.v.opt.Deps(ctx, Edge{Dir: s.dir, From: s.skill, Dependency: d}); e != nil {
			e.At("", d.Position.Line, d.Position.Column)
			s.add(e)
		}
	}
}

// mentions notes the skills beside this one that the body names without
// declaring them: a project that installs this one alone will miss them.
func (l *linker) mentions(s *skillChecker) {
	declared := map[string]bool{filepath.Base(s.dir): true, s.skill.Name: true}
	for _, d := range s.skill.Requires {
		declared[string(d.Name)] = true
	}
	if s.skill.Chain != nil {
		for _, step := range s.skill.Chain.Steps {
			declared[string(step.Name)] = true
		}
	}
	var names []string
	var at Position
	for _, m := range s.mentioned {
		if declared[m.name] || !l.beside(s, m.name) {
			continue
		}
		if names = append(names, m.name); len(names) == 1 {
			at = m.at
		}
	}
	if len(names) > 0 {
		s.note(diag.SiblingUndeclared, at, "the text names %s, beside this skill and not required by it", nameList(names)).
			WithHint("if it needs them, put skillpm.requires.%s: \"*\" under metadata", names[0])
	}
}

// beside reports whether a skill's directory of that name lies beside s.
func (l *linker) beside(s *skillChecker, name string) bool {
	dir := filepath.Join(filepath.Dir(s.dir), name)
	if _, ok := l.known[dir]; ok {
		return true
	}
	_, err := os.Lstat(filepath.Join(dir, FileName))
	return err == nil
}

func nameList(names []string) string {
	const shown = 6
	text := "`" + strings.Join(names[:min(shown, len(names))], "`, `") + "`"
	if len(names) > shown {
		text += ", …"
	}
	return text
}

// mentionedSkill returns the skill that a reference may name: a link to its
// directory beside this one, or a code span of its name. A name without hyphen
// is too often an ordinary word.
func mentionedSkill(ref reference) string {
	if ref.code {
		_, name, found := strings.Cut(ref.target, ":") // plugin:skill
		if !found {
			name = ref.target
		}
		name = strings.TrimPrefix(name, "/")
		if !strings.Contains(name, "-") {
			return ""
		}
		if _, err := skill.ParseName(name); err != nil {
			return ""
		}
		return name
	}
	rest, ok := strings.CutPrefix(path.Clean(localPath(ref.target)), "../")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	if name == ".." {
		return ""
	}
	return name
}
