package cli

import (
	"context"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/author"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/parse"
	"github.com/skillpm/skillpm/skill/parse/inspect"
)

type inspectResult struct{ *inspect.Inspection }

// Text prints what a person wants to know before using the skill.
func (r inspectResult) Text(s *ui.Streams) {
	rows := [][]string{}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{s.Paint(ui.Strong, name), diag.Escape(value)})
		}
	}
	if c := r.Contract; c != nil {
		add("name", c.Name)
		add("version", c.Version)
		add("description", c.Description)
		add("license", c.License)
		add("compatibility", c.Compatibility)
		add("asks for tools", c.Declares.AllowedTools)
	}
	for _, name := range sortedNames(r.Requires) {
		add("requires", name+" "+r.Requires[name])
	}
	if r.Chain != nil {
		for _, step := range r.Chain.Steps {
			add(r.Chain.Mode+" step", step)
		}
	}
	if r.Training != nil {
		add("training", r.Training.Mode)
	}
	var total int64
	for _, f := range r.Files {
		total += f.Size
	}
	add("files", plural(len(r.Files), "file")+", "+bytesText(total))
	add("digest", string(r.Digest))
	add("looked at", r.State)
	s.Printf("%s", ui.Table(nil, rows, s.Width))
	for _, d := range r.Diagnostics {
		if d.Verdict == parse.OK {
			continue
		}
		s.Infof("%s %s: %s\n", d.Verdict, d.Code, diag.Escape(d.Message))
	}
}

// MarshalJSON is the inspection's own.
func (r inspectResult) MarshalJSON() ([]byte, error) { return r.Inspection.MarshalJSON() }

func newInspectCmd(app *App) *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use: "inspect PATH | NAME", Short: "Show a skill's contract: files, hashes, training, requirements", Args: cobra.ExactArgs(1),
		Long: `Show what a skill declares and holds, as training tools and registries read it:
contract, files with hashes, resources, training.zon, requirements, chain and what
validate says. PATH is a skill's directory, NAME one that is installed here. With
--json the keys are sorted and no path is absolute.`,
	}
	f.addRules(cmd)
	return app.command(cmd, "inspect", func(ctx context.Context, args []string) (Result, error) {
		opt, err := f.options(app)
		if err != nil {
			return nil, err
		}
		target := app.installed(args[0])
		if target != args[0] {
			opt.Load = author.LoadDirectories // a copy is what lies there, not what git makes of it
		}
		in, r, err := inspect.Skill(ctx, target, opt)
		if err != nil {
			return nil, err
		}
		findings := r.Findings()
		if in == nil {
			if r.Skills > 0 {
				return nil, usageError("`%s` is a folder of %s; inspect takes one", args[0], plural(r.Skills, "skill"))
			}
			return nil, findings.Err()
		}
		if lock, _ := app.projectLock(); lock != nil && target != args[0] {
			for _, p := range lock.Parents(args[0]) {
				in.Parents = append(in.Parents, inspect.Parent{Name: p.Name, Digest: p.Digest})
			}
		}
		return inspectResult{in}, shown(findings.Err())
	})
}

// installed returns where the skill name is installed, or arg itself if that is
// a path or no such skill is there.
func (app *App) installed(arg string) string {
	if _, err := os.Stat(filepath.Join(app.dir(), arg)); err == nil || filepath.IsAbs(arg) {
		return arg
	}
	lock, root := app.projectLock()
	if lock == nil || lock.Get(arg) == nil {
		return arg
	}
	dir := lock.Get(arg).Source.Path
	if lock.Get(arg).Digest != "" || dir == "" {
		dir = lock.InstallPath(arg)
	}
	rel, err := filepath.Rel(app.dir(), filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		return arg
	}
	return path.Clean(filepath.ToSlash(rel))
}
