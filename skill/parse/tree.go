package parse

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// tree is a skill's directory as it lies on disk.
type tree struct {
	root  string // absolute path
	files []entry
	// known holds every path, directories too, for looking up references.
	known map[string]bool
	bytes int64
}

// entry is one file or link. A directory link that stays inside is an entry and
// is not descended into: what it names is listed already.
type entry struct {
	path string // '/'-separated, relative
	mode fs.FileMode
	size int64
	link string // the target as written, for a link
	// target is what a good link resolves to, relative to the skill.
	target string
}

// readTree lists the directory and judges its links and names. It stops, with a
// finding, at the limits of the tree format.
func (r *skillChecker) readTree(ctx context.Context) error {
	r.tree = &tree{root: r.dir, known: map[string]bool{".": true}}
	err := r.readDir(ctx, "")
	if errors.Is(err, errTreeLimit) {
		return nil
	}
	return err
}

// errTreeLimit ends a walk whose finding is already made.
var errTreeLimit = errors.New("tree limit")

func (r *skillChecker) readDir(ctx context.Context, rel string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries := r.entries
	if rel != "" || entries == nil {
		var err error
		if entries, err = os.ReadDir(filepath.Join(r.dir, filepath.FromSlash(rel))); err != nil {
			r.ioProblem(rel, err)
			return nil
		}
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), ".git") {
			continue // a working directory's own, no part of the skill
		}
		if err := r.readEntry(ctx, path.Join(rel, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (r *skillChecker) readEntry(ctx context.Context, rel string, e fs.DirEntry) error {
	r.tree.known[rel] = true
	if e.IsDir() {
		if rel == skill.SignatureFile || len(r.tree.known) > 2*skill.DefaultLimits.Files {
			return r.treeLimit(rel)
		}
		return r.readDir(ctx, rel)
	}
	info, err := e.Info()
	if err != nil {
		r.ioProblem(rel, err)
		return nil
	}
	file := entry{path: rel, mode: info.Mode(), size: info.Size()}
	if e.Type()&fs.ModeSymlink != 0 {
		file.link, err = os.Readlink(filepath.Join(r.dir, filepath.FromSlash(rel)))
		if err != nil {
			r.ioProblem(rel, err)
		}
		r.checkLink(&file)
	} else if !info.Mode().IsRegular() {
		r.problem(diag.PathUnsafe, Position{}, "`%s` is neither a file nor a directory", rel)
	}
	r.tree.files = append(r.tree.files, file)
	r.tree.bytes += file.size
	return r.checkLimits(file)
}

func (r *skillChecker) treeLimit(rel string) error {
	if rel == skill.SignatureFile {
		r.problem(diag.PathUnsafe, Position{}, "`%s` is a directory; that name belongs to the signature", rel)
		return nil
	}
	return r.overLimit("more than %d directories", skill.DefaultLimits.Files)
}

func (r *skillChecker) checkLimits(f entry) error {
	limits := skill.DefaultLimits
	switch {
	case len(r.tree.files) > limits.Files:
		return r.overLimit("more than %d files", limits.Files)
	case f.size > limits.FileBytes:
		return r.overLimit("`%s` has %d bytes; the limit is %d", f.path, f.size, limits.FileBytes)
	case r.tree.bytes > limits.Bytes:
		return r.overLimit("more than %d bytes in all", limits.Bytes)
	}
	return nil
}

func (r *skillChecker) overLimit(format string, args ...any) error {
	r.problem(diag.TreeTooLarge, Position{}, format, args...).WithHint("install refuses it under the default limits")
	return errTreeLimit
}

func (r *skillChecker) ioProblem(rel string, err error) {
	if rel == "" {
		rel = "."
	}
	r.add(ioFinding(rel, err))
}

// ioFinding is what the file system refused, not a fault of the skill.
func ioFinding(rel string, err error) *diag.Error {
	cause := err
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		cause = pe.Err // its path is absolute
	}
	code := diag.DiskFailed
	if errors.Is(err, fs.ErrPermission) {
		code = diag.PermissionDenied
	}
	return diag.New(code, "`%s` cannot be read", rel).WithCause(cause)
}

// linkFault says what is wrong with a link that cannot be followed inside root.
type linkFault struct {
	code diag.Code
	why  string
}

// maxLinkHops is how many links one path may lead through, as in Linux.
const maxLinkHops = 40

// followLink resolves the link at rel below root, which must be relative and
// stay inside at every step. It returns what stands at its end, and where.
func followLink(root *os.Root, rel string) (info fs.FileInfo, real string, fault *linkFault) {
	pending := strings.Split(rel, "/")
	for hops := 0; len(pending) > 0; {
		element := pending[0]
		pending = pending[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			if real == "" {
				return nil, "", &linkFault{diag.SymlinkEscapes, "leads out of the skill"}
			}
			real = strings.TrimSuffix(path.Dir(real), ".")
			continue
		}
		at := path.Join(real, element)
		var err error
		if info, err = root.Lstat(filepath.FromSlash(at)); err != nil {
			return nil, "", &linkFault{diag.SymlinkDangling, "names nothing"}
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = at
			continue
		}
		if hops++; hops > maxLinkHops {
			return nil, "", &linkFault{diag.SymlinkLoop, "leads back to itself"}
		}
		target, err := root.Readlink(filepath.FromSlash(at))
		slashed := filepath.ToSlash(target)
		if err != nil || path.IsAbs(slashed) || filepath.IsAbs(target) {
			return nil, "", &linkFault{diag.SymlinkEscapes, "is absolute"}
		}
		pending = append(strings.Split(slashed, "/"), pending...)
	}
	return endOfLink(root, rel, real)
}

func endOfLink(root *os.Root, rel, real string) (fs.FileInfo, string, *linkFault) {
	if real == "" || strings.HasPrefix(rel, real+"/") {
		return nil, "", &linkFault{diag.SymlinkLoop, "names a directory that contains it"}
	}
	info, err := root.Lstat(filepath.FromSlash(real))
	if err != nil {
		return nil, "", &linkFault{diag.SymlinkDangling, "names nothing"}
	}
	return info, real, nil
}

func (r *skillChecker) checkLink(f *entry) {
	root, err := r.openRoot()
	if err != nil {
		r.ioProblem(f.path, err)
		return
	}
	info, target, fault := followLink(root, f.path)
	if fault != nil {
		r.badLinks = append(r.badLinks, f.path)
		e := r.problem(fault.code, Position{}, "the link `%s` -> `%s` %s", f.path, f.link, fault.why)
		if fault.code == diag.SymlinkEscapes {
			e.WithHint("a copy of the skill would break it; put the file itself there")
		}
		return
	}
	f.mode, f.size, f.target = info.Mode(), info.Size(), target
	if info.IsDir() {
		f.size = 0
	}
}

// openRoot opens the skill's directory once, on the first need of it.
func (r *skillChecker) openRoot() (*os.Root, error) {
	if r.root == nil && r.rootErr == nil {
		r.root, r.rootErr = os.OpenRoot(r.dir)
	}
	return r.root, r.rootErr
}

// exists reports whether the clean relative path names something in the skill.
func (r *skillChecker) exists(rel string) bool {
	if r.tree.known[rel] {
		return !slices.Contains(r.badLinks, rel)
	}
	root, err := r.openRoot()
	if err != nil {
		return false
	}
	_, err = root.Stat(filepath.FromSlash(rel))
	return err == nil
}

// treeRules judges the list of files.
func (r *skillChecker) treeRules(profile string) {
	folds := make(map[string]string, len(r.tree.known))
	paths := make([]string, 0, len(r.tree.known))
	for p := range r.tree.known {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	collided := false
	for _, p := range paths {
		if err := skill.CheckPath(p); p != "." && err != nil {
			r.problem(diag.PathUnsafe, Position{}, "%s", err.Error()).WithHint("install refuses it")
		}
		fold := skill.FoldPath(p)
		if other, ok := folds[fold]; ok && !collided {
			r.note(diag.CaseCollision, Position{}, "`%s` and `%s` are one path where case does not count; such a tree cannot be installed", other, p)
			collided = true
		}
		folds[fold] = p
	}
	r.expandLinks()
	r.nested(paths)
	r.nonstandard(profile)
	r.hostConfig(paths)
}

func (r *skillChecker) nested(paths []string) {
	var inner []string
	for _, p := range paths {
		if path.Base(p) == FileName && p != FileName {
			inner = append(inner, path.Dir(p))
		}
	}
	if len(inner) == 0 {
		return
	}
	more := ""
	if len(inner) > 1 {
		more = ", and more below"
	}
	r.note(diag.NestedSkill, Position{}, "a skill lies inside this one, `%s`%s; it belongs to this package, but some loaders list it too", inner[0], more)
}

// otherManifests are files that one runtime refuses beside SKILL.md.
var otherManifests = []string{
	"skill.yaml", "skill.yml", "skill.json", "agently.skill.yaml", "agently.skill.yml", "agently.skill.json",
}

func (r *skillChecker) nonstandard(profile string) {
	for _, name := range otherManifests {
		if !r.tree.known[name] {
			continue
		}
		e := r.note(diag.NonstandardManifest, Position{}, "`%s` beside SKILL.md is no manifest here; Agently refuses the skill for it", name)
		if profile == ProfileAgently {
			e.Severity = diag.SeverityError
		}
	}
}

// hostFiles give a skill powers beyond text in some clients.
var hostFiles = []string{".claude-plugin/plugin.json", "plugin.json", "hooks", ".mcp.json", "agents/openai.yaml"}

func (r *skillChecker) hostConfig(paths []string) {
	var found []string
	for _, name := range hostFiles {
		if r.tree.known[name] {
			found = append(found, "`"+name+"`")
		}
	}
	if len(found) > 0 {
		r.note(diag.CarriesHostConfig, Position{}, "it carries %s, which some clients obey: hooks, servers or tools beyond the text", strings.Join(found, ", "))
	}
}
