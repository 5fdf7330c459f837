package views

import (
	"os"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
)

// OnDiskAlready reports whether anything stands where the entry goes.
func OnDiskAlready(p *workspace.Project, e *lockfile.Entry) bool {
	_, err := os.Lstat(filepath.Join(p.Layout().Root, filepath.FromSlash(p.Place(p.Lock, e))))
	return err == nil
}
