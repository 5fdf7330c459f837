package install

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// Finding is one difference between what is wanted and what is on disk.
type Finding struct {
	Code diag.Code `json:"code"` // verify_changed, verify_missing, verify_extra or skill_unlocked
	Key  skill.Key `json:"key"`
	// Place is the slash path of the skill's directory below the root.
	Place string `json:"place"`
	// File is the slash path of the file inside the skill; empty when the whole
	// skill is meant.
	File string `json:"file,omitempty"`
	// Detail says expected and found, lower case, no full stop.
	Detail string `json:"detail"`
}

// Diag returns the finding as a diagnostic; skill_unlocked is a note unless
// strict.
func (f Finding) Diag(strict bool) *diag.Error {
	at := f.Place
	if f.File != "" {
		at = f.Place + "/" + f.File
	}
	e := diag.New(f.Code, "`%s` %s", f.Key, f.Detail).At(at, 0, 0)
	if f.Code == diag.SkillUnlocked {
		if !strict {
			e.Severity = diag.SeverityNote
		}
		return e
	}
	return e.WithHint("`skillpm diff %s` shows the change; `skillpm install --force` restores what is locked", f.Key)
}

// Report is what Verify found, ordered by place, file and code.
type Report struct {
	Findings []Finding
	// Skills, Files and Bytes count what was hashed.
	Skills, Files int
	Bytes         int64
	// Trees are the hashed trees of skills without a finding, by place, and
	// Bundles the hashes of their signature files.
	Trees   map[string]*skill.Tree
	Bundles map[string]skill.Digest
}

// Verify hashes every wanted skill in every target and compares it with want.
// It takes no lock and writes nothing. Path skills are checked for being in
// place only. The error is for what could not be read, not for findings.
func Verify(ctx context.Context, layout Layout, opt Options, want Desired) (*Report, error) {
	s, err := openSite(layout, opt)
	if err != nil {
		return nil, err
	}
	defer s.close()
	v := &view{link: want.Link}
	if v.want, err = s.placements(want); err != nil {
		return nil, err
	}
	if v.receipt, err = s.readReceipt(); err != nil {
		return nil, err
	}
	parts := make([]Report, len(v.want))
	l := s.looker()
	defer l.close()
	err = parallel(ctx, len(v.want), func(ctx context.Context, i int) error {
		p := v.want[i]
		err := l.verifyPlace(ctx, p, &parts[i])
		return fsx.Diag(err, "verify `"+p.path()+"`")
	})
	if err != nil {
		return nil, err
	}
	total := &Report{Trees: map[string]*skill.Tree{}, Bundles: map[string]skill.Digest{}}
	for _, part := range parts {
		if len(part.Findings) == 0 {
			maps.Copy(total.Trees, part.Trees)
			maps.Copy(total.Bundles, part.Bundles)
		}
		total.Findings = append(total.Findings, part.Findings...)
		total.Skills += part.Skills
		total.Files += part.Files
		total.Bytes += part.Bytes
	}
	if err := s.findUnmanaged(v, want); err != nil {
		return nil, err
	}
	for _, p := range v.unmanaged {
		total.Findings = append(total.Findings, Finding{Code: diag.SkillUnlocked, Key: p.key, Place: p.path(), Detail: "is in a target and no lock names it"})
	}
	slices.SortFunc(total.Findings, compareFindings)
	return total, nil
}

func compareFindings(a, b Finding) int {
	if c := strings.Compare(a.Place, b.Place); c != 0 {
		return c
	}
	if c := strings.Compare(a.File, b.File); c != 0 {
		return c
	}
	return strings.Compare(string(a.Code), string(b.Code))
}

func (r *Report) add(code diag.Code, p placement, file, detail string) {
	r.Findings = append(r.Findings, Finding{Code: code, Key: p.item.Key, Place: p.path(), File: file, Detail: detail})
}

func (l *looker) verifyPlace(ctx context.Context, p placement, r *Report) error {
	target, err := l.target(p.target.dir)
	var info fs.FileInfo
	if err == nil {
		info, err = target.Lstat(string(p.item.Key))
	}
	switch {
	case fsx.IsNotExist(err):
		r.add(diag.VerifyMissing, p, "", "is not installed in `"+p.target.dir+"`")
		return nil
	case err != nil:
		return err
	case isLink(info):
		return l.verifyLink(ctx, p, r)
	case !info.IsDir():
		r.add(diag.VerifyChanged, p, "", "is a file, not a directory")
		return nil
	case p.item.Path != "":
		return nil // in place, or a copy of what is being edited
	}
	// A directory where a link is usual is a copy: a fallback, or a setting.
	root, err := target.Sub(string(p.item.Key))
	if err != nil {
		return err
	}
	defer root.Close()
	return l.verifyDir(ctx, p, root, r)
}

// verifyLink checks that a link leads where it should: then what it leads to is
// checked there, once.
func (s *site) verifyLink(ctx context.Context, p placement, r *Report) error {
	text, err := s.root.Readlink(p.path())
	if err != nil {
		return err
	}
	switch text = cleanLink(text); {
	case p.mode == ModeLink && text == cleanLink(p.link):
		return nil
	case p.item.Path == "" && s.opt.Store != nil && text == cleanLink(s.opt.Store.TreeDir(p.item.Digest)):
		root, err := s.opt.FS.OpenRoot(s.opt.Store.TreeDir(p.item.Digest))
		if fsx.IsNotExist(err) {
			r.add(diag.VerifyMissing, p, "", "is a link into the cache, and is not there")
			return nil
		}
		if err != nil {
			return err
		}
		defer root.Close()
		p.item.Bundle = "" // a link into the store holds no signature
		return s.verifyDir(ctx, p, root, r)
	}
	r.add(diag.VerifyChanged, p, "", "is a link to `"+text+"`, which is not where skillpm puts it")
	return nil
}

// verifyDir hashes a skill's directory and compares it with what is locked.
func (s *site) verifyDir(ctx context.Context, p placement, root *fsx.Root, r *Report) error {
	c, err := s.read(ctx, root, ".")
	if why, ok := faultOf(err); ok {
		r.add(diag.VerifyChanged, p, "", "was changed: "+why)
		return nil
	}
	if err != nil {
		return err
	}
	r.Skills++
	r.Files += len(c.files)
	for _, f := range c.files {
		r.Bytes += f.Size
	}
	verifyBundle(p, c.bundle, r)
	tree, err := s.identify(c, p.item.Digest)
	if err == nil && tree.Digest() == p.item.Digest {
		r.addEmpty(p, c, tree)
		r.Trees = map[string]*skill.Tree{p.path(): tree}
		r.Bundles = map[string]skill.Digest{p.path(): c.bundle}
		return nil
	}
	var model *skill.Tree
	if s.opt.Store != nil {
		model, _ = s.opt.Store.Manifest(p.item.Digest)
	}
	if model == nil {
		r.add(diag.VerifyChanged, p, "", "does not match the lock; the cache does not hold it, so the files cannot be named")
		return nil
	}
	s.compareFiles(p, c, model, r)
	return nil
}

func verifyBundle(p placement, got skill.Digest, r *Report) {
	switch {
	case got == p.item.Bundle:
	case got == "":
		r.add(diag.VerifyMissing, p, skill.SignatureFile, "lacks its signature file")
	case p.item.Bundle == "":
		r.add(diag.VerifyExtra, p, skill.SignatureFile, "has a signature file that the lock does not name")
	default:
		r.add(diag.VerifyChanged, p, skill.SignatureFile, "has another signature file: locked "+p.item.Bundle.Short()+", found "+got.Short())
	}
}

// addEmpty names the directories without a file that model has nothing in; one
// whose files are gone is told by them.
func (r *Report) addEmpty(p placement, c *content, model *skill.Tree) {
	for _, e := range c.extraDirs(model) {
		r.add(diag.VerifyExtra, p, e.path, "has a directory that is not in the lock: `"+e.path+"`")
	}
}

// compareFiles names every file that differs, and every extra directory.
func (s *site) compareFiles(p placement, c *content, model *skill.Tree, r *Report) {
	r.addEmpty(p, c, model)
	seen := map[string]bool{}
	for _, e := range c.odd {
		seen[e.path] = true
		code := diag.VerifyExtra
		if _, ok := model.File(e.path); ok {
			code = diag.VerifyChanged
		}
		r.add(code, p, e.path, "has `"+e.path+"`, which is no regular file")
	}
	for _, got := range c.files {
		seen[got.Path] = true
		want, ok := model.File(got.Path)
		switch {
		case !ok:
			r.add(diag.VerifyExtra, p, got.Path, "has a file that is not in the lock: `"+got.Path+"`")
		case got.SHA256 != want.SHA256:
			r.add(diag.VerifyChanged, p, got.Path, "was changed in `"+got.Path+"`: locked "+skill.DigestFromSum(want.SHA256).Short()+", found "+skill.DigestFromSum(got.SHA256).Short())
		case got.Exec != want.Exec && s.keepsExec():
			r.add(diag.VerifyChanged, p, got.Path, "has another mode at `"+got.Path+"`: locked "+mode(want.Exec)+", found "+mode(got.Exec))
		}
	}
	for _, want := range model.Files() {
		if !seen[want.Path] {
			r.add(diag.VerifyMissing, p, want.Path, "lacks the file `"+want.Path+"`")
		}
	}
}

func mode(exec bool) string {
	if exec {
		return "executable"
	}
	return "not executable"
}

// Tree hashes the directory at the slash path place below the root, which may be
// a link inside it, and returns its tree and its signature file's bytes (nil
// without one). A directory that is no legal tree is path_unsafe or
// tree_too_large.
func Tree(ctx context.Context, layout Layout, opt Options, place string) (*skill.Tree, []byte, error) {
	s, err := openSite(layout, opt)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	c, root, err := s.readAt(ctx, place)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	tree, err := c.tree(s.opt.Limits)
	if why, ok := faultOf(err); ok {
		return nil, nil, diag.New(diag.PathUnsafe, "`%s` is no skill that could be locked: %s", place, why)
	}
	if err != nil || c.bundle == "" {
		return tree, nil, err
	}
	bundle, err := root.ReadFile(skill.SignatureFile, s.opt.Limits.FileBytes)
	return tree, bundle, fsx.Diag(err, "read `"+path.Join(place, skill.SignatureFile)+"`")
}

// readAt hashes the directory at place, whose root the caller closes. The last
// element may be a link into the store.
func (s *site) readAt(ctx context.Context, place string) (*content, *fsx.Root, error) {
	root, err := s.root.Sub(place)
	if err != nil {
		if root, err = s.storeRoot(place, err); err != nil {
			return nil, nil, fsx.Diag(err, "read `"+place+"`")
		}
	}
	c, err := s.read(ctx, root, ".")
	if why, ok := faultOf(err); ok {
		err = diag.New(diag.PathUnsafe, "`%s` is no skill that could be locked: %s", place, why)
	}
	if err != nil {
		root.Close()
		return nil, nil, fsx.Diag(err, "read `"+place+"`")
	}
	return c, root, nil
}

// storeRoot opens what a link of link = "symlink" leads to: only the recorded
// link to the store leaves the root.
func (s *site) storeRoot(place string, cause error) (*fsx.Root, error) {
	text, err := s.root.Readlink(place)
	if err != nil {
		return nil, cause
	}
	r, err := s.readReceipt()
	if err != nil {
		return nil, err
	}
	rec := r.Places[place]
	if s.opt.Store == nil || rec.Mode != ModeStore || cleanLink(text) != cleanLink(s.opt.Store.TreeDir(rec.Digest)) {
		return nil, cause
	}
	return s.opt.FS.OpenRoot(s.opt.Store.TreeDir(rec.Digest))
}
