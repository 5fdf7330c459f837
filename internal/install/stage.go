package install

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

var errNoStore = errors.New("no store was given")

// staging is the directory in which one transaction is prepared:
//
//	new/<n>   what swap n puts in place: a directory or a link
//	old/<n>   what swap n took away
//	file/<n>  new content of file n;  file/<n>.old  what it replaces
type staging struct {
	site *site
	dir  string // slash path below the root

	mu      sync.Mutex
	done    int
	total   int
	damaged DamagedError
}

func (s *site) newStaging() (*staging, error) {
	g := &staging{site: s, dir: s.state(stageName)}
	for _, sub := range []string{"", "new", "old", "file"} {
		if err := s.root.Mkdir(path.Join(g.dir, sub), 0o755); err != nil {
			return nil, fsx.Diag(err, "prepare `"+g.dir+"`")
		}
	}
	return g, nil
}

func (g *staging) new(n int) string  { return path.Join(g.dir, "new", strconv.Itoa(n)) }
func (g *staging) old(n int) string  { return path.Join(g.dir, "old", strconv.Itoa(n)) }
func (g *staging) file(n int) string { return path.Join(g.dir, "file", strconv.Itoa(n)) }

// stage prepares the content of actions; the n-th goes to new/<n>. Modes that
// had to give way to a copy are changed in actions.
func (g *staging) stage(ctx context.Context, actions []Action) error {
	for _, a := range actions {
		if a.writes() {
			g.total++
		}
	}
	err := parallel(ctx, len(actions), func(ctx context.Context, i int) error {
		a := &actions[i]
		if !a.writes() {
			return nil
		}
		if err := g.stageOne(ctx, a, i); err != nil {
			return fsx.Diag(err, "prepare `"+a.Path()+"`")
		}
		g.progress()
		return nil
	})
	if err != nil {
		return err
	}
	if len(g.damaged.Trees)+len(g.damaged.Bundles) > 0 {
		for _, list := range []*[]skill.Digest{&g.damaged.Trees, &g.damaged.Bundles} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		return &g.damaged
	}
	return nil
}

func (g *staging) progress() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
	if g.site.opt.Progress != nil {
		g.site.opt.Progress(g.done, g.total)
	}
}

// lost notes that the store does not have, or no longer has, a tree or bundle.
func (g *staging) lost(list *[]skill.Digest, d skill.Digest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*list = append(*list, d)
}

func (g *staging) stageOne(ctx context.Context, a *Action, n int) error {
	if a.Mode == ModeLink || a.Mode == ModeStore {
		ok, err := g.stageLink(a, n)
		if ok || err != nil {
			return err
		}
	}
	if a.want.item.Path != "" {
		return g.stageSource(ctx, a, n)
	}
	return g.stageTree(ctx, a, n)
}

// stageLink makes the link; false means that links cannot be had here and a copy
// is to be made instead.
func (g *staging) stageLink(a *Action, n int) (bool, error) {
	if a.Mode == ModeStore {
		if _, err := g.site.opt.Store.Manifest(a.To); isMissing(err) {
			g.lost(&g.damaged.Trees, a.To)
			return true, nil
		}
	}
	err := g.site.root.Symlink(a.want.link, g.new(n))
	if err == nil {
		return true, nil
	}
	if !fsx.IsNoLinks(err) {
		return false, err
	}
	a.fallBack()
	return false, nil
}

// fallBack turns an action into a plain copy; the receipt records it.
func (a *Action) fallBack() {
	a.Mode, a.want.mode, a.want.link = ModeCopy, ModeCopy, ""
}

// stageTree copies, or links, a tree out of the store, hashing every byte.
func (g *staging) stageTree(ctx context.Context, a *Action, n int) error {
	if g.site.opt.Store == nil {
		return errNoStore
	}
	tree, err := g.site.opt.Store.Manifest(a.To)
	if isMissing(err) {
		g.lost(&g.damaged.Trees, a.To)
		return nil
	}
	if err != nil {
		return err
	}
	out, err := g.directory(g.new(n))
	if err != nil {
		return err
	}
	defer out.close()
	intact, err := g.copyTree(ctx, a, out, tree)
	if err != nil {
		return err
	}
	if !intact {
		g.lost(&g.damaged.Trees, a.To)
		return g.site.opt.Store.Discard(a.To)
	}
	return g.stageBundle(a, out)
}

// copyTree reports whether the store's tree was intact.
func (g *staging) copyTree(ctx context.Context, a *Action, out *directory, tree *skill.Tree) (bool, error) {
	for _, f := range tree.Files() {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		in, err := g.site.opt.Store.Open(a.To, f.Path)
		if isMissing(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		got, err := g.place(a, out, in, f)
		in.Close()
		if err != nil {
			return false, err
		}
		if got.SHA256 != f.SHA256 || got.Size != f.Size {
			return false, nil
		}
	}
	return true, nil
}

// place puts one file of a tree into out and returns what was read.
func (g *staging) place(a *Action, out *directory, in *os.File, f skill.File) (skill.File, error) {
	if a.Mode == ModeHardlink {
		got, err := hashOpen(in, f.Size)
		if err != nil || got != f.SHA256 {
			return skill.File{}, err
		}
		err = out.link(in.Name(), f.Path)
		if err == nil {
			g.site.copied.Add(1)
			return f, nil
		}
		if !fsx.IsNoLinks(err) {
			return skill.File{}, err
		}
		a.fallBack()
		if _, err := in.Seek(0, 0); err != nil {
			return skill.File{}, err
		}
	}
	g.site.copied.Add(1)
	return out.copy(in, f)
}

func hashOpen(in *os.File, limit int64) (sum [32]byte, err error) {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	sum, _, err = h.file(in, nil, limit)
	if _, ok := faultOf(err); ok {
		return [32]byte{}, nil // longer than the manifest says
	}
	return sum, err
}

func (g *staging) stageBundle(a *Action, out *directory) error {
	d := a.want.bundle()
	if d == "" {
		return nil
	}
	data, err := g.site.opt.Store.Bundle(d)
	if isMissing(err) {
		g.lost(&g.damaged.Bundles, d)
		return nil
	}
	if err != nil {
		return err
	}
	g.site.copied.Add(1)
	return out.root.WriteFile(skill.SignatureFile, data, 0o644)
}

// stageSource copies a path skill's directory. Its digest is what was copied,
// which may be newer than what the plan saw: it is being edited.
func (g *staging) stageSource(ctx context.Context, a *Action, n int) error {
	source, err := g.site.opt.FS.OpenRoot(a.want.source)
	if err != nil {
		return err
	}
	defer source.Close()
	entries, sig, err := g.site.walkSource(source)
	if err != nil {
		return g.site.sourceFault(a.Key, err)
	}
	out, err := g.directory(g.new(n))
	if err != nil {
		return err
	}
	defer out.close()
	var files []skill.File
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !e.info.Mode().IsRegular() {
			return g.site.sourceFault(a.Key, fault("`%s` is no regular file", e.path))
		}
		if e.path == skill.SignatureFile {
			continue
		}
		f, err := g.copySource(source, out, e)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	tree, err := skill.NewTree(files, g.site.opt.Limits)
	if err != nil {
		return diag.New(diag.PathUnsafe, "path skill `%s` cannot be copied", a.Key).WithCause(err)
	}
	a.To, a.want.item.Digest, a.want.sourceSig = tree.Digest(), tree.Digest(), sig.sum
	return nil
}

func (g *staging) copySource(source *fsx.Root, out *directory, e entry) (skill.File, error) {
	if err := skill.CheckPath(e.path); err != nil {
		return skill.File{}, err
	}
	in, err := source.Open(e.path)
	if err != nil {
		return skill.File{}, err
	}
	defer in.Close()
	g.site.copied.Add(1)
	return out.copy(in, skill.File{Path: e.path, Exec: e.info.Mode()&0o100 != 0, Size: g.site.opt.Limits.FileBytes})
}
