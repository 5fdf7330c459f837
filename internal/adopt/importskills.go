package adopt

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/choose"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/interop"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/skill"
)

// ImportOptions tunes Import.
type ImportOptions struct {
	apply.InstallOptions
	// Skills are names to take; nil takes everything.
	Skills []string
	// Unpin writes what the other tool's people asked for (a range, a branch, the
	// newest) instead of the commit it had locked.
	Unpin bool
}

// ImportResult says what became of every entry of the other tools' files.
type ImportResult struct {
	Files    []ImportedFile  `json:"files"`
	Imported []ImportedSkill `json:"imported"`
	// Present are keys that skills.toml has already, from the same source.
	Present []string     `json:"present,omitempty"`
	Skipped []ImportSkip `json:"skipped,omitempty"`
	// Change is what was locked and installed; nil where nothing was taken.
	Change *decide.Change `json:"change,omitempty"`
}

// ImportedFile is a file that was read, with the tool it belongs to.
type ImportedFile struct {
	Path string `json:"path"`
	Tool string `json:"tool"`
}

// ImportedSkill is an entry that became a line of skills.toml.
type ImportedSkill struct {
	Key         string `json:"key"`
	Requirement string `json:"requirement"`
	Name        string `json:"name"`
	File        string `json:"file"`
	Line        int    `json:"line,omitempty"`
}

// ImportSkip is an entry that was left out, with its finding.
type ImportSkip struct {
	Name    string    `json:"name"`
	File    string    `json:"file"`
	Line    int       `json:"line,omitempty"`
	Code    diag.Code `json:"code"`
	Message string    `json:"message"`
}

// Import takes over what other tools' files list: those that args name, else all
// that are found. Every entry ends imported, present or skipped with its reason;
// a skipped one makes the run fail after the others were taken. The files stay
// as they are.
func Import(ctx context.Context, p *world.World, args []string, opt ImportOptions) (*ImportResult, error) {
	docs, err := readForeign(p.Project, args)
	if err != nil {
		return nil, err
	}
	return importDocuments(ctx, p, docs, opt)
}

// importer is one run of Import.
type importer struct {
	p        *world.World
	opt      ImportOptions
	result   *ImportResult
	findings diag.List
	adds     []choose.Addition
	from     []interop.Item // of adds, one each
	agents   []string       // those that the other tools install for
	failed   map[string]error
	asked    map[string]bool // names of opt.Skills that were met
}

func importDocuments(ctx context.Context, p *world.World, docs []foreign, opt ImportOptions) (*ImportResult, error) {
	if err := p.LoadRegistries(ctx); err != nil {
		return nil, err
	}
	im := &importer{
		p: p, opt: opt, failed: map[string]error{}, asked: map[string]bool{},
		result: &ImportResult{Files: []ImportedFile{}, Imported: []ImportedSkill{}},
	}
	items := im.collect(docs)
	if err := im.list(ctx, items); err != nil {
		return nil, err
	}
	for _, it := range items {
		if err := im.take(ctx, it); err != nil {
			return nil, err
		}
	}
	for _, name := range opt.Skills {
		if !im.asked[name] {
			im.findings = append(im.findings, diag.New(diag.SkillNotFound, "none of the files lists a skill `%s`", name))
		}
	}
	if err := im.try(ctx); err != nil {
		return nil, err
	}
	return im.result, im.write(ctx)
}

// item is an Item with the directory its document was read from.
type item struct {
	interop.Item
	dir string
}

// collect gathers the wanted items of all documents and what their readers had
// to skip.
func (im *importer) collect(docs []foreign) []item {
	var items []item
	for _, d := range docs {
		shown := func(file string) string { return im.p.Display(filepath.Join(d.dir, filepath.FromSlash(file))) }
		for _, a := range d.Agents {
			im.serve(a, shown(a.File))
		}
		for _, f := range d.Files {
			im.result.Files = append(im.result.Files, ImportedFile{shown(f), d.Tool})
		}
		for _, n := range d.Notes {
			n.File = shown(n.File)
			im.p.Opt.Report(n)
		}
		for _, s := range d.Skipped {
			if s.File = shown(s.File); im.wants(s.Name) {
				im.skip(s.Place, s.Name, diag.New(diag.ImportSkipped, "%s", s.Reason))
			}
		}
		for _, it := range d.Items {
			it.File = shown(it.File)
			names := append([]string{it.Name, it.Key}, it.Pick...)
			if it.Whole || slices.ContainsFunc(names, im.wants) {
				items = append(items, item{it, d.dir})
			}
		}
	}
	return items
}

// serve takes an agent that the other tool installs for, so that it sees the skills
// after the import as before. One that is not known is told.
func (im *importer) serve(a interop.Agent, file string) {
	if _, ok := agents.Get(a.ID); ok {
		im.agents = append(im.agents, a.ID)
		return
	}
	im.p.Opt.Report(diag.Note(diag.ImportNote, "the agent `%s` stays behind: skillpm knows none of that name", diag.Escape(a.ID)).
		At(file, a.Line, a.Column))
}

// wants reports whether a name is asked for, and remembers that it was met.
func (im *importer) wants(name string) bool {
	if len(im.opt.Skills) == 0 {
		return true
	}
	if !slices.Contains(im.opt.Skills, name) {
		return false
	}
	im.asked[name] = true
	return true
}

// skip leaves an entry out, with the code of what stood in the way.
func (im *importer) skip(at interop.Place, name string, err error) {
	e := *diag.All(err)[0]
	im.result.Skipped = append(im.result.Skipped, ImportSkip{name, at.File, at.Line, e.Code, e.Error()})
	e.Message = fmt.Sprintf("`%s` was not imported: %s", diag.Escape(name), e.Message)
	im.findings = append(im.findings, e.At(at.File, at.Line, at.Column))
}

// list reads the branches and tags of all repositories at once, and of each the
// SKILL.md files that will be looked at. A repository that cannot be read is no
// reason to give up the others.
func (im *importer) list(ctx context.Context, items []item) error {
	var repos []skill.Source
	for _, it := range items {
		if it.Source.Kind() != skill.SourceGit {
			continue
		}
		id := it.Source.Repository()
		if slices.ContainsFunc(repos, func(s skill.Source) bool { return s.Repository() == id }) {
			continue
		}
		repos = append(repos, it.Source)
	}
	im.p = im.p.Naming(repos...) // as good as named: the file that lists them was
	errs := make([]error, len(repos))
	err := par.Do(ctx, im.p.Opt.Jobs, len(repos), func(ctx context.Context, i int) error {
		errs[i] = im.warm(ctx, repos[i], items)
		return ctx.Err()
	})
	for i, repo := range repos {
		if errs[i] != nil {
			im.failed[repo.Repository()] = errs[i]
		}
	}
	return err
}

// warm lists one repository and reads the skills of it that follow a commit or
// branch in one go. Of those with versions the newest is yet to be found.
func (im *importer) warm(ctx context.Context, repo skill.Source, items []item) error {
	refs, err := im.p.Listing(ctx, repo)
	if err != nil {
		return err
	}
	var files []world.WantedFile
	for _, it := range items {
		exact := it.Source.HasSubpath() && !it.Whole && len(it.Pick) == 0
		if !exact || it.Source.Repository() != repo.Repository() {
			continue
		}
		s := im.spec(it.Item)
		if s.Ref == "" && fetch.Versions(refs, fetch.PlaceOf(it.Source)).Class != fetch.ClassNone {
			continue
		}
		if want, err := choose.HeadFor(refs, s); err == nil {
			files = append(files, world.WantedFile{Src: it.Source, Want: want})
		}
	}
	// What fails here fails again at the skill it belongs to, and is told there.
	_ = im.p.WarmFacts(ctx, repo, files)
	return nil
}

// take turns one entry into additions, or skips it.
func (im *importer) take(ctx context.Context, it item) error {
	var adds []choose.Addition
	err := im.failed[it.Source.Repository()]
	if err == nil {
		adds, err = im.additions(ctx, it)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && it.Whole && len(im.opt.Skills) > 0 && !im.wants(it.Name):
		return nil // a package nobody asked for by name
	case err != nil:
		im.skip(it.Place, it.Name, err)
	}
	for _, a := range adds {
		if it.Whole && !im.wants(it.Name) && !im.wants(string(a.Key)) || slices.Contains(it.Exclude, string(a.Key)) {
			continue
		}
		im.keep(it, a)
	}
	return nil
}

// keep takes an addition, unless its key is in use.
func (im *importer) keep(it item, a choose.Addition) {
	for _, other := range im.adds {
		if other.Key.Fold() != a.Key.Fold() {
			continue
		}
		if other.Req.Source.Identity() != a.Req.Source.Identity() {
			im.skip(it.Place, it.Name, diag.New(diag.NameCollision, "`%s` would be a second skill of that name, after %s", a.Key, other.Req.Source.Identity()).
				WithHint("`skillpm add %s --as OTHER-NAME` keeps both", a.Req.Source.Identity()))
		}
		return // two tools keep the same skill
	}
	if err := choose.CheckKey(im.p.Project, a); err != nil {
		im.skip(it.Place, it.Name, err)
		return
	}
	if im.p.Written.Get(string(a.Key)) != nil {
		if !slices.Contains(im.result.Present, string(a.Key)) {
			im.result.Present = append(im.result.Present, string(a.Key))
		}
		return
	}
	im.adds, im.from = append(im.adds, a), append(im.from, it.Item)
}

// try reads the content of what follows a commit or branch, so that a skill that
// cannot be installed does not keep the others out.
func (im *importer) try(ctx context.Context) error {
	errs, err := choose.TryOut(ctx, im.p, im.adds, im.addOptions())
	if err != nil {
		return err
	}
	var adds []choose.Addition
	var from []interop.Item
	for i, a := range im.adds {
		if errs[i] != nil {
			im.skip(im.from[i].Place, im.from[i].Name, errs[i])
			continue
		}
		adds, from = append(adds, a), append(from, im.from[i])
	}
	im.adds, im.from = adds, from
	return nil
}

// addOptions are those of `add --all`: what cannot be solved is left out.
func (im *importer) addOptions() choose.AddOptions {
	opt := choose.AddOptions{InstallOptions: im.opt.InstallOptions, All: true}
	opt.Agents = append(slices.Clone(opt.Agents), im.agents...)
	return opt
}

// write resolves, installs and writes, and returns every finding of the run.
func (im *importer) write(ctx context.Context) error {
	if len(im.adds) == 0 {
		return im.findings.Err()
	}
	p, t, left, err := choose.AddSolvable(ctx, im.p, im.adds, im.addOptions())
	if err != nil {
		return append(diag.All(err), im.findings...).Err()
	}
	for i, a := range im.adds {
		it := im.from[i]
		n := slices.IndexFunc(left, func(s decide.SkippedSkill) bool { return s.Path == a.Req.Source.Identity() })
		if n >= 0 {
			im.skip(it.Place, it.Name, diag.New(left[n].Code, "%s", left[n].Message))
			continue
		}
		im.result.Imported = append(im.result.Imported, ImportedSkill{string(a.Key), a.Req.String(), it.Name, it.File, it.Line})
		if e := t.Lock.Get(string(a.Key)); e != nil && it.Tree != "" && e.Source.Tree != it.Tree {
			im.p.Opt.Report(diag.Note(diag.ImportNote, "`%s` has other content here than the other tool installed: %s and not %s", a.Key, e.Source.Tree, it.Tree).
				At(it.File, it.Line, it.Column))
		}
	}
	change, err := apply.Apply(ctx, p, t, im.opt.InstallOptions)
	im.result.Change = change
	if err != nil {
		return append(diag.All(err), im.findings...).Err()
	}
	return im.findings.Err()
}
