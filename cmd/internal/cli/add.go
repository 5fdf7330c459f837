package cli

import (
	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/choose"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/internal/project"
)

// installFlags are what every command that installs has.
type installFlags struct {
	opt     apply.InstallOptions
	mirrors []string
	jobs    int
	minAge  string
	yes     bool
	noLock  bool
}

func (f *installFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.opt.NoInstall, "no-install", false, "change skills.toml and skills.lock only")
	fl.BoolVar(&f.opt.Explain, "explain", false, "say why each skill has its version")
	fl.BoolVar(&f.opt.DryRun, "dry-run", false, "say what would happen and write nothing")
	fl.BoolVar(&f.opt.Force, "force", false, "give up local edits and directories in the way")
	fl.BoolVar(&f.opt.ResolveSubskills, "resolve-subskills", false, "agree once to repositories that dependencies bring")
	fl.StringSliceVar(&f.opt.AllowUntrusted, "allow-untrusted", nil, "install `SKILL` although the trust policy refuses it")
	fl.BoolVar(&f.opt.AcceptSignerChange, "accept-signer-change", false, "accept another signer than the locked one")
	fl.BoolVar(&f.opt.AcceptDowngrade, "accept-unsigned", false, "accept that a skill that was signed no longer is")
	fl.StringArrayVar(&f.mirrors, "mirror", nil, "read `MIRROR` first: dir:PATH, tar:FILE, oci://… or https://…")
	fl.IntVar(&f.jobs, "jobs", 0, "work on `N` repositories at once (default 8)")
	fl.StringVar(&f.minAge, "min-age", "", "replace min_age of the trust policy, as in 3d; 0 switches it off")
	fl.StringVar(&f.opt.ReservedNames, "reserved-names", "", "refuse skills named in `FILE`: one name a line, or a JSON array")
	fl.BoolVarP(&f.yes, "yes", "y", false, "agree to what would be asked")
}

// addTargets adds the flags that say where skills go.
func (f *installFlags) addTargets(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.opt.Agents, "agent", nil, "install for the agent `ID` too, and write it to skills.toml")
	cmd.Flags().StringSliceVar(&f.opt.Targets, "target", nil, "install into `DIR` too, and write it to skills.toml")
}

// change puts the flags into the options of a run.
func (f *installFlags) change(opt *workspace.Options) error {
	opt.Mirrors, opt.Jobs = f.mirrors, f.jobs
	if f.minAge != "" {
		age, err := parseAge(f.minAge)
		if err != nil {
			return err
		}
		opt.MinAge = &age
	}
	if f.yes {
		opt.Ask = func(string) bool { return true }
	}
	return nil
}

// parseAge reads a duration that may have days: 3d, 36h, 0.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil && text == "0" {
		return 0, nil
	}
	if err != nil || d < 0 {
		return 0, usageError("`%s` is no age; write 3d, 36h or 0", text)
	}
	return d, nil
}

func newAddCmd(app *App) *cobra.Command {
	var s scope
	var f installFlags
	var add addFlags
	cmd := &cobra.Command{
		Use:   "add SRC…",
		Short: "Add skills to skills.toml, lock and install them",
		Long: `Add skills to skills.toml, lock and install them.

SRC is owner/repo//path, a URL (https, ssh, git, file) with //path,
user@host:repo//path, ./directory, a discovery index (https://site), the address
of a folder in a browser, or a name of a configured registry. @VERSION, @RANGE or
@BRANCH may follow. A repository without a path takes its only skill, or lists
what it has; a path that ends in /* takes every skill below it.`,
		Example: `  skillpm add anthropics/skills//skills/pdf
  skillpm add obra/superpowers@^3 --skill brainstorming --skill writing-plans
  skillpm add git@example.com:team/skills.git//deploy@main --as team-deploy
  skillpm add ./skills/house`,
		Args: cobra.MinimumNArgs(1),
	}
	s.add(cmd)
	f.add(cmd)
	add.add(cmd)
	f.addTargets(cmd)
	return app.command(cmd, "add", func(ctx context.Context, args []string) (Result, error) {
		return app.runAdd(ctx, s, &f, &add, args)
	})
}

// addFlags are what add and install SRC have beyond installing.
type addFlags struct {
	opt      choose.AddOptions
	optional bool
}

func (a *addFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&a.opt.As, "as", "", "install under `KEY` instead of the skill's own name")
	fl.StringSliceVar(&a.opt.Skills, "skill", nil, "take the skill `NAME` of the repository")
	fl.BoolVar(&a.opt.All, "all", false, "take every skill of the repository")
	fl.BoolVar(&a.optional, "optional", false, "write use = \"optional\"")
}

// given reports whether any of the flags was set.
func (a *addFlags) given() bool {
	return a.opt.As != "" || a.opt.All || a.optional || len(a.opt.Skills) > 0
}

func (app *App) runAdd(ctx context.Context, s scope, f *installFlags, a *addFlags, args []string) (Result, error) {
	a.opt.InstallOptions = f.opt
	if a.optional {
		a.opt.Use = "optional"
	}
	if app.UI.CanAsk() && !app.flags.json {
		a.opt.Choose = app.chooseSkills
	}
	return app.with(world.Open, s, f.change, func(p *world.World) (Result, error) {
		c, err := project.Add(ctx, p, args, a.opt)
		return resultOr(c, err, wrapChange)
	})
}

// chooseSkills lets a person pick among the skills of a repository.
func (app *App) chooseSkills(repository string, paths []string) ([]string, error) {
	app.UI.Infof("%s holds %d skills:\n", repository, len(paths))
	for i, path := range paths {
		app.UI.Infof("%4d  %s\n", i+1, path)
	}
	answer := app.UI.Prompt("Which (numbers, or all)? ")
	if answer == "all" {
		return paths, nil
	}
	var picked []string
	for word := range strings.FieldsFuncSeq(answer, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(paths) {
			return nil, usageError("`%s` is no number from 1 to %d", word, len(paths))
		}
		picked = append(picked, paths[n-1])
	}
	if len(picked) == 0 {
		return nil, usageError("nothing was chosen")
	}
	return picked, nil
}

func newRemoveCmd(app *App) *cobra.Command {
	var s scope
	var f installFlags
	cmd := &cobra.Command{
		Use: "remove NAME…", Aliases: []string{"rm", "uninstall"}, Args: cobra.MinimumNArgs(1),
		Short: "Take skills out of skills.toml, the lock and the disk",
	}
	s.add(cmd)
	f.add(cmd)
	return app.command(cmd, "remove", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, f.change, func(p *world.World) (Result, error) {
			c, err := project.Remove(ctx, p, args, f.opt)
			return resultOr(c, err, wrapChange)
		})
	})
}

func newInstallCmd(app *App) *cobra.Command {
	var s scope
	var f installFlags
	var add addFlags
	cmd := &cobra.Command{
		Use: "install [SRC…]", Aliases: []string{"i"},
		Short: "Make the installed skills equal skills.lock",
		Long: `Make the installed skills equal skills.lock. The lock is resolved first where
skills.toml has left it behind, unless --frozen, which is the default where the
variable CI is set. With SRC it is the same as add.`,
	}
	s.add(cmd)
	f.add(cmd)
	add.add(cmd)
	f.addTargets(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.opt.Frozen, "frozen", false, "only read the lock; refuse if it is out of date")
	fl.BoolVar(&f.noLock, "no-frozen", false, "resolve although CI is set")
	fl.BoolVar(&f.opt.NoManifest, "no-manifest", false, "take skills.lock alone, without skills.toml")
	return app.command(cmd, "install", func(ctx context.Context, args []string) (Result, error) {
		if len(args) > 0 {
			return app.runAdd(ctx, s, &f, &add, args)
		}
		if add.given() {
			return nil, usageError("--as, --skill, --all and --optional go with a source")
		}
		if app.envTrue("CI") && !f.opt.Frozen && !f.noLock {
			f.opt.Frozen = true
			app.UI.Infof("CI is set: the lock is only read (--frozen); --no-frozen resolves\n")
		}
		open := opener(world.Open)
		if f.opt.NoManifest {
			open = world.OpenLock
		}
		return app.with(open, s, f.change, func(p *world.World) (Result, error) {
			c, err := project.Install(ctx, p, f.opt)
			return resultOr(c, err, wrapChange)
		})
	})
}
