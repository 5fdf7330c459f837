package project

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// place returns the slash path of an installed skill below the layout's root;
// without a lock, where it would be.
func (p *Project) place(l *lockfile.Lock, e *lockfile.Entry) string {
	if l == nil {
		return defaultTarget + "/" + e.Key
	}
	if _, direct := l.Root.Requires[e.Key]; !direct && p.config.Install.Expose == "direct" {
		return stateDir + "/skills/" + e.Key
	}
	targets := l.Targets
	if p.opt.Global {
		targets = homeTargets(targets)
	}
	if len(targets) == 0 {
		return defaultTarget + "/" + e.Key
	}
	return targets[0] + "/" + e.Key
}

// installed reads an installed skill: its tree as hashed now, a reader whose
// bytes are checked against that tree, and its signature file.
func (p *Project) installed(ctx context.Context, place string) (content, []byte, error) {
	tree, bundle, err := install.Tree(ctx, p.layout(), p.installOptions(), place)
	if err != nil {
		return content{}, nil, err
	}
	return p.onDisk(tree, place), bundle, nil
}

func (p *Project) onDisk(tree *skill.Tree, place string) content {
	dir := filepath.Join(p.layout().Root, filepath.FromSlash(place))
	return content{tree, func(file string) ([]byte, error) {
		f, _ := tree.File(file)
		return readChecked(dir, file, f)
	}}
}

// readChecked reads one file below dir and compares it with what f says.
func readChecked(dir, file string, f skill.File) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fileError(err)
	}
	defer root.Close()
	handle, err := regular.OpenIn(root, filepath.FromSlash(file))
	if err != nil {
		return nil, fileError(err)
	}
	defer handle.Close()
	data, err := io.ReadAll(io.LimitReader(handle, f.Size+1))
	if err != nil {
		return nil, fileError(err)
	}
	if sha256.Sum256(data) != f.SHA256 {
		return nil, diag.New(diag.VerifyChanged, "%s changed while it was read", filepath.Join(dir, filepath.FromSlash(file)))
	}
	return data, nil
}

// content returns an entry's verified bytes without network: from the store,
// else as installed.
func (p *Project) content(ctx context.Context, l *lockfile.Lock, e *lockfile.Entry) (content, error) {
	if e.Source.Type == lockfile.TypePath {
		return p.pathContent(ctx, e)
	}
	if p.cache.Has(e.Digest) {
		if tree, err := p.cache.Manifest(e.Digest); err == nil {
			return p.stored(tree), nil
		}
	}
	c, _, err := p.installed(ctx, p.place(l, e))
	if err == nil && c.tree.Digest() == e.Digest {
		return c, nil
	}
	o, _ := wantOf(e)
	return content{}, missingOffline(o)
}

// pathContent reads a path skill where it is edited.
func (p *Project) pathContent(ctx context.Context, e *lockfile.Entry) (content, error) {
	layout := p.layout()
	dir := p.pathDir(e.Source.Path)
	layout.Root = filepath.Dir(dir)
	tree, _, err := install.Tree(ctx, layout, p.installOptions(), filepath.Base(dir))
	if err != nil {
		return content{}, err
	}
	return content{tree, func(file string) ([]byte, error) {
		f, _ := tree.File(file)
		return readChecked(dir, file, f)
	}}, nil
}
