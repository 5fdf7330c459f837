package cli

import (
	"github.com/skillpm/skillpm/internal/mirroring"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
)

// mirrorHelp is said of all mirror commands.
const mirrorHelp = `A mirror is a copy of locked skills that needs no git host, in OCI form:

  dir:PATH                an image layout in a folder
  oci://HOST/REPOSITORY   any registry, with docker's credentials
  tar:FILE, tar:-         the layout as one archive
  https://HOST/PATH       a folder behind a web server, read only

LOCK is a skills.lock, a directory that is searched for them, or - for one on
standard input; none means this project's own.`

// mirrorFlags are what the mirror commands share.
type mirrorFlags struct {
	opt    mirroring.MirrorOptions
	places mirroring.LockPlaces
	jobs   int
}

func (f *mirrorFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.opt.PlainHTTP, "plain-http", false, "speak http to hosts other than this machine")
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "work on `N` items at once (default 8)")
}

func (f *mirrorFlags) addLocks(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.places.From, "from-file", "", "read the LOCKs from `FILE`, one a line; - is standard input")
}

// run opens a project (an empty one outside of any) and the streams.
func (f *mirrorFlags) run(app *App, do func(*world.World) (Result, error)) (Result, error) {
	f.opt.Stdin, f.opt.Stdout, f.places.Stdin = app.UI.In, app.UI.Out, app.UI.In
	f.opt.Progress = app.mirrorProgress
	jobs := func(opt *workspace.Options) error {
		opt.Jobs = f.jobs
		return nil
	}
	return app.with(world.OpenDir, scope{}, jobs, do)
}

// runLocks is run with the locks read; the arguments from the n-th on are places.
func (f *mirrorFlags) runLocks(app *App, args []string, n int, do func(*world.World, []mirroring.NamedLock) (Result, error)) (Result, error) {
	f.places.Places = args[n:]
	return f.run(app, func(p *world.World) (Result, error) {
		locks, err := mirroring.Locks(p.Project, f.places)
		if err != nil {
			return nil, err
		}
		return do(p, locks)
	})
}

func (app *App) mirrorProgress(o oci.Outcome, done, total int) {
	app.UI.Status(fmt.Sprintf("%d of %d  %s %s", done, total, o.Label, o.State))
}

func newMirrorCmd(app *App) *cobra.Command {
	cmd := &cobra.Command{Use: "mirror", Short: "Copies of locked skills that need no git host", Long: mirrorHelp}
	cmd.AddCommand(newMirrorPushCmd(app), newMirrorVerifyCmd(app), newMirrorListCmd(app), newMirrorCopyCmd(app), newMirrorGCCmd(app))
	return cmd
}

func newMirrorPushCmd(app *App) *cobra.Command {
	var f mirrorFlags
	cmd := &cobra.Command{
		Use: "push DEST [LOCK…]", Aliases: []string{"prewarm"}, Args: cobra.MinimumNArgs(1),
		Short: "Store what locks need in a mirror",
		Long: mirrorHelp + `

What is there already is left alone, so a push that was interrupted is resumed by
running it again. Each item is done, present or failed; exit status 2 says that
some failed.`,
		Example: `  skillpm mirror push dir:/srv/mirror
  skillpm mirror push oci://registry.example/skills projects/
  skillpm mirror push tar:- skills.lock | ssh gate 'cat > skills.tar'`,
	}
	f.add(cmd)
	f.addLocks(cmd)
	cmd.Flags().BoolVar(&f.opt.Replace, "replace", false, "store again what is present, to repair a damaged mirror")
	cmd.Flags().BoolVar(&f.opt.Versions, "with-versions", false, "carry tag listings and the versions in range, so that add, update and lock work from the mirror")
	return app.command(cmd, "mirror-push", func(ctx context.Context, args []string) (Result, error) {
		if err := app.freeStdout(args[0]); err != nil {
			return nil, err
		}
		return f.runLocks(app, args, 1, func(p *world.World, locks []mirroring.NamedLock) (Result, error) {
			return wrapMirror(mirroring.MirrorPush(ctx, p, args[0], locks, f.opt))
		})
	})
}

// freeStdout refuses the two things that cannot share standard output.
func (app *App) freeStdout(dest string) error {
	if dest == "tar:-" && app.flags.json {
		return usageError("the archive goes to standard output, so --json cannot").WithHint("write the archive to a file: tar:FILE")
	}
	if dest == "tar:-" && app.UI.OutTTY {
		return usageError("an archive is not written to a terminal").WithHint("pipe it on, or write tar:FILE")
	}
	return nil
}

func newMirrorVerifyCmd(app *App) *cobra.Command {
	var f mirrorFlags
	cmd := &cobra.Command{
		Use: "verify MIRROR [LOCK…]", Args: cobra.MinimumNArgs(1),
		Short: "Prove that a mirror holds everything that locks need",
		Long:  mirrorHelp + "\n\nEvery item is read and proven byte by byte, unless --quick.",
	}
	f.add(cmd)
	f.addLocks(cmd)
	cmd.Flags().BoolVar(&f.opt.Quick, "quick", false, "ask for presence only")
	return app.command(cmd, "mirror-verify", func(ctx context.Context, args []string) (Result, error) {
		return f.runLocks(app, args, 1, func(p *world.World, locks []mirroring.NamedLock) (Result, error) {
			return wrapMirror(mirroring.MirrorVerify(ctx, p.Project, args[0], locks, f.opt))
		})
	})
}

func newMirrorListCmd(app *App) *cobra.Command {
	var f mirrorFlags
	var sizes bool
	cmd := &cobra.Command{
		Use: "list MIRROR", Aliases: []string{"ls"}, Args: cobra.ExactArgs(1),
		Short: "List what a mirror holds", Long: mirrorHelp,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&sizes, "size", false, "say what each item takes (a request of a registry each)")
	return app.command(cmd, "mirror-list", func(ctx context.Context, args []string) (Result, error) {
		return f.run(app, func(p *world.World) (Result, error) {
			r, err := mirroring.MirrorList(ctx, p.Project, args[0], sizes, f.opt)
			return resultOr(r, err, func(r *mirroring.MirrorResult) Result { return mirrorListing{r, sizes} })
		})
	})
}

func newMirrorCopyCmd(app *App) *cobra.Command {
	var f mirrorFlags
	cmd := &cobra.Command{
		Use: "copy SRC DEST [LOCK…]", Args: cobra.MinimumNArgs(2),
		Short: "Copy a mirror, or what locks need of it, verifying on the way",
		Long:  mirrorHelp + "\n\nWithout LOCK everything that SRC holds is copied.",
	}
	f.add(cmd)
	f.addLocks(cmd)
	cmd.Flags().BoolVar(&f.opt.Replace, "replace", false, "store again what is present")
	return app.command(cmd, "mirror-copy", func(ctx context.Context, args []string) (Result, error) {
		if err := app.freeStdout(args[1]); err != nil {
			return nil, err
		}
		copyAll := func(p *world.World, locks []mirroring.NamedLock) (Result, error) {
			return wrapMirror(mirroring.MirrorCopy(ctx, p.Project, args[0], args[1], locks, f.opt))
		}
		if len(args) == 2 && f.places.From == "" {
			return f.run(app, func(p *world.World) (Result, error) { return copyAll(p, nil) })
		}
		return f.runLocks(app, args, 2, copyAll)
	})
}

func newMirrorGCCmd(app *App) *cobra.Command {
	var f mirrorFlags
	var keep []string
	cmd := &cobra.Command{
		Use: "gc MIRROR --keep LOCK…", Args: cobra.MinimumNArgs(1),
		Short: "Remove what no lock needs any more",
		Long:  mirrorHelp + "\n\nLocks may also follow as arguments. Content that is not skillpm's is left alone.",
	}
	f.add(cmd)
	f.addLocks(cmd)
	cmd.Flags().StringSliceVar(&keep, "keep", nil, "keep what `LOCK` needs")
	cmd.Flags().BoolVar(&f.opt.DryRun, "dry-run", false, "say what would be removed")
	return app.command(cmd, "mirror-gc", func(ctx context.Context, args []string) (Result, error) {
		if len(args) == 1 && len(keep) == 0 && f.places.From == "" {
			return nil, usageError("a collection needs the locks to keep").WithHint("skillpm mirror gc %s --keep skills.lock", args[0])
		}
		return f.runLocks(app, append(args, keep...), 1, func(p *world.World, locks []mirroring.NamedLock) (Result, error) {
			r, err := mirroring.MirrorGC(ctx, p.Project, args[0], locks, f.opt)
			return resultOr(r, err, func(r *mirroring.MirrorGCResult) Result { return mirrorGC{r} })
		})
	})
}

type mirrorResult struct{ *mirroring.MirrorResult }

func wrapMirror(r *mirroring.MirrorResult, err error) (Result, error) {
	return resultOr(r, err, func(r *mirroring.MirrorResult) Result { return mirrorResult{r} })
}

// Text tells of every item that is not as it was, then counts. An archive may be
// on Out, so all goes to Err.
func (r mirrorResult) Text(s *ui.Streams) {
	rows := 0
	for _, it := range r.Items {
		if it.State != oci.Done {
			continue
		}
		if rows++; rows <= maxRows {
			s.Infof("%s %s  %s %s\n", s.Paint(ui.Good, "+"), diag.Escape(it.Label), it.Kind, s.Paint(ui.Subdued, it.Digest.Short()))
		}
	}
	if rows > maxRows {
		s.Infof("… and %d more\n", rows-maxRows)
	}
	s.Infof("%s: %s\n", r.Mirror, r.counts())
	if r.Archive != "" {
		s.Infof("archive %s, %s\n", r.Archive, bytesText(r.Size))
	}
}

func (r mirrorResult) counts() string {
	text := plural(len(r.Items), "item")
	for _, c := range []struct {
		n    int
		word string
	}{{r.Done, "done"}, {r.Present, "present"}, {r.Failed, "failed"}, {r.Missing, "missing"}, {r.Invalid, "invalid"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.word)
		}
	}
	if r.Blobs > 0 {
		text += fmt.Sprintf("; %s, %s moved", plural(r.Blobs, "blob"), bytesText(r.Bytes))
	}
	return text
}

type mirrorListing struct {
	*mirroring.MirrorResult
	sizes bool
}

// Text prints one item a line: kind, digest, and size if asked for.
func (r mirrorListing) Text(s *ui.Streams) {
	for _, it := range r.Items {
		if r.sizes {
			s.Printf("%-8s %s %d\n", it.Kind, it.Digest, it.Bytes)
			continue
		}
		s.Printf("%-8s %s\n", it.Kind, it.Digest)
	}
	s.Infof("%s: %s\n", r.Mirror, plural(len(r.Items), "item"))
}

type mirrorGC struct{ *mirroring.MirrorGCResult }

// Text prints what went.
func (r mirrorGC) Text(s *ui.Streams) {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	for _, it := range r.Removed {
		s.Printf("%-8s %s\n", it.Kind, it.Digest)
	}
	s.Infof("%s: %s %s and %s, %s\n", r.Mirror, verb, plural(len(r.Removed), "item"), plural(r.Blobs, "blob"), bytesText(r.Bytes))
}
