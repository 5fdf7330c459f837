package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type searchResult struct{ *views.SearchResult }

// Text prints one skill a line, best first.
func (r searchResult) Text(s *ui.Streams) {
	rows := make([][]string, len(r.Hits))
	for i, h := range r.Hits {
		state := ""
		if h.Locked {
			state = "locked"
		}
		rows[i] = []string{diag.Escape(h.Name), diag.Escape(h.Source), state, diag.Escape(h.Description)}
	}
	if len(rows) > 0 {
		s.Printf("%s", ui.Table([]string{"NAME", "SOURCE", "", "DESCRIPTION"}, rows, s.Width))
	}
	places := len(r.Searched) + len(r.Skipped)
	switch {
	case places == 0:
		s.Infof("nothing to search: no registry is configured and skills.toml names no repository; `skillpm search TEXT owner/repo` searches one\n")
	default:
		s.Infof("%s in %d of %s\n", plural(len(r.Hits), "skill"), len(r.Searched), plural(places, "place"))
	}
}

func newSearchCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use: "search TEXT [SRC]…", Short: "Find skills in registries and known repositories", Args: cobra.MinimumNArgs(1),
		Long: `Find skills whose name or description holds every word of TEXT. The places
searched are the configured registries and the repositories that skills.toml and
the lock name, or those given as SRC. There is no index of the world: nothing is
asked of any other host. With --offline what earlier runs have read is searched.`,
		Example: `  skillpm search pdf
  skillpm search "release notes" anthropics/skills acme/skills//team`,
	}
	s.add(cmd)
	return app.command(cmd, "search", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.OpenDir, s, nil, func(p *world.World) (Result, error) {
			r, err := views.Search(ctx, p, args[0], args[1:])
			return resultOr(r, err, func(r *views.SearchResult) Result { return searchResult{r} })
		})
	})
}
