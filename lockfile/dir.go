package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// DefaultReadLimit bounds what Body and Resource return when no limit is given:
// 1 MiB, far over any text made for a model to read.
const DefaultReadLimit = 1 << 20

// Dir reads one installed skill. All access goes through os.Root, so no path and
// no link leads out of the directory. It is safe for concurrent use.
type Dir struct {
	root *os.Root
	name string // for messages
}

// OpenDir opens the directory of an installed skill; it may itself be a link, as
// in the directories of further agents. The caller closes it.
func OpenDir(dir string) (*Dir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, name: path.Base(dir)}, nil
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// SkillFile returns the bytes of SKILL.md, at most limit of them (0 means
// DefaultReadLimit), and whether more follow. A file of another case is read
// only if there is no SKILL.md.
func (d *Dir) SkillFile(limit int64) (text []byte, more bool, err error) {
	name, err := d.skillFileName()
	if err != nil {
		return nil, false, err
	}
	return d.read(name, limit)
}

// Body returns what follows the frontmatter of SKILL.md, bounded as in SkillFile.
// This is the second tier: call it when the skill is used, not to list it.
func (d *Dir) Body(limit int64) (text []byte, more bool, err error) {
	if limit <= 0 {
		limit = DefaultReadLimit
	}
	const maxFrontmatter = 1 << 20
	whole, more, err := d.SkillFile(limit + maxFrontmatter)
	if err != nil {
		return nil, false, err
	}
	text = SplitBody(whole)
	if int64(len(text)) > limit {
		return text[:limit], true, nil
	}
	return text, more, nil
}

// SplitBody returns the part of a SKILL.md after the line that closes its
// frontmatter, or all of it if there is no frontmatter. Size.Body counts it. As
// when a skill is locked, a byte order mark and blank lines may come first.
func SplitBody(text []byte) []byte {
	rest := bytes.TrimPrefix(text, []byte("\ufeff"))
	line := []byte(nil)
	for len(rest) > 0 && len(bytes.TrimSpace(line)) == 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	if !isFence(line) {
		return text
	}
	for len(rest) > 0 {
		if line, rest, _ = bytes.Cut(rest, []byte("\n")); isFence(line) {
			return rest
		}
	}
	return text
}

func isFence(line []byte) bool { return string(bytes.TrimRight(line, " \t\r")) == "---" }

// Resource is one file of a skill besides SKILL.md and the signature.
type Resource struct {
	Path string
	Size int64
	Exec bool
}

// Resources lists the files beside SKILL.md by path, without opening any. It
// refuses a directory with more files than a tree may have.
func (d *Dir) Resources() ([]Resource, error) {
	var list []Resource
	err := d.walk(skill.DefaultLimits, func(p string, info fs.FileInfo) error {
		if !strings.EqualFold(p, "SKILL.md") && p != skill.SignatureFile {
			list = append(list, Resource{Path: p, Size: info.Size(), Exec: info.Mode()&0o100 != 0})
		}
		return nil
	})
	return list, err
}

// Resource returns the bytes of one file, at most limit of them (0 means
// DefaultReadLimit), and whether more follow. The error's code is path_unsafe
// for a path that no tree may hold.
func (d *Dir) Resource(p string, limit int64) (data []byte, more bool, err error) {
	if err := skill.CheckPath(p); err != nil {
		return nil, false, err
	}
	return d.read(p, limit)
}

func (d *Dir) read(p string, limit int64) (data []byte, more bool, err error) {
	if limit <= 0 {
		limit = DefaultReadLimit
	}
	f, err := d.openRegular(p)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", path.Join(d.name, p), err)
	}
	if int64(len(data)) > limit {
		return data[:limit], true, nil
	}
	return data, false, nil
}

// openRegular opens a regular file and nothing else: a tree has no links, and a
// pipe or device would block. It looks before opening, since opening a pipe
// already waits, and again afterwards, since the file may have been replaced.
func (d *Dir) openRegular(p string) (*os.File, error) {
	info, err := d.root.Lstat(p)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(p)
	}
	f, err := d.root.Open(p)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		f.Close()
		return nil, errors.Join(err, notRegular(p))
	}
	return f, nil
}

func notRegular(p string) error {
	return &skill.Error{Code: "path_unsafe", Offset: -1, Message: fmt.Sprintf("%q is no regular file; an installed skill holds nothing else", p)}
}

func (d *Dir) skillFileName() (string, error) {
	if _, err := d.root.Lstat("SKILL.md"); err == nil {
		return "SKILL.md", nil
	}
	top, err := d.root.Open(".")
	if err != nil {
		return "", err
	}
	defer top.Close()
	names, err := top.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if strings.EqualFold(name, "SKILL.md") {
			return name, nil
		}
	}
	return "", &skill.Error{Code: "skill_not_found", Offset: -1, Message: fmt.Sprintf("no SKILL.md in `%s`", d.name)}
}

// walk visits every file by path. Whatever is neither a directory nor a regular
// file is refused.
func (d *Dir) walk(limits skill.Limits, visit func(p string, info fs.FileInfo) error) error {
	files := 0
	return fs.WalkDir(d.root.FS(), ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return notRegular(p)
		}
		if files++; files > limits.Files {
			return &skill.Error{Code: "tree_too_large", Offset: -1, Message: fmt.Sprintf("more than %d files", limits.Files)}
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return visit(p, info)
	})
}
