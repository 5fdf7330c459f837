package world

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// Installed reads an installed skill: its tree as hashed now, a reader whose
// bytes are checked against that tree, and its signature file.
func (p *Local) Installed(ctx context.Context, place string) (Content, []byte, error) {
	tree, bundle, err := install.Tree(ctx, p.Layout(), p.InstallOptions(), place)
	if err != nil {
		return Content{}, nil, err
	}
	return OnDisk(p.Project, tree, place), bundle, nil
}

// OnDisk returns the content of an installed tree that was hashed before.
func OnDisk(p *workspace.Project, tree *skill.Tree, place string) Content {
	return checkedIn(filepath.Join(p.Layout().Root, filepath.FromSlash(place)), tree)
}

// readChecked reads one file below dir and compares it with what f says.
func readChecked(dir, file string, f skill.File) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, workspace.FileError(err)
	}
	defer root.Close()
	handle, err := regular.OpenIn(root, filepath.FromSlash(file))
	if err != nil {
		return nil, workspace.FileError(err)
	}
	defer handle.Close()
	data, err := io.ReadAll(io.LimitReader(handle, f.Size+1))
	if err != nil {
		return nil, workspace.FileError(err)
	}
	if sha256.Sum256(data) != f.SHA256 {
		return nil, diag.New(diag.VerifyChanged, "%s changed while it was read", filepath.Join(dir, filepath.FromSlash(file)))
	}
	return data, nil
}

// Content returns an entry's verified bytes without network: from the store,
// else as installed.
func (p *Local) Content(ctx context.Context, l *lockfile.Lock, e *lockfile.Entry) (Content, error) {
	if e.Source.Type == lockfile.TypePath {
		return p.pathContent(ctx, e)
	}
	if p.Cache.Has(e.Digest) {
		if tree, err := p.Cache.Manifest(e.Digest); err == nil {
			return p.Stored(tree), nil
		}
	}
	c, _, err := p.Installed(ctx, p.Place(l, e))
	if err == nil && c.Tree.Digest() == e.Digest {
		return c, nil
	}
	o, _ := WantOf(e)
	return Content{}, MissingOffline(o)
}

// pathContent reads a path skill where it is edited.
func (p *Local) pathContent(ctx context.Context, e *lockfile.Entry) (Content, error) {
	layout := p.Layout()
	dir := p.PathDir(e.Source.Path)
	layout.Root = filepath.Dir(dir)
	tree, _, err := install.Tree(ctx, layout, p.InstallOptions(), filepath.Base(dir))
	if err != nil {
		return Content{}, err
	}
	return checkedIn(dir, tree), nil
}

// ReadOnly returns an entry's bytes as locked: from where it is installed, else
// from the store. Unlike content it throws nothing away that is damaged, since
// the commands that runtimes call write nothing. A path skill is read as it is.
func (p *Local) ReadOnly(ctx context.Context, e *lockfile.Entry) (Content, error) {
	if e.Source.Type == lockfile.TypePath {
		return p.pathContent(ctx, e)
	}
	place := p.Place(p.Lock, e)
	c, _, err := p.Installed(ctx, place)
	if err == nil && c.Tree.Digest() == e.Digest {
		return c, nil
	}
	changed := err == nil
	if ctx.Err() != nil {
		return Content{}, ctx.Err()
	}
	if stored, ok := p.inStore(ctx, e.Digest); ok {
		if changed {
			p.Opt.Report(diag.Warn(diag.VerifyChanged, "`%s` on disk is not what is locked; this is about the locked content", e.Key).
				WithDetail("%s", place).WithHint("`skillpm diff %s` shows the change", e.Key))
		}
		return stored, nil
	}
	if changed {
		return Content{}, diag.New(diag.VerifyChanged, "`%s` on disk is not what is locked", e.Key).
			WithDetail("locked %s", e.Digest).WithDetail("found  %s in %s", c.Tree.Digest(), place).
			WithHint("`skillpm diff %s` shows the change", e.Key)
	}
	if code := diag.CodeOf(err); code == diag.PathUnsafe || code == diag.TreeTooLarge || code == diag.PermissionDenied {
		return Content{}, err // there is something, and it is no skill
	}
	return Content{}, diag.New(diag.VerifyMissing, "`%s` is neither installed nor in the cache", e.Key).
		WithDetail("%s", e.Digest).WithHint("`skillpm materialize %s` brings it", e.Key)
}

// inStore reads a tree of the store without touching it: one that is damaged
// counts as absent and stays where it is.
func (p *Local) inStore(ctx context.Context, d skill.Digest) (Content, bool) {
	if !p.Cache.Has(d) {
		return Content{}, false
	}
	dir := p.Cache.TreeDir(d)
	layout := install.Layout{Root: filepath.Dir(dir), State: workspace.StateDir}
	tree, _, err := install.Tree(ctx, layout, p.InstallOptions(), filepath.Base(dir))
	if err != nil || tree.Digest() != d {
		return Content{}, false
	}
	return checkedIn(dir, tree), true
}

// peek is inStore that believes the manifest of a tree for its names: no file is
// opened that nobody reads.
func (p *Local) peek(d skill.Digest) (Content, bool) {
	tree, ok := p.Cache.Peek(d)
	if !ok {
		return Content{}, false
	}
	return checkedIn(p.Cache.TreeDir(d), tree), true
}

// checkedIn is the content of a tree whose files lie below dir.
func checkedIn(dir string, tree *skill.Tree) Content {
	return Content{tree, func(file string) ([]byte, error) {
		f, _ := tree.File(file)
		return readChecked(dir, file, f)
	}}
}
