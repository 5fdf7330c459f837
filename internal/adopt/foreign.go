package adopt

import (
	"os"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/interop"
	"github.com/skillpm/skillpm/internal/workspace"
)

// foreign is what one tool's files in one directory list.
type foreign struct {
	dir string // absolute; path sources are relative to it
	*interop.Document
}

// readForeign reads the files, or the files of the directories, that args name;
// without any, or for "auto", those of the project, or of the user with -g. It
// only reads.
func readForeign(p *workspace.Project, args []string) ([]foreign, error) {
	if len(args) == 0 {
		args = []string{"auto"}
	}
	var out []foreign
	var faults diag.List
	for _, arg := range args {
		for _, place := range foreignPlaces(p, arg) {
			docs, err := readForeignPlace(p, place)
			faults = append(faults, diag.All(err)...)
			out = append(out, docs...)
		}
	}
	if len(faults) > 0 {
		return nil, faults.Err()
	}
	if len(out) == 0 {
		return nil, diag.New(diag.ImportNothing, "no file of another tool lists skills in %s", importPlaces(p, args)).
			WithHint("name the file; `skillpm import --help` lists those that are known")
	}
	return out, nil
}

// foreignPlaces returns the absolute paths that an argument stands for.
func foreignPlaces(p *workspace.Project, arg string) []string {
	switch {
	case arg != "auto" && filepath.IsAbs(arg):
		return []string{arg}
	case arg != "auto":
		return []string{filepath.Join(p.Opt.Dir, arg)}
	case !p.Opt.Global:
		return []string{p.Root}
	}
	places := []string{p.Opt.Home}
	if state := p.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		if dir := filepath.Join(state, "skills"); isDir(dir) {
			places = append(places, dir)
		}
	}
	return places
}

func importPlaces(p *workspace.Project, args []string) string {
	if args[0] == "auto" {
		return foreignPlaces(p, "auto")[0]
	}
	return args[0]
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func readForeignPlace(p *workspace.Project, place string) ([]foreign, error) {
	if _, err := os.Stat(place); err != nil {
		return nil, workspace.Usage("%s cannot be read", p.Display(place)).WithCause(err)
	}
	dir, name := place, ""
	if !isDir(place) {
		slashed, rest := interop.Locate(filepath.ToSlash(place))
		dir, name = filepath.FromSlash(slashed), rest
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, workspace.FileError(err)
	}
	defer root.Close()
	var docs []*interop.Document
	if name == "" {
		docs, err = interop.Detect(root.FS())
	} else {
		var doc *interop.Document
		if doc, err = interop.Read(root.FS(), name); err == nil {
			docs = []*interop.Document{doc}
		}
	}
	var out []foreign
	for _, d := range docs {
		out = append(out, foreign{dir, d})
	}
	return out, placed(p, dir, err)
}

// placed makes the files of findings readable from where the user is.
func placed(p *workspace.Project, dir string, err error) error {
	if err == nil {
		return nil
	}
	var list diag.List
	for _, e := range diag.All(err) {
		if e.File != "" {
			e.File = p.Display(filepath.Join(dir, filepath.FromSlash(e.File)))
		}
		list = append(list, e)
	}
	return list.Err()
}
