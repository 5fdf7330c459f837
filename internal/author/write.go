package author

import (
	"io/fs"
	"os"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// Create makes the directory dir with the SKILL.md of a new skill. Anything that is
// there but an empty directory refuses with install_conflict. shown is how messages
// call dir.
func Create(dir, shown string, name skill.Name) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return diag.New(diag.InstallConflict, "%s is there already and not empty", shown)
	} else if info, statErr := os.Lstat(dir); err != nil && statErr == nil && !info.IsDir() {
		return diag.New(diag.InstallConflict, "%s is there already and no directory", shown)
	}
	root, err := (&fsx.FS{}).MakeRoot(dir, fs.ModePerm)
	if err == nil {
		defer root.Close()
		err = root.WriteAtomic(parse.FileName, parse.Scaffold(name), 0o644)
	}
	return fsx.Diag(err, "make "+shown)
}

// Repair makes one repair of a SKILL.md that parse found: its name, its bytes or
// both. The file keeps its mode.
func Repair(f *parse.Fix) error {
	root, err := (&fsx.FS{}).OpenRoot(f.Dir)
	if err != nil {
		return fsx.Diag(err, "repair "+f.Label)
	}
	defer root.Close()
	info, err := root.Stat(f.From)
	if err == nil && f.From != f.To {
		err = root.Rename(f.From, f.To)
	}
	if err == nil && string(f.Before) != string(f.After) {
		err = root.WriteAtomic(f.To, f.After, info.Mode().Perm())
	}
	return fsx.Diag(err, "repair "+f.Label)
}
