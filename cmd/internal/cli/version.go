package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/lockfile"
)

type versionResult struct {
	Version     string `json:"version"`
	Commit      string `json:"commit,omitempty"`
	Go          string `json:"go"`
	Platform    string `json:"platform"`
	LockVersion int    `json:"lockVersion"`
}

// Text prints name and version.
func (v versionResult) Text(s *ui.Streams) {
	s.Printf("skillpm %s (%s, lock version %d)\n", v.Version, v.Platform, v.LockVersion)
}

func newVersionCmd(app *App) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs}
	return app.command(cmd, "version", func(context.Context, []string) (Result, error) {
		v := versionResult{Version: buildVersion(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, LockVersion: lockfile.Version}
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					v.Commit = s.Value
				}
			}
		}
		return v, nil
	})
}

// buildVersion is the module version the binary was built from, or devel.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
