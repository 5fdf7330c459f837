package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type listResult struct{ *views.ListResult }

// Text prints the table of locked skills.
func (r listResult) Text(s *ui.Streams) {
	if len(r.Skills) == 0 {
		s.Infof("no skills are locked; `skillpm add SRC` adds one\n")
		return
	}
	rows := make([][]string, len(r.Skills))
	for i, k := range r.Skills {
		rows[i] = []string{diag.Escape(k.Key), orDash(k.Version), listState(k), orDash(k.State), diag.Escape(k.Description)}
	}
	s.Printf("%s", ui.Table([]string{"NAME", "VERSION", "STATE", "TRUST", "DESCRIPTION"}, rows, s.Width))
	for _, k := range r.Skills {
		if k.Signed && !s.Quiet {
			s.Infof("%s: %s\n", diag.Escape(k.Key), diag.Escape(k.Signature))
		}
	}
	s.Infof("%s, about %d tokens for names and descriptions\n", plural(len(r.Skills), "skill"), r.CatalogTokens)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return diag.Escape(s)
}

// listState is one word: where a skill stands.
func listState(k views.Listed) string {
	switch {
	case k.Retracted != "":
		return "retracted"
	case !k.Installed:
		return "missing"
	case k.Transitive:
		return "required"
	}
	return "direct"
}

func newListCmd(app *App) *cobra.Command {
	var s scope
	var f layersFlags
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "Show what is locked", Args: cobra.NoArgs}
	s.add(cmd)
	f.add(cmd)
	return app.command(cmd, "list", func(ctx context.Context, _ []string) (Result, error) {
		if err := f.check(); err != nil {
			return nil, err
		}
		return app.with(world.OpenToShow, s, nil, func(p *world.World) (Result, error) {
			if f.layers {
				return f.list(ctx, p.Project)
			}
			r, err := views.List(ctx, p.Local)
			return resultOr(r, err, func(r *views.ListResult) Result { return listResult{r} })
		})
	})
}

type infoResult struct{ *views.InfoResult }

// Text prints what is known of one skill, one fact a line.
func (r infoResult) Text(s *ui.Streams) {
	line := func(name, value string) {
		if value != "" {
			s.Printf("%-14s %s\n", name, diag.Escape(value))
		}
	}
	s.Printf("%s %s\n", s.Paint(ui.Strong, r.Key), diag.Escape(r.Version))
	if r.Description != "" {
		s.Printf("%s\n", diag.Escape(r.Description))
	}
	line("source", r.Source)
	line("tag", r.Tag)
	line("ref", r.Ref)
	line("commit", r.Commit)
	line("digest", string(r.Digest))
	line("signature", r.Signature)
	line("license", r.License)
	line("compatibility", r.Compatibility)
	line("allowed-tools", r.AllowedTools)
	line("retracted", r.Retracted)
	for _, name := range sortedNames(r.Requires) {
		line("requires", name+" "+r.Requires[name])
	}
	for _, name := range r.RequiredBy {
		line("required by", name)
	}
	for _, what := range r.Carries {
		line("carries", what)
	}
	line("files", fmt.Sprintf("%d, %s and a body of %s (about %d tokens)", r.Size.Files, bytesText(r.Size.Resources), bytesText(r.Size.Body), r.Tokens.Body))
	if r.Installed {
		line("installed", r.Path)
	}
}

func newInfoCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{Use: "info NAME | SRC", Short: "Describe a locked skill, or one at a source", Args: cobra.ExactArgs(1)}
	s.add(cmd)
	return app.command(cmd, "info", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.OpenDir, s, nil, func(p *world.World) (Result, error) {
			r, err := views.Info(ctx, p, args[0])
			return resultOr(r, err, func(r *views.InfoResult) Result { return infoResult{r} })
		})
	})
}

type versionsResult struct{ *views.VersionsResult }

// Text prints one version a line, highest first.
func (r versionsResult) Text(s *ui.Streams) {
	if len(r.Versions) == 0 {
		s.Infof("%s has no version tags; its default branch is %s\n", diag.Escape(r.Source), orDash(r.Branch))
	}
	rows := make([][]string, len(r.Versions))
	for i, v := range r.Versions {
		note := ""
		switch {
		case len(v.Ambiguous) > 0:
			note = "ambiguous"
		case v.Retracted != "":
			note = "retracted: " + v.Retracted
		case v.Hidden != "":
			note = v.Hidden
		case v.Locked:
			note = "locked"
		}
		rows[i] = []string{v.Version, diag.Escape(v.Tag), v.Commit[:min(12, len(v.Commit))], diag.Escape(note)}
	}
	if len(rows) > 0 {
		s.Printf("%s", ui.Table([]string{"VERSION", "TAG", "COMMIT", ""}, rows, s.Width))
	}
	for _, k := range r.Skills {
		s.Printf("%s\n", diag.Escape(k))
	}
}

func newVersionsCmd(app *App) *cobra.Command {
	cmd := &cobra.Command{Use: "versions SRC | NAME", Short: "List the versions of a skill", Args: cobra.ExactArgs(1)}
	return app.command(cmd, "versions", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.OpenDir, scope{}, nil, func(p *world.World) (Result, error) {
			r, err := views.Versions(ctx, p, args[0])
			return resultOr(r, err, func(r *views.VersionsResult) Result { return versionsResult{r} })
		})
	})
}
