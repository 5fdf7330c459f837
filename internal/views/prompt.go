package views

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill/derive"
	"github.com/skillpm/skillpm/skill/parse"
)

// PromptSkill is one skill of a prompt's catalogue.
type PromptSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Location    string `json:"location"` // of SKILL.md, absolute
	Installed   bool   `json:"installed"`
}

// PromptResult is the catalogue for a prompt.
type PromptResult struct {
	Skills []PromptSkill `json:"skills"`
	// Document is the XML, without a final newline.
	Document string `json:"document"`
	Tokens   int    `json:"tokens"`
}

// Prompt returns the catalogue of keys, all locked skills without any, in the
// form that `skills-ref to-prompt` prints. Training targets are left out unless
// named. Locked skills are told by the lock, path skills by their frontmatter;
// no body is opened. A skill that is not installed keeps its line, with the place
// where materialize will put it, and is warned about.
func Prompt(p *workspace.Project, keys []string) (*PromptResult, error) {
	entries, err := promptEntries(p, keys)
	if err != nil {
		return nil, err
	}
	r := &PromptResult{Skills: []PromptSkill{}}
	var lines []derive.PromptEntry
	var missing []string
	for _, e := range entries {
		s := PromptSkill{Name: e.Name(), Description: e.Description}
		if e.Source.Type == lockfile.TypePath {
			if s.Description, err = pathDescription(p, e); err != nil {
				return nil, err
			}
		}
		s.Location, s.Installed = location(p, e)
		if !s.Installed {
			missing = append(missing, e.Key)
		}
		r.Skills = append(r.Skills, s)
		lines = append(lines, derive.PromptEntry{Name: s.Name, Description: s.Description, Location: s.Location})
	}
	if len(missing) > 0 {
		p.Opt.Report(diag.Warn(diag.VerifyMissing, "not installed yet: %s", strings.Join(missing[:min(len(missing), workspace.MaxNamed)], ", ")).
			WithHint("`skillpm install` brings all, `skillpm materialize NAME` one"))
	}
	r.Document = derive.PromptXML(lines)
	r.Tokens = derive.Tokens([]byte(r.Document))
	noteCatalog(p, len(r.Skills), r.Tokens, func(i int) string { return r.Skills[i].Name })
	return r, nil
}

// promptEntries returns the named entries, or every one that is for a prompt.
func promptEntries(p *workspace.Project, keys []string) ([]*lockfile.Entry, error) {
	if p.Lock == nil {
		return nil, p.NoLock()
	}
	var entries []*lockfile.Entry
	if len(keys) == 0 {
		for _, e := range p.Lock.Skills {
			if !isTrainable(p, e) {
				entries = append(entries, e)
			}
		}
		return entries, nil
	}
	var faults diag.List
	for _, key := range keys {
		e, err := p.Entry(key)
		if err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		entries = append(entries, e)
	}
	return entries, faults.Err()
}

// isTrainable reports whether a skill is a target of training alone. No lock
// says it of a path skill.
func isTrainable(p *workspace.Project, e *lockfile.Entry) bool {
	if e.Source.Type == lockfile.TypePath {
		return trainingMode(p.PathDir(e.Source.Path), e.Name()) == trainable
	}
	return e.Training != nil && e.Training.Mode == trainable
}

// pathDescription reads the description of a path skill, which no lock holds,
// from its frontmatter.
func pathDescription(p *workspace.Project, e *lockfile.Entry) (string, error) {
	src := workspace.MustSource(e)
	if err := world.CheckPathSource(p, src); err != nil {
		return "", err
	}
	dir := p.PathDir(e.Source.Path)
	file, err := world.SkillFileIn(dir)
	if err != nil {
		return "", diag.New(diag.SkillNotFound, "no SKILL.md in %s", e.Source.Path).WithCause(err)
	}
	head, err := readHead(filepath.Join(dir, file))
	if err != nil {
		return "", workspace.FileError(err)
	}
	parsed, notes := parse.Read(head, parse.Options{File: file, Label: e.Source.Path + "/" + file, Dir: filepath.Base(dir), Local: true})
	if parsed == nil {
		return "", workspace.FirstError(notes)
	}
	return parsed.Description, nil
}

// location returns the absolute path of a skill's SKILL.md, links to its
// directory followed as skills-ref does, and whether it is there.
func location(p *workspace.Project, e *lockfile.Entry) (string, bool) {
	dir := filepath.FromSlash(SkillPath(p, e))
	if rest, ok := strings.CutPrefix(filepath.ToSlash(dir), "~/"); ok {
		dir = filepath.Join(p.Opt.Home, filepath.FromSlash(rest))
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.Root, dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	file := filepath.Join(dir, parse.FileName)
	if info, err := os.Lstat(file); err == nil {
		return file, info.Mode().IsRegular()
	}
	if name, err := world.SkillFileIn(dir); err == nil {
		return filepath.Join(dir, name), true
	}
	return file, false
}

// noteCatalog notes a catalogue longer than some runtimes show, and names what
// stands past the mark.
func noteCatalog(p *workspace.Project, n, tokens int, name func(i int) string) {
	if n <= catalogCap {
		return
	}
	var past []string
	for i := catalogCap; i < n; i++ {
		past = append(past, name(i))
	}
	listed := strings.Join(past[:min(len(past), workspace.MaxNamed)], ", ")
	if len(past) > workspace.MaxNamed {
		listed += ", …"
	}
	note := diag.Note(diag.CatalogOver32, "%d skills are listed (about %d tokens); some runtimes show only the first %d", n, tokens, catalogCap).
		WithDetail("past the mark: %s", listed)
	note.Data = map[string]any{"past": past}
	p.Opt.Report(note)
}
