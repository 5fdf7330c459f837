package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
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
func Doctor(ctx context.Context, opt Options) (*DoctorResult, error) {
	d := &doctor{result: DoctorResult{Checks: []Check{}}, now: "project"}
	opt.Report, opt.Offline = d.found, true
	p := d.open(opt)
	if p != nil {
		defer p.Close()
		if p.manifestData != nil {
			d.result.Root = p.Root
		}
		if err := d.project(ctx, p); err != nil {
			return nil, err
		}
		d.check("cache", "", func() { d.cache(ctx, p) })
	}
	d.check("programs", "", func() { d.programs(opt) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &d.result, d.findings.Err()
}

// open opens the project as far as it can be: whole, its lock alone, or nothing
// but the machine's settings. It is nil where these are broken, too.
func (d *doctor) open(opt Options) *Project {
	p, err := Open(opt)
	if err == nil {
		d.ok("%s", p.display(p.manifestPath()))
		return p
	}
	if diag.CodeOf(err) == diag.ManifestMissing {
		d.ok("no skills.toml here or above; only this machine is looked at")
	} else {
		d.failed(err)
		if p, err := OpenLock(opt); err == nil {
			return p
		}
	}
	if p, err = OpenCache(opt); err != nil {
		d.failed(err)
		return nil
	}
	return p
}

// project makes the checks that need a lock, or a manifest.
func (d *doctor) project(ctx context.Context, p *Project) error {
	if p.manifestData != nil {
		d.check("lock", "up to date", func() { d.lock(ctx, p) })
		d.check("agents", "every agent in use reads a target", func() { d.agents(p) })
	}
	if p.lock == nil {
		return nil
	}
	layers, err := p.Layers(ctx, LayersOptions{})
	if err != nil {
		return err
	}
	d.check("targets", plural(len(p.lock.Skills), "skill")+" in "+strings.Join(p.lock.Targets, ", "), func() { d.targets(p, layers) })
	d.check("layers", "no name stands twice", func() { d.layers(p, layers) })
	d.check("catalogue", plural(layers.Found, "skill")+fmt.Sprintf(", about %d tokens", layers.CatalogTokens), func() { d.catalogue(p) })
	d.check("state", "no unfinished run", func() { d.state(p) })
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (d *doctor) lock(ctx context.Context, p *Project) {
	if p.lock == nil {
		if len(p.manifest.Skills) > 0 {
			d.found(p.noLock())
		} else {
			d.ok("nothing is required yet")
		}
		return
	}
	stale, err := p.staleness(ctx, true)
	if err != nil {
		d.failed(err)
	}
	d.failed(stale.Err())
}

// agents notes agents that are used here and read none of the targets.
func (d *doctor) agents(p *Project) {
	if p.opt.Global {
		return
	}
	exists := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	targets := p.lockTargets()
	for _, a := range agents.Detect(p.Root, p.opt.Home, p.getenv, exists) {
		l, _ := agents.LoaderOf(a.ID)
		if !slices.ContainsFunc(l.Roots, func(r agents.Root) bool { return slices.Contains(targets, r.Dir) }) {
			d.found(diag.Note(diag.AgentUnserved, "%s is used here and reads %s, which is no target", a.Name, a.ProjectDir).
				WithHint("agents = [… \"%s\"] under [install] in skills.toml", a.ID))
		}
	}
}

// targets reports what is missing, broken or in no lock where skillpm installs.
func (d *doctor) targets(p *Project, layers *LayersResult) {
	dirs := p.lock.Targets
	if p.opt.Global {
		dirs = homeTargets(dirs)
	}
	d.failed(install.CheckTargets(p.layout(), p.installOptions(), dirs))
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
	for _, e := range p.lock.Skills {
		if !seen[p.skillPath(e)] && !p.onDiskAlready(e) {
			missing = append(missing, e.Key)
		}
	}
	if len(missing) > 0 {
		named := strings.Join(missing[:min(len(missing), maxNamed)], ", ")
		if more := len(missing) - maxNamed; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		d.found(diag.New(diag.VerifyMissing, "locked and not installed: %s", named).WithHint("`skillpm install` brings them"))
	}
}

// layers warns of names of this lock that agents may take from elsewhere.
func (d *doctor) layers(p *Project, layers *LayersResult) {
	names := map[string]bool{}
	for _, e := range p.lock.Skills {
		names[e.Key], names[e.Name()] = true, true
	}
	for _, c := range layers.Conflicts {
		if !names[c.Name] || !c.Disputed() {
			continue
		}
		e := diag.Warn(diag.SkillShadowed, "`%s` stands in %d places that agents read", c.Name, len(c.Places)).
			WithHint("`skillpm list --layers` shows more; remove the copy that nobody needs")
		for _, r := range c.Runtimes {
			e.WithDetail("%s loads %s", r.Runtime, strings.Join(r.Loads, " and "))
		}
		d.found(e)
	}
}

func (d *doctor) catalogue(p *Project) {
	if _, err := p.List(context.Background()); err != nil { // notes go to d.found
		d.failed(err)
	}
}

// state looks for what a killed run left behind.
func (d *doctor) state(p *Project) {
	state, err := install.Look(p.layout(), p.installOptions())
	if err != nil {
		d.failed(err)
		return
	}
	d.failed(state.Receipt)
	if state.Journal || state.Staged {
		d.found(diag.Warn(diag.RunUnfinished, "an earlier run was not finished").At(p.display(filepath.Join(p.layout().Root, stateDir)), 0, 0).
			WithHint("`skillpm install` finishes or undoes it"))
	}
}
