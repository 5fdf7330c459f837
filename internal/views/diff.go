package views

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// ContentChange says how a skill's files differ between two locks.
type ContentChange struct {
	Key     string   `json:"key"`
	Files   []string `json:"files"`             // "+ path", "- path", "~ path"
	Scripts []string `json:"scripts,omitempty"` // of these, what can be executed
	// ToolsBefore and ToolsAfter are the texts of allowed-tools.
	ToolsBefore  string `json:"toolsBefore,omitempty"`
	ToolsAfter   string `json:"toolsAfter,omitempty"`
	SignerBefore string `json:"signerBefore,omitempty"`
	SignerAfter  string `json:"signerAfter,omitempty"`
	// Same says that the versions differ and the files do not.
	Same bool `json:"same,omitempty"`
}

// ContentChanges compares every skill that both locks have at different content.
// Old bytes that are no longer at hand are told by name only.
func ContentChanges(ctx context.Context, p *world.Local, old, new *lockfile.Lock) ([]ContentChange, error) {
	out := []ContentChange{}
	if old == nil {
		return out, nil
	}
	for _, e := range new.Skills {
		o := old.Get(e.Key)
		if o == nil || e.Digest == "" || o.Digest == "" || o.Digest == e.Digest && o.Version == e.Version {
			continue
		}
		c := ContentChange{
			Key: e.Key, Files: []string{}, ToolsBefore: o.AllowedTools, ToolsAfter: e.AllowedTools,
			SignerBefore: o.Signature.Signer(), SignerAfter: e.Signature.Signer(), Same: o.Digest == e.Digest,
		}
		if !c.Same {
			before, err := p.Content(ctx, old, o)
			if err == nil {
				after, err := p.Content(ctx, new, e)
				if err != nil {
					return nil, err
				}
				c.compare(before.Tree, after.Tree)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

func (c *ContentChange) compare(before, after *skill.Tree) {
	for _, f := range after.Files() {
		o, ok := before.File(f.Path)
		switch {
		case !ok:
			c.add("+ ", f)
		case o.SHA256 != f.SHA256 || o.Exec != f.Exec:
			c.add("~ ", f)
		}
	}
	for _, f := range before.Files() {
		if _, ok := after.File(f.Path); !ok {
			c.Files = append(c.Files, "- "+f.Path)
		}
	}
}

func (c *ContentChange) add(mark string, f skill.File) {
	c.Files = append(c.Files, mark+f.Path)
	if f.Exec || decide.ScriptSuffix[path.Ext(f.Path)] {
		c.Scripts = append(c.Scripts, f.Path)
	}
}

// DiffResult is the difference of one skill's files.
type DiffResult struct {
	Key   string     `json:"key"`
	From  string     `json:"from"`
	To    string     `json:"to"`
	Files []DiffFile `json:"files"`
}

// DiffFile is one file that differs. Text is a unified diff, "" for binary or
// large files.
type DiffFile struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, removed, changed, mode
	Text   string `json:"text,omitempty"`
}

// Diff shows how an installed skill differs from what is locked. It uses no
// network: without the locked bytes at hand only names of files are compared.
func Diff(ctx context.Context, p *world.Local, key string) (*DiffResult, error) {
	e, err := p.Entry(key)
	if err != nil {
		return nil, err
	}
	r := &DiffResult{Key: key, From: "locked " + e.Version, To: "installed", Files: []DiffFile{}}
	if e.Source.Type == lockfile.TypePath {
		return r, nil
	}
	if !p.Cache.Has(e.Digest) {
		o, _ := world.WantOf(e)
		return nil, world.MissingOffline(o)
	}
	files, err := install.Diff(ctx, p.Layout(), p.InstallOptions(), p.Place(p.Lock, e), e.Digest)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		r.Files = append(r.Files, diffFile(f.Path, f.Old, f.New))
	}
	return r, nil
}

func diffFile(name string, old, new *install.FileState) DiffFile {
	d := DiffFile{Path: name, Change: "changed"}
	var a, b []byte
	switch {
	case old == nil:
		d.Change, b = "added", new.Data
	case new == nil:
		d.Change, a = "removed", old.Data
	default:
		a, b = old.Data, new.Data
		if old.File.SHA256 == new.File.SHA256 {
			d.Change = "mode"
			return d
		}
	}
	if isText(a) && isText(b) && (a != nil || b != nil) {
		d.Text = string(diff.Diff("a/"+name, a, "b/"+name, b))
	}
	return d
}

// isText reports whether a diff of data would be readable.
func isText(data []byte) bool {
	return !slices.Contains(data[:min(len(data), 8000)], 0)
}

// DiffVersions shows how two versions of a locked skill differ, as NAME A..B.
func DiffVersions(ctx context.Context, p *world.World, key, span string) (*DiffResult, error) {
	e, err := p.Entry(key)
	if err != nil {
		return nil, err
	}
	from, to, ok := strings.Cut(span, "..")
	if !ok || from == "" || to == "" {
		return nil, workspace.Usage("`%s` is no span of versions; write A..B", span)
	}
	src := workspace.MustSource(e)
	if src.Kind() != skill.SourceGit {
		return nil, workspace.Usage("`%s` has no versions", key)
	}
	a, err := atVersion(ctx, p, src, key, from)
	if err != nil {
		return nil, err
	}
	b, err := atVersion(ctx, p, src, key, to)
	if err != nil {
		return nil, err
	}
	r := &DiffResult{Key: key, From: from, To: to, Files: []DiffFile{}}
	return r, r.fill(p.Stored(a.Tree), p.Stored(b.Tree))
}

func (r *DiffResult) fill(a, b world.Content) error {
	names := map[string]bool{}
	for _, f := range append(slices.Clone(a.Tree.Files()), b.Tree.Files()...) {
		names[f.Path] = true
	}
	for _, name := range workspace.SortedKeys(names) {
		old, err := stateOf(a, name)
		if err != nil {
			return err
		}
		new, err := stateOf(b, name)
		if err != nil {
			return err
		}
		if old != nil && new != nil && old.File == new.File {
			continue
		}
		r.Files = append(r.Files, diffFile(name, old, new))
	}
	return nil
}

func stateOf(c world.Content, name string) (*install.FileState, error) {
	f, ok := c.Tree.File(name)
	if !ok {
		return nil, nil
	}
	s := &install.FileState{File: f}
	if f.Size > install.MaxDiffBytes {
		return s, nil
	}
	var err error
	s.Data, err = c.Read(name)
	return s, err
}

// atVersion brings one version, branch, tag or commit of src into the store.
func atVersion(ctx context.Context, p *world.World, src skill.Source, key, version string) (world.Artifact, error) {
	refs, err := p.Listing(ctx, src)
	if err != nil {
		return world.Artifact{}, err
	}
	var want fetch.Want
	for _, c := range fetch.Versions(refs, fetch.PlaceOf(src)).Candidates {
		if c.Version.String() == version {
			want = c.Want()
		}
	}
	if want.Commit == "" {
		r, err := fetch.ResolveRef(refs, src, version)
		if err != nil {
			return world.Artifact{}, diag.New(diag.RefNotFound, "%s has no version, branch, tag or commit `%s`", src.Identity(), version).
				WithHint("`skillpm versions %s` lists them", src.Identity())
		}
		want = r.Want()
	}
	got, err := p.Obtain(ctx, []world.Request{{Key: skill.Key(key), Src: src, Want: want}})
	if err != nil {
		return world.Artifact{}, err
	}
	return got[0], nil
}
