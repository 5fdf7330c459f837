package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/workspace"

	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/diag"
)

// layersFlags are those of list --layers.
type layersFlags struct {
	layers bool
	opt    views.LayersOptions
}

func (f *layersFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.layers, "layers", false, "show every directory that agents read, and which skill of a name they load")
	fl.StringVar(&f.opt.Runtime, "runtime", "", "with --layers: look as the agent `NAME` does")
	fl.StringSliceVar(&f.opt.Packaged, "packaged", nil, "with --layers: a `DIR` of skills that came with the environment")
}

// check refuses flags that need --layers.
func (f *layersFlags) check() error {
	if !f.layers && (f.opt.Runtime != "" || len(f.opt.Packaged) > 0) {
		return usageError("--runtime and --packaged belong to --layers")
	}
	return nil
}

func (f *layersFlags) list(ctx context.Context, p *workspace.Project) (Result, error) {
	r, err := views.Layers(ctx, p, f.opt)
	return resultOr(r, err, func(r *views.LayersResult) Result { return layersResult{r} })
}

type layersResult struct{ *views.LayersResult }

// Text prints the directories with their skills, then the names in dispute.
func (r layersResult) Text(s *ui.Streams) {
	for _, d := range r.Layers {
		s.Printf("%s %s%s\n", s.Paint(ui.Strong, d.Layer), diag.Escape(d.Path), note(d.Target, " (skillpm installs here)"))
		if d.Fault != "" {
			s.Printf("  %s\n", diag.Escape(d.Fault))
		}
		for _, k := range d.Skills {
			s.Printf("  %-9s %s%s\n", k.State, diag.Escape(k.Name), layerNote(k))
		}
	}
	for _, c := range r.Conflicts {
		s.Printf("%s stands in %s: %s\n", s.Paint(ui.Strong, diag.Escape(c.Name)), plural(len(c.Places), "place"), escapeAll(c.Places))
		for _, choice := range c.Runtimes {
			s.Printf("  %-11s %s\n", choice.Runtime, choiceText(c, choice))
		}
	}
	s.Infof("%d found, %d shadowed, %d refused, %d past the mark of 32; about %d tokens\n",
		r.Found, r.Shadowed, r.Refused, len(r.PastCap), r.CatalogTokens)
}

func note(on bool, text string) string {
	if on {
		return text
	}
	return ""
}

// layerNote says what is special about a skill.
func layerNote(k views.LayerSkill) string {
	var notes []string
	switch k.State {
	case views.StateRefused:
		notes = append(notes, fmt.Sprintf("%s: %s", k.Code, diag.Escape(k.Reason)))
	case views.StateShadowed:
		notes = append(notes, "by "+diag.Escape(k.By))
	case views.StateSame:
		notes = append(notes, "as "+diag.Escape(k.By))
	case views.StateUnclear:
		notes = append(notes, "the runtime may load another of this name")
	}
	if !k.Locked && k.State != views.StateRefused {
		notes = append(notes, "in no lock")
	}
	if k.PastCap {
		notes = append(notes, "past the mark of 32")
	}
	if len(notes) == 0 {
		return ""
	}
	return "  " + strings.Join(notes, "; ")
}

// choiceText says what a runtime does with a name.
func choiceText(c views.Conflict, choice views.Choice) string {
	loads := escapeAll(choice.Loads)
	switch {
	case choice.Rule == agents.KeepsAll && len(choice.Loads) > 1:
		return "loads all: " + loads
	case choice.Rule == agents.Undetermined && len(choice.Loads) > 1:
		return "loads whichever it reads last: " + loads
	}
	text := "loads " + loads
	var left []string
	for _, place := range c.Places {
		if !slices.Contains(choice.Loads, place) {
			left = append(left, place)
		}
	}
	if len(left) > 0 {
		text += "; not seen or shadowed: " + escapeAll(left)
	}
	return text
}

func escapeAll(list []string) string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = diag.Escape(text)
	}
	return strings.Join(out, ", ")
}
