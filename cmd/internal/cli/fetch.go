package cli

import (
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"

	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/project"
)

type fetchResult struct{ *project.FetchResult }

// Text counts, and names what failed.
func (r fetchResult) Text(s *ui.Streams) {
	counts := map[string]int{}
	for _, k := range r.Skills {
		counts[k.State]++
	}
	s.Infof("%s of %s: %d fetched, %d in the cache already, %d failed\n",
		plural(len(r.Skills), "skill"), plural(r.Locks, "lock"), counts["fetched"], counts["present"], counts["failed"])
}

func newFetchCmd(app *App) *cobra.Command {
	var mirrors []string
	var jobs int
	cmd := &cobra.Command{
		Use: "fetch [LOCK…]", Short: "Warm the cache for one or many locks",
		Long: `Bring every skill that the locks name into the cache, and touch no project: for
container builds, and before going offline. Without LOCK it is the project's own.`,
	}
	cmd.Flags().StringArrayVar(&mirrors, "mirror", nil, "read `MIRROR` first: dir:PATH, tar:FILE, oci://… or https://…")
	cmd.Flags().IntVar(&jobs, "jobs", 0, "work on `N` repositories at once (default 8)")
	return app.command(cmd, "fetch", func(ctx context.Context, args []string) (Result, error) {
		open := opener(world.Open)
		if len(args) > 0 {
			open = world.OpenDir
		}
		change := func(opt *workspace.Options) error {
			opt.Mirrors, opt.Jobs = mirrors, jobs
			return nil
		}
		return app.with(open, scope{}, change, func(p *world.World) (Result, error) {
			r, err := project.Fetch(ctx, p, args)
			return resultOr(r, err, func(r *project.FetchResult) Result { return fetchResult{r} })
		})
	})
}
