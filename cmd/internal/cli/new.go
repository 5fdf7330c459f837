package cli

import (
	"context"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/author"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

type newResult struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Text says what to do next.
func (r newResult) Text(s *ui.Streams) {
	s.Printf("%s\n", path.Join(r.Path, parse.FileName))
	s.Infof("next: write the description and the steps, then `skillpm validate %s`\n", r.Path)
}

func newNewCmd(app *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Start a skill: a directory with a SKILL.md to fill in", Args: cobra.ExactArgs(1),
		Long: `Start a skill: make the directory NAME with a SKILL.md that has no problems,
only notes for what is to be written. NAME may be a path; its last element is the
skill's name.`,
	}
	return app.command(cmd, "new", func(_ context.Context, args []string) (Result, error) {
		return app.newSkill(args[0])
	})
}

func (app *App) newSkill(arg string) (Result, error) {
	rel := path.Clean(filepath.ToSlash(arg))
	name, err := skill.ParseName(path.Base(rel))
	if err != nil {
		return nil, diag.All(err)
	}
	dir := filepath.Join(app.dir(), filepath.FromSlash(rel))
	if filepath.IsAbs(arg) {
		dir = filepath.Clean(arg)
	}
	if err := author.Create(dir, rel, name); err != nil {
		return nil, err
	}
	return newResult{Name: string(name), Path: rel}, nil
}
