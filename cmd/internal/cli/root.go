package cli

import (
	"github.com/spf13/cobra"
)

// longHelp is what `skillpm help` says first.
const longHelp = `skillpm installs Agent Skills (directories with a SKILL.md) from git, pinned
to the byte: versions, dependencies, a lockfile that can be verified, signatures.

  skillpm init                                start a project
  skillpm add anthropics/skills//skills/pdf   add a skill and install it
  skillpm install                             make the disk equal skills.lock
  skillpm verify                              prove that it still is`

func newRoot(app *App) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "skillpm",
		Short:         "The package manager for Agent Skills",
		Long:          longHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return app.unknownCommand(cmd, args[0])
			}
			if version {
				return newVersionCmd(app).RunE(cmd, args)
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return app.applyGlobals() },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	app.globalFlags(root)
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%s", firstLower(err.Error())).WithHint("`%s --help` lists its flags", cmd.CommandPath())
	})
	root.AddCommand(commands(app)...)
	addCompletion(app, root)
	root.SetHelpCommand(newHelpCmd(app, root))
	return root
}

func (app *App) unknownCommand(cmd *cobra.Command, name string) error {
	err := usageError("`%s` is no command of skillpm", name).WithHint("`skillpm help` lists the commands")
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		err = err.WithHint("did you mean `skillpm %s`?", near[0])
	}
	return err
}

func (app *App) globalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	g := &app.flags
	f.StringVarP(&g.dir, "directory", "C", app.env("SKILLPM_DIRECTORY"), "work in `DIR`")
	f.BoolVar(&g.json, "json", app.envTrue("SKILLPM_JSON"), "print one JSON object")
	f.BoolVarP(&g.quiet, "quiet", "q", app.envTrue("SKILLPM_QUIET"), "print data and errors only")
	f.BoolVarP(&g.verbose, "verbose", "v", app.envTrue("SKILLPM_VERBOSE"), "say what is done on the network and on disk")
	f.StringVar(&g.color, "color", envOr(app.env("SKILLPM_COLOR"), "auto"), "colour: auto, always or never")
	f.BoolVar(&g.noProgress, "no-progress", app.envTrue("SKILLPM_NO_PROGRESS"), "no progress line")
	f.BoolVar(&g.offline, "offline", app.envTrue("SKILLPM_OFFLINE"), "use no network")
	f.StringVar(&g.cacheDir, "cache-dir", app.env("SKILLPM_CACHE_DIR"), "keep the cache in `DIR`")
}

func envOr(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// applyGlobals turns the parsed flags into the streams' settings.
func (app *App) applyGlobals() error {
	switch app.flags.color {
	case "always":
		app.UI.Color = true
	case "never":
		app.UI.Color = false
	case "auto":
		_, noColor := app.LookupEnv("NO_COLOR")
		app.UI.Color = app.UI.ErrTTY && app.UI.OutTTY && !noColor && app.env("TERM") != "dumb"
	default:
		return usageError("--color is auto, always or never, not `%s`", app.flags.color)
	}
	app.UI.Quiet = app.flags.quiet || app.flags.json
	app.UI.Progress = !app.flags.noProgress && !app.flags.json && app.env("TERM") != "dumb"
	return nil
}
