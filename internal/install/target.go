package install

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// target is a directory that agents scan.
type target struct {
	dir string // as it was named: a slash path below the root
	// real is where it is or will be, links resolved: a slash path below the
	// root. Relative links are reckoned from here.
	real string
}

// targets resolves dirs, leaving out those that are the same directory as an
// earlier one (`.claude/skills` linked to `.agents/skills`: a link from one to
// the other would replace the skill by a link to itself). Errors: target_unsafe
// for one outside the root, install_conflict for a file in the way.
func (s *site) targets(dirs []string) ([]target, error) {
	var list []target
	var faults diag.List
	for _, dir := range dirs {
		real, err := s.resolve(dir)
		if err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		fresh := true
		for _, other := range list {
			if other.real == real {
				fresh = false
			} else if within(real, other.real) || within(other.real, real) {
				faults = append(faults, s.unsafeTarget(dir, "one of it and `"+other.dir+"` lies in the other"))
			}
		}
		if fresh {
			list = append(list, target{dir, real})
		}
	}
	return list, faults.Err()
}

// within reports whether the slash path p is dir or below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func (s *site) unsafeTarget(dir, why string) *diag.Error {
	e := diag.New(diag.TargetUnsafe, "target `%s` is not safe to write to: %s", dir, why)
	if s.layout.Personal {
		return e.WithHint("make it a directory, or a link to one, below your home directory")
	}
	return e.WithHint("name a directory inside the project under `[install]`")
}

// CheckTargets says what keeps skills from being put into targets: target_unsafe
// for one that leads out of the root or into another, install_conflict for a file
// in the way. It writes nothing.
func CheckTargets(layout Layout, opt Options, targets []string) error {
	s, err := openSite(layout, opt)
	if err != nil {
		return err
	}
	defer s.close()
	_, err = s.targets(targets)
	return err
}

// resolve follows the links of the part of dir that exists. The root refuses to
// leave it anyway; this says so before anything is staged, and with a code.
func (s *site) resolve(dir string) (string, error) {
	if err := skill.CheckPath(dir); err != nil {
		return "", s.unsafeTarget(dir, err.Error())
	}
	if within(dir, s.layout.State) && dir != s.state(hiddenName) || within(s.layout.State, dir) {
		return "", s.unsafeTarget(dir, "skillpm keeps its own files there")
	}
	base, err := filepath.EvalSymlinks(s.layout.Root)
	if err != nil {
		return "", fsx.Diag(err, "open `"+s.layout.Root+"`")
	}
	existing, rest := dir, ""
	for {
		full := filepath.Join(base, filepath.FromSlash(existing))
		info, err := os.Lstat(full)
		if err == nil {
			return s.resolved(dir, base, full, rest, info.Mode())
		}
		if !fsx.IsNotExist(err) {
			return "", fsx.Diag(err, "look at target `"+dir+"`")
		}
		if existing == "." {
			return dir, nil
		}
		rest = path.Join(path.Base(existing), rest)
		existing = path.Dir(existing)
	}
}

func (s *site) resolved(dir, base, full, rest string, mode os.FileMode) (string, error) {
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", s.unsafeTarget(dir, "`"+full+"` is a link that leads nowhere")
	}
	rel, err := filepath.Rel(base, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", s.unsafeTarget(dir, "it leads out of `"+s.layout.Root+"` to `"+real+"`")
	}
	if where := path.Join(filepath.ToSlash(rel), rest); where != dir && where != s.state(hiddenName) && within(where, s.layout.State) {
		return "", s.unsafeTarget(dir, "skillpm keeps its own files there")
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fsx.Diag(err, "look at target `"+dir+"`")
	}
	if !info.IsDir() {
		return "", diag.New(diag.InstallConflict, "`%s` is in the way of target `%s`: it is no directory", full, dir).
			WithHint("move it away, or name another target")
	}
	return path.Join(filepath.ToSlash(rel), rest), nil
}

// placement is one skill in one target.
type placement struct {
	target target
	item   Item
	mode   Mode
	// link is the text of a ModeLink or ModeStore.
	link string
	// source is the absolute directory of a path skill, sourceSig its stat
	// signature where it is copied.
	source, sourceSig string
}

func (p placement) path() string { return p.target.dir + "/" + string(p.item.Key) }

// placements says where everything wanted goes, by target and key.
func (s *site) placements(want Desired) ([]placement, error) {
	if err := want.check(); err != nil {
		return nil, err
	}
	targets, err := s.targets(want.Targets)
	if err != nil {
		return nil, err
	}
	hidden := target{s.state(hiddenName), s.state(hiddenName)}
	var list []placement
	items := want.sortedItems()
	for i, t := range targets {
		for _, item := range items {
			if want.ExposeDirect && item.Transitive {
				continue
			}
			p, err := s.placement(want.Link, targets[0], t, i == 0, item)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	for _, item := range items {
		if want.ExposeDirect && item.Transitive {
			p, err := s.placement(want.Link, hidden, hidden, true, item)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

func (s *site) placement(link Link, main, t target, first bool, item Item) (placement, error) {
	p := placement{target: t, item: item, mode: ModeCopy}
	if item.Path != "" {
		return s.pathPlacement(link, p)
	}
	switch {
	case !first && link != LinkCopy:
		p.mode = ModeLink
		p.link = relative(t.real, path.Join(main.real, string(item.Key)))
	case first && link == LinkHardlink:
		p.mode = ModeHardlink
	case first && link == LinkSymlink:
		p.mode = ModeStore
		p.link = s.opt.Store.TreeDir(item.Digest)
	}
	return p, nil
}

// pathPlacement places a path skill: a link straight to its directory from every
// target, so that an edit is live; nothing where it already lies.
func (s *site) pathPlacement(link Link, p placement) (placement, error) {
	source := filepath.FromSlash(p.item.Path)
	if !filepath.IsAbs(source) {
		source = filepath.Join(s.layout.Root, source)
	}
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return p, diag.New(diag.PathMissing, "the directory `%s` of path skill `%s` is not there", p.item.Path, p.item.Key).WithCause(err)
	}
	base, err := filepath.EvalSymlinks(s.layout.Root)
	if err != nil {
		return p, fsx.Diag(err, "open `"+s.layout.Root+"`")
	}
	p.source = real
	dir := filepath.Join(base, filepath.FromSlash(p.target.real))
	if real == filepath.Join(dir, string(p.item.Key)) {
		p.mode = ModeInPlace
		return p, nil
	}
	if link == LinkCopy {
		return p, nil
	}
	rel, err := filepath.Rel(dir, real)
	if err != nil { // another drive on Windows
		rel = real
	}
	p.mode, p.link = ModeLink, filepath.ToSlash(rel)
	return p, nil
}

// relative returns the slash path that leads from directory from to to, both
// below the same root.
func relative(from, to string) string {
	rel, err := filepath.Rel(filepath.FromSlash("/"+from), filepath.FromSlash("/"+to))
	if err != nil {
		return to
	}
	return filepath.ToSlash(rel)
}
