package views

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
)

// The states of a Check.
const (
	CheckOK      = "ok"
	CheckNote    = "note"
	CheckWarning = "warning"
	CheckProblem = "problem"
)

// Check is one thing that Doctor looked at.
type Check struct {
	Check   string    `json:"check"`
	State   string    `json:"state"`
	Code    diag.Code `json:"code,omitempty"`
	Message string    `json:"message"`
	File    string    `json:"file,omitempty"`
	Line    int       `json:"line,omitempty"`
	Details []string  `json:"details,omitempty"`
	Hint    string    `json:"hint,omitempty"`
}

// DoctorResult lists the checks in the order they were made.
type DoctorResult struct {
	Root   string  `json:"root,omitempty"`
	Checks []Check `json:"checks"`
}

// doctor collects what the checks say.
type doctor struct {
	result   DoctorResult
	now      string // the check at work
	findings diag.List
}

func (d *doctor) ok(format string, args ...any) {
	d.result.Checks = append(d.result.Checks, Check{Check: d.now, State: CheckOK, Message: fmt.Sprintf(format, args...)})
}

func (d *doctor) found(e *diag.Error) {
	c := Check{Check: d.now, State: CheckProblem, Code: e.Code, Message: e.Message, File: e.File, Line: e.Line, Details: e.Details, Hint: e.Hint}
	switch e.Severity {
	case diag.SeverityNote:
		c.State = CheckNote
	case diag.SeverityWarning:
		c.State = CheckWarning
	}
	if e.Cause != nil {
		c.Details = append(slices.Clone(c.Details), e.Cause.Error())
	}
	d.result.Checks = append(d.result.Checks, c)
	d.findings = append(d.findings, e)
}

func (d *doctor) failed(err error) {
	for _, e := range diag.All(err) {
		d.found(e)
	}
}

// check runs one group of checks; a group that found nothing says ok.
func (d *doctor) check(name, ok string, f func()) {
	d.now = name
	before := len(d.result.Checks)
	f()
	if len(d.result.Checks) == before && ok != "" {
		d.ok("%s", ok)
	}
}

// Doctor looks at everything that decides whether agents see the locked skills:
// project files, targets, directories that shadow them, the private directory,
// the cache and the programs beside skillpm. It goes on where a command would
// stop, uses no network and writes nothing. The findings are also the error,
// notes and warnings among them.
func Doctor(ctx context.Context, opt workspace.Options) (*DoctorResult, error) {
	d := &doctor{result: DoctorResult{Checks: []Check{}}, now: "project"}
	opt.Report, opt.Offline = d.found, true
	p := d.open(opt)
	if p != nil {
		defer p.Close()
		if p.ManifestData != nil {
			d.result.Root = p.Root
		}
		if err := d.project(ctx, p); err != nil {
			return nil, err
		}
		d.check("cache", "", func() { d.cache(ctx, p.Local) })
	}
	d.check("programs", "", func() { d.programs(opt) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &d.result, d.findings.Err()
}

// open opens the project as far as it can be: whole, its lock alone, or nothing
// but the machine's settings. It is nil where these are broken, too.
func (d *doctor) open(opt workspace.Options) *world.World {
	p, err := world.Open(opt)
	if err == nil {
		d.ok("%s", p.Display(p.ManifestPath()))
		return p
	}
	if diag.CodeOf(err) == diag.ManifestMissing {
		d.ok("no skills.toml here or above; only this machine is looked at")
	} else {
		d.failed(err)
		if p, err := world.OpenLock(opt); err == nil {
			return p
		}
	}
	if p, err = world.OpenCache(opt); err != nil {
		d.failed(err)
		return nil
	}
	return p
}

// project makes the checks that need a lock, or a manifest.
func (d *doctor) project(ctx context.Context, p *world.World) error {
	if p.ManifestData != nil {
		d.check("lock", "up to date", func() { d.lock(ctx, p) })
		d.check("agents", "every agent in use reads a target", func() { d.agents(p.Project) })
	}
	if p.Lock == nil {
		return nil
	}
	layers, err := Layers(ctx, p.Project, LayersOptions{})
	if err != nil {
		return err
	}
	d.check("targets", plural(len(p.Lock.Skills), "skill")+" in "+strings.Join(p.Lock.Targets, ", "), func() { d.targets(p.Local, layers) })
	d.check("layers", "no name stands twice", func() { d.layers(p.Project, layers) })
	d.check("git", "", func() { world.NewGitRules(p.Project, p.Lock).Report(p.Local) })
	d.check("catalogue", plural(layers.Found, "skill")+fmt.Sprintf(", about %d tokens", layers.CatalogTokens), func() { d.catalogue(p.Local) })
	d.check("state", "no unfinished run", func() { d.state(p.Local) })
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (d *doctor) lock(ctx context.Context, p *world.World) {
	if p.Lock == nil {
		if len(p.Manifest.Skills) > 0 {
			d.found(p.NoLock())
		} else {
			d.ok("nothing is required yet")
		}
		return
	}
	stale, err := decide.Staleness(ctx, p, true)
	if err != nil {
		d.failed(err)
	}
	d.failed(stale.Err())
}

// agents notes agents that are used here and read none of the targets.
func (d *doctor) agents(p *workspace.Project) {
	if p.Opt.Global {
		return
	}
	exists := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	targets := lockTargets(p)
	for _, a := range agents.Detect(p.Root, p.Opt.Home, p.Getenv, exists) {
		l, _ := agents.LoaderOf(a.ID)
		if !slices.ContainsFunc(l.Roots, func(r agents.Root) bool { return slices.Contains(targets, r.Dir) }) {
			d.found(diag.Note(diag.AgentUnserved, "%s is used here and reads %s, which is no target", a.Name, a.ProjectDir).
				WithHint("agents = [… \"%s\"] under [install] in skills.toml", a.ID))
		}
	}
}

// targets reports what is missing, broken or in no lock where skillpm installs.
func (d *doctor) targets(p *world.Local, layers *LayersResult) {
	dirs := p.Lock.Targets
	if p.Opt.Global {
		dirs = workspace.HomeTargets(dirs)
	}
	d.failed(install.CheckTargets(p.Layout(), p.InstallOptions(), dirs))
	seen := map[string]bool{}
	for _, dir := range layers.Layers {
		if dir.Fault != "" {
			e := diag.New(diag.PermissionDenied, "`%s` cannot be read: %s", dir.Path, dir.Fault)
			if !dir.Target {
				e.Severity = diag.SeverityWarning
			}
			d.found(e)
		}
		for _, s := range dir.Skills {
			seen[s.Path] = true
			switch {
			case s.State == StateRefused:
				e := diag.New(s.Code, "`%s`: %s", s.Path, s.Reason)
				if !dir.Target {
					e.Severity = diag.SeverityWarning
				}
				d.found(e)
			case dir.Target && !s.Locked && s.State != StateSame:
				d.found(diag.Note(diag.SkillUnlocked, "`%s` is a skill that no lock names", s.Path).
					WithHint("add it to skills.toml as { path = … }, or move it away"))
			}
		}
	}
	var missing []string
	for _, e := range p.Lock.Skills {
		if !seen[SkillPath(p.Project, e)] && !OnDiskAlready(p.Project, e) {
			missing = append(missing, e.Key)
		}
	}
	if len(missing) > 0 {
		d.found(diag.New(diag.VerifyMissing, "locked and not installed: %s", workspace.FirstNames(missing)).WithHint("`skillpm install` brings them"))
	}
}

// layers warns of names of this lock that agents may take from elsewhere.
func (d *doctor) layers(p *workspace.Project, layers *LayersResult) {
	for _, c := range disputed(p, layers) {
		e := diag.Warn(diag.SkillShadowed, "`%s` stands in %d places that agents read", c.Name, len(c.Places)).
			WithHint("`skillpm list --layers` shows more; remove the copy that nobody needs")
		for _, r := range c.Runtimes {
			e.WithDetail("%s loads %s", r.Runtime, strings.Join(r.Loads, " and "))
		}
		d.found(e)
	}
}

// disputed returns the locked names of which an agent may load a copy from
// elsewhere.
func disputed(p *workspace.Project, layers *LayersResult) []Conflict {
	names := map[string]bool{}
	for _, e := range p.Lock.Skills {
		names[e.Key], names[e.Name()] = true, true
	}
	var out []Conflict
	for _, c := range layers.Conflicts {
		if names[c.Name] && c.Disputed() {
			out = append(out, c)
		}
	}
	return out
}

// OtherCopies looks, after skills were taken over from another tool, for copies of
// them that agents may load instead. It opens the project anew, writes nothing,
// uses no network, and returns one warning that names the places, nil for none.
func OtherCopies(ctx context.Context, opt workspace.Options) (*diag.Error, error) {
	p, err := world.OpenLock(opt)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	layers, err := Layers(ctx, p.Project, LayersOptions{})
	if err != nil {
		return nil, err
	}
	found := disputed(p.Project, layers)
	if len(found) == 0 {
		return nil, nil
	}
	what := "`" + found[0].Name + "` is"
	if len(found) > 1 {
		what = fmt.Sprintf("%d of the skills are", len(found))
	}
	e := diag.Warn(diag.SkillShadowed, "%s also elsewhere, where agents may load the older copy", what).
		WithHint("remove the copies that the other tool left; `skillpm doctor` tells which agent loads which")
	for _, c := range found[:min(len(found), workspace.MaxNamed)] {
		e.WithDetail("%s: %s", c.Name, strings.Join(c.Places, ", "))
	}
	if more := len(found) - workspace.MaxNamed; more > 0 {
		e.WithDetail("and %d more", more)
	}
	return e, nil
}

func (d *doctor) catalogue(p *world.Local) {
	if _, err := List(context.Background(), p); err != nil { // notes go to d.found
		d.failed(err)
	}
}

// state looks for what a killed run left behind.
func (d *doctor) state(p *world.Local) {
	state, err := install.Look(p.Layout(), p.InstallOptions())
	if err != nil {
		d.failed(err)
		return
	}
	d.failed(state.Receipt)
	if state.Journal || state.Staged {
		d.found(diag.Warn(diag.RunUnfinished, "an earlier run was not finished").At(p.Display(filepath.Join(p.Layout().Root, workspace.StateDir)), 0, 0).
			WithHint("`skillpm install` finishes or undoes it"))
	}
}
