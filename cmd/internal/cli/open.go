package cli

import (
	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"

	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
)

// options turns flags and environment into the use cases' options.
func (app *App) options(global bool) (workspace.Options, error) {
	home := app.env("HOME")
	if home == "" {
		home, _ = os.UserHomeDir() // none is told by whatever needs it
	}
	opt := workspace.Options{
		Dir: app.dir(), Global: global, Home: home, Environ: os.Environ(),
		ConfigDir: app.userDir("XDG_CONFIG_HOME", home, ".config"), SystemDir: systemDir(),
		CacheDir: app.flags.cacheDir, Offline: app.flags.offline, Report: app.report,
		Announce: func(m string) { app.UI.Infof("%s\n", m) }, Progress: newProgress(app.UI),
	}
	if opt.CacheDir == "" {
		opt.CacheDir = app.userDir("XDG_CACHE_HOME", home, ".cache")
	}
	abs, err := filepath.Abs(opt.CacheDir)
	if err != nil {
		return opt, err
	}
	opt.CacheDir = abs
	if info, err := os.Stat(opt.Dir); err != nil || !info.IsDir() {
		return opt, usageError("-C: %s is no directory", opt.Dir)
	}
	if app.UI.CanAsk() && !app.flags.json {
		opt.Ask = app.UI.Ask
	}
	if app.flags.verbose {
		opt.Fetched = app.fetched
	}
	return opt, nil
}

// userDir returns skillpm's directory below an XDG base, or below the system's
// own place for such files.
func (app *App) userDir(variable, home, below string) string {
	if base := app.env(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "skillpm")
	}
	switch runtime.GOOS {
	case "windows":
		if base := app.env("LocalAppData"); base != "" {
			return filepath.Join(base, "skillpm", strings.TrimPrefix(below, "."))
		}
	case "darwin":
		if below == ".cache" {
			return filepath.Join(home, "Library", "Caches", "skillpm")
		}
	}
	return filepath.Join(home, below, "skillpm")
}

func systemDir() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("ProgramData"), "skillpm")
	}
	return "/etc/skillpm"
}

func (app *App) fetched(e fetch.Event) {
	result := "ok"
	if e.Err != nil {
		result = e.Err.Error()
	}
	app.UI.Infof("%-5s %s in %s: %s\n", e.Call, e.Repo, e.Took.Round(time.Millisecond), diag.Escape(result))
}

// scope is the flag -g.
type scope struct{ global bool }

func (s *scope) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.global, "global", "g", false, "work on your own skills, for all projects")
}

// opener is one of project's ways to open a project.
type opener func(workspace.Options) (*world.World, error)

// with opens the project, runs f and closes it.
func (app *App) with(open opener, s scope, change func(*workspace.Options) error, f func(*world.World) (Result, error)) (Result, error) {
	opt, err := app.options(s.global)
	if err != nil {
		return nil, err
	}
	if change != nil {
		if err := change(&opt); err != nil {
			return nil, err
		}
	}
	result, err := app.opened(open, opt, f)
	for range overtakenRetries {
		if !errors.Is(err, apply.ErrOvertaken) {
			break
		}
		app.diagnostics = nil
		result, err = app.opened(open, opt, f)
	}
	return result, err
}

// overtakenRetries is how often a run begins anew because another one wrote the
// project's files first; a few runs at once all get their turn.
const overtakenRetries = 5

func (app *App) opened(open opener, opt workspace.Options, f func(*world.World) (Result, error)) (Result, error) {
	p, err := open(opt)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	app.sayWhere(p.Project)
	return f(p)
}

// sayWhere names the project that was found above the current directory, once.
func (app *App) sayWhere(p *workspace.Project) {
	if p.Elsewhere() && !app.saidWhere {
		app.saidWhere = true
		app.UI.Infof("project: %s\n", diag.Escape(p.Root))
	}
}

// resultOr keeps a nil pointer from becoming a non-nil Result.
func resultOr[T any](v *T, err error, wrap func(*T) Result) (Result, error) {
	if v == nil {
		return nil, err
	}
	return wrap(v), err
}

// plural returns "1 skill" or "3 skills".
func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bytesText returns a size for people: 512 B, 41.9 KB, 10.5 MB.
func bytesText(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, suffix := float64(n)/unit, 0
	for value >= unit && suffix < 3 {
		value /= unit
		suffix++
	}
	return fmt.Sprintf("%.1f %s", value, []string{"KB", "MB", "GB", "TB"}[suffix])
}
