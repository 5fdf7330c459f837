package cli

import (
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/internal/project"
)

func newLockCmd(app *App) *cobra.Command {
	var s scope
	var f installFlags
	var check, driver, merge bool
	cmd := &cobra.Command{
		Use: "lock", Short: "Resolve skills.toml into skills.lock",
		Long: `Resolve skills.toml into skills.lock and leave installed skills alone. A lock with
the conflict markers of a merge is solved anew, both sides as preferences.`,
	}
	s.add(cmd)
	f.add(cmd)
	cmd.Flags().BoolVar(&driver, "install-merge-driver", false, "make git merge skills.lock through skillpm in this repository")
	cmd.Flags().BoolVar(&merge, "merge", false, "act as git's merge driver on the files BASE OURS THEIRS")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 3 and say the difference if the lock is out of date")
	return app.command(cmd, "lock", func(ctx context.Context, args []string) (Result, error) {
		switch {
		case merge && len(args) == 3:
			return app.mergeLocks(args)
		case len(args) > 0 || merge:
			return nil, usageError("lock takes no arguments, --merge three files")
		case driver:
			return app.installMergeDriver(ctx)
		}
		open := opener(project.OpenConflicted)
		if check {
			open = world.Open
		}
		return app.with(open, s, f.change, func(p *world.World) (Result, error) {
			if check {
				if err := project.CheckLock(ctx, p); err != nil {
					return nil, err
				}
				return message{sentence: fmt.Sprintf("skills.lock is up to date: %s\n", plural(len(p.Lock.Skills), "skill"))}, nil
			}
			c, err := project.Lock(ctx, p, project.LockOptions{DryRun: f.opt.DryRun, Explain: f.opt.Explain, ResolveSubskills: f.opt.ResolveSubskills})
			return resultOr(c, err, wrapChange)
		})
	})
}

func (app *App) mergeLocks(files []string) (Result, error) {
	opt, err := app.options(false)
	if err != nil {
		return nil, err
	}
	return message{}, project.Merge(opt, files[0], files[1], files[2])
}

func (app *App) installMergeDriver(ctx context.Context) (Result, error) {
	opt, err := app.options(false)
	if err != nil {
		return nil, err
	}
	file, err := project.InstallMergeDriver(ctx, opt)
	if err != nil {
		return nil, err
	}
	return message{fmt.Sprintf("git merges skills.lock through skillpm here; commit %s\n", file)}, nil
}
