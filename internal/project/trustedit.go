package project

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/flock"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/signing"
)

// PolicyFile is a trust policy's text and where it stands.
type PolicyFile struct {
	Path  string
	Data  []byte // nil where the file is still to be made
	Scope signing.Scope
}

// EditPolicy replaces the text of a trust policy by what edit makes of it: of the
// user's own file, or of the project's skills.toml. It holds the lock that every
// other writer of the file holds, from reading to writing, so that no edit is
// lost; edit is called once, under the lock, and an error of it writes nothing.
// Errors: those of edit, project_locked, manifest_missing, permission_denied,
// disk_full, disk_failed.
func EditPolicy(ctx context.Context, opt workspace.Options, user bool, edit func(PolicyFile) ([]byte, error)) error {
	if user {
		return editUserPolicy(ctx, opt, edit)
	}
	p, err := world.Open(opt)
	if err != nil {
		return err
	}
	defer p.Close()
	s, err := install.Begin(ctx, p.Layout(), p.InstallOptions())
	if err != nil {
		return err
	}
	err = editPolicy(p.Project, s, edit)
	return errors.Join(err, s.Close())
}

func editPolicy(p *workspace.Project, s *install.Session, edit func(PolicyFile) ([]byte, error)) error {
	data, err := workspace.ReadBounded(p.ManifestPath()) // what was read before the lock may be old
	if err != nil {
		return err
	}
	after, err := edit(PolicyFile{p.ManifestPath(), data, signing.ScopeProject})
	if err != nil || slices.Equal(after, data) {
		return err
	}
	return s.Write(install.FileChange{Path: p.ManifestPath(), Data: after})
}

// userLockFile keeps two runs out of the user's own configuration.
const userLockFile = ".lock"

func editUserPolicy(ctx context.Context, opt workspace.Options, edit func(PolicyFile) ([]byte, error)) error {
	root, err := (*fsx.FS)(nil).MakeRoot(opt.ConfigDir, 0o755)
	if err != nil {
		return fsx.Diag(err, "make `"+opt.ConfigDir+"`")
	}
	defer root.Close()
	lock, err := flock.Acquire(ctx, filepath.Join(opt.ConfigDir, userLockFile), flock.Options{
		Wait: install.DefaultWait, Announce: opt.Announce, What: "your trust rules",
	})
	if err != nil {
		return err
	}
	defer lock.Release()
	f := PolicyFile{Path: filepath.Join(opt.ConfigDir, workspace.TrustFile), Scope: signing.ScopeUser}
	if f.Data, err = workspace.ReadBounded(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.PermissionDenied, "the trust rules cannot be read").At(f.Path, 0, 0).WithCause(err)
	}
	after, err := edit(f)
	if err != nil || f.Data != nil && slices.Equal(after, f.Data) {
		return err
	}
	return fsx.Diag(root.WriteAtomic(workspace.TrustFile, after, 0o644), "write the trust rules")
}
