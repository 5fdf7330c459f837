package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type treeResult struct {
	Tree []views.TreeLine `json:"tree"`
}

// Text draws the tree.
func (r treeResult) Text(s *ui.Streams) {
	var open []bool // whether the level above still has siblings to come
	for _, l := range r.Tree {
		open = append(open[:min(l.Depth-1, len(open))], !l.Last)
		var b strings.Builder
		for _, more := range open[:len(open)-1] {
			if more {
				b.WriteString("│  ")
			} else {
				b.WriteString("   ")
			}
		}
		if l.Last {
			b.WriteString("└─ ")
		} else {
			b.WriteString("├─ ")
		}
		b.WriteString(diag.Escape(l.Name))
		if l.Version != "" {
			b.WriteString(" " + l.Version)
		}
		b.WriteString(s.Paint(ui.Subdued, "  "+diag.Escape(l.Requirement)))
		if l.Chain {
			b.WriteString(" (chain)")
		}
		if l.Repeated {
			b.WriteString(" (shown above)")
		}
		s.Printf("%s\n", b.String())
	}
	if len(r.Tree) == 0 {
		s.Infof("the project requires no skills\n")
	}
}

func newTreeCmd(app *App) *cobra.Command {
	var s scope
	cmd := &cobra.Command{Use: "tree", Short: "Draw which skill requires which", Args: cobra.NoArgs}
	s.add(cmd)
	return app.command(cmd, "tree", func(ctx context.Context, _ []string) (Result, error) {
		return app.with(world.OpenToShow, s, nil, func(p *world.World) (Result, error) {
			lines, err := views.Tree(p)
			if err != nil {
				return nil, err
			}
			return treeResult{lines}, nil
		})
	})
}

type whyResult struct {
	Name  string            `json:"name"`
	Paths [][]views.WhyStep `json:"paths"`
	Not   string            `json:"not,omitempty"`
}

// Text prints one path a line.
func (r whyResult) Text(s *ui.Streams) {
	for _, path := range r.Paths {
		parts := make([]string, len(path))
		for i, step := range path {
			parts[i] = diag.Escape(step.Name)
			if step.Version != "" {
				parts[i] += " " + step.Version
			}
		}
		s.Printf("%s\n", strings.Join(parts, " > "))
	}
	switch {
	case len(r.Paths) > 0:
	case r.Not != "":
		s.Infof("nothing in the lock excludes `%s` %s\n", diag.Escape(r.Name), diag.Escape(r.Not))
	}
}

func newWhyCmd(app *App) *cobra.Command {
	var s scope
	var not bool
	cmd := &cobra.Command{
		Use: "why NAME", Args: cobra.ExactArgs(1),
		Short: "Show what requires a skill, or with --not NAME@RANGE what keeps a version out",
	}
	s.add(cmd)
	cmd.Flags().BoolVar(&not, "not", false, "say which requirements exclude NAME@RANGE")
	return app.command(cmd, "why", func(ctx context.Context, args []string) (Result, error) {
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			if not {
				name, rng, _ := strings.Cut(args[0], "@")
				paths, err := views.WhyNot(ctx, p, name, rng)
				if err != nil {
					return nil, err
				}
				return whyResult{name, paths, rng}, nil
			}
			paths, err := views.Why(p, args[0])
			if err != nil {
				return nil, err
			}
			return whyResult{Name: args[0], Paths: paths}, nil
		})
	})
}
