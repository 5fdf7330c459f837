package cli

import (
	"github.com/skillpm/skillpm/internal/world"

	"context"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type cacheDir struct {
	Dir string `json:"dir"`
}

// Text prints the directory alone, for scripts.
func (r cacheDir) Text(s *ui.Streams) { s.Printf("%s\n", r.Dir) }

type cacheSize struct{ cache.Usage }

// Text prints what the cache holds.
func (r cacheSize) Text(s *ui.Streams) {
	s.Printf("%s, %s, %s\n", plural(r.Trees, "skill"), plural(r.Files, "file"), bytesText(r.TreeBytes))
	s.Printf("%s, %s\n", plural(r.Bundles, "signature"), bytesText(r.BundleBytes))
	s.Printf("index %s\n", bytesText(r.IndexBytes))
}

type cacheGC struct {
	cache.GCResult
	DryRun bool `json:"dryRun,omitempty"`
}

// Text prints what was removed.
func (r cacheGC) Text(s *ui.Streams) {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	s.Infof("%s %s, %s and %s of dead runs: %s\n", verb, plural(r.Trees, "skill"), plural(r.Bundles, "signature"), plural(r.Temporary, "leftover"), bytesText(r.Bytes))
}

type cacheVerify struct{ cache.VerifyResult }

// Text prints what was checked and what was thrown away.
func (r cacheVerify) Text(s *ui.Streams) {
	for _, d := range r.Damaged {
		s.Printf("damaged and thrown away: %s\n", d)
	}
	s.Infof("checked %s, %s, %s\n", plural(r.Trees, "skill"), plural(r.Files, "file"), bytesText(r.Bytes))
}

// defaultGCAge is how long an unused skill stays in the cache.
const defaultGCAge = "90d"

func newCacheCmd(app *App) *cobra.Command {
	cmd := &cobra.Command{Use: "cache", Short: "Look after the cache of downloaded skills"}
	use := func(f func(context.Context, *world.World) (Result, error)) runFunc {
		return func(ctx context.Context, _ []string) (Result, error) {
			return app.with(world.OpenCache, scope{}, nil, func(p *world.World) (Result, error) { return f(ctx, p) })
		}
	}
	var age string
	var dryRun bool
	gc := &cobra.Command{Use: "gc", Short: "Remove what was not used for a while", Args: cobra.NoArgs}
	gc.Flags().StringVar(&age, "age", defaultGCAge, "remove what was last used longer ago, as in 90d or 12h; 0 removes all")
	gc.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be removed")
	cmd.AddCommand(
		app.command(&cobra.Command{Use: "dir", Short: "Print the cache's directory", Args: cobra.NoArgs}, "cache-dir",
			use(func(_ context.Context, p *world.World) (Result, error) { return cacheDir{p.Cache.Dir()}, nil })),
		app.command(&cobra.Command{Use: "size", Short: "Say how much the cache holds", Args: cobra.NoArgs}, "cache-size",
			use(func(ctx context.Context, p *world.World) (Result, error) {
				u, err := p.Cache.Size(ctx)
				return cacheSize{u}, err
			})),
		app.command(gc, "cache-gc", use(func(ctx context.Context, p *world.World) (Result, error) {
			d, err := parseAge(age)
			if err != nil {
				return nil, err
			}
			r, err := p.Cache.GC(ctx, d, dryRun)
			return cacheGC{r, dryRun}, err
		})),
		app.command(&cobra.Command{Use: "verify", Short: "Hash everything and throw away what is damaged", Args: cobra.NoArgs}, "cache-verify",
			use(func(ctx context.Context, p *world.World) (Result, error) {
				r, err := p.Cache.Verify(ctx)
				if err == nil && len(r.Damaged) > 0 {
					err = shown(diag.New(diag.DigestMismatch, "%d skills in the cache were damaged; they are fetched anew when needed", len(r.Damaged)))
				}
				return cacheVerify{r}, err
			})),
	)
	return cmd
}
