package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/derive"
)

type cardResult struct{ *derive.Card }

// Text prints the card as a person reads it.
func (r cardResult) Text(s *ui.Streams) {
	s.Printf("%s %s\n", s.Paint(ui.Strong, diag.Escape(r.SkillID)), diag.Escape(r.Version))
	s.Printf("%s\n", diag.Escape(r.Description))
	line := func(name, value string) {
		if value != "" {
			s.Printf("%-14s %s\n", name, diag.Escape(value))
		}
	}
	line("keywords", strings.Join(r.Keywords, ", "))
	line("compatibility", r.Compatibility)
	line("asks for tools", r.Declares.AllowedTools)
	line("also declares", strings.Join(r.Declares.Other, ", "))
	for _, n := range r.CapabilityNeeds {
		line("may need", fmt.Sprintf("%s (%.2f)", n.Kind, n.Confidence))
	}
	for _, script := range r.Scripts {
		line("script", script.Path+" "+script.Interpreter)
	}
	for _, f := range r.Fetches {
		line("would fetch", fmt.Sprintf("%s (line %d)", f.Command, f.Line))
	}
	line("tokens", fmt.Sprintf("%d in the catalogue, %d in the body, %d in resources", r.Tokens.Metadata, r.Tokens.Body, r.Tokens.Resources))
	line("checksum", string(r.Checksum))
}

func newCardCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use: "card NAME", Short: "Print what a model sees of a skill before it reads it", Args: cobra.ExactArgs(1),
		Long: `Print the decision card of a locked skill: name, description, an excerpt, what it
declares and seems to need. It is made from the bytes of the locked digest, writes
nothing and grants nothing.`,
	}
	s.add(cmd)
	return app.command(cmd, "card", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			c, err := views.Card(ctx, p.Local, args[0])
			return resultOr(c, err, func(c *derive.Card) Result { return cardResult{c} })
		})
	})
}

type resourcesResult struct{ *views.ResourcesResult }

// Text prints one file a line.
func (r resourcesResult) Text(s *ui.Streams) {
	if len(r.Resources) == 0 {
		s.Infof("`%s` has no file besides its SKILL.md\n", diag.Escape(r.Key))
		return
	}
	rows := make([][]string, len(r.Resources))
	for i, f := range r.Resources {
		rows[i] = []string{string(f.Kind), bytesText(f.Size), diag.Escape(f.Path), diag.Escape(f.Summary)}
	}
	s.Printf("%s", ui.Table([]string{"KIND", "SIZE", "PATH", "SUMMARY"}, rows, s.Width))
}

func newResourcesCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use: "resources NAME", Short: "List the files of a skill besides SKILL.md", Args: cobra.ExactArgs(1),
	}
	s.add(cmd)
	return app.command(cmd, "resources", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			r, err := views.Resources(ctx, p.Local, args[0])
			return resultOr(r, err, func(r *views.ResourcesResult) Result { return resourcesResult{r} })
		})
	})
}

type needsResult struct{ *views.NeedsResult }

// Text prints each need with the lines that suggest it.
func (r needsResult) Text(s *ui.Streams) {
	if len(r.Needs) == 0 {
		s.Infof("nothing in `%s` suggests a capability\n", diag.Escape(r.Key))
	}
	for _, n := range r.Needs {
		s.Printf("%s %.2f\n", s.Paint(ui.Strong, string(n.Kind)), n.Confidence)
		for _, e := range n.Evidence {
			at := diag.Escape(e.Path)
			if e.Line > 0 {
				at += fmt.Sprintf(":%d", e.Line)
			}
			s.Printf("  %s  %s (%s)\n", at, diag.Escape(e.Match), diag.Escape(e.Field))
		}
		if more := n.EvidenceTotal - len(n.Evidence); more > 0 {
			s.Printf("  and %d more\n", more)
		}
	}
	for _, f := range r.Fetches {
		s.Printf("%s would fetch at run time: %s:%d\n", diag.Escape(f.Command), diag.Escape(f.Path), f.Line)
	}
	s.Infof("this is advice: the host's own policy decides\n")
}

func newNeedsCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use: "needs NAME", Short: "Say which capabilities a skill's text asks for", Args: cobra.ExactArgs(1),
		Long: `Say which of the capabilities web_search, web_browse, workspace_write, script_run,
shell and mcp a locked skill seems to need, with the lines that say so and a
confidence from 0 to 1. It is evidence for a host's policy and never a grant.`,
	}
	s.add(cmd)
	return app.command(cmd, "needs", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			r, err := views.Needs(ctx, p.Local, args[0])
			return resultOr(r, err, func(r *views.NeedsResult) Result { return needsResult{r} })
		})
	})
}
