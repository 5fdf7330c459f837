package install

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"sync"

	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// seenKind is what stands at a place.
type seenKind int

const (
	seenNothing seenKind = iota
	seenDir
	seenLink
	seenOther // a file, a device, …
)

// seen is what was found at a place.
type seen struct {
	kind seenKind
	link string // text of a link, with slashes
	// dangling: an absolute link, so one into the store, that leads nowhere.
	dangling bool
	digest   skill.Digest // of a directory that is a legal tree
	bundle   skill.Digest // of its signature file
	empty    bool         // a directory without any file
	fault    string       // why a directory is no tree
	sig      signature
	// vouched: the receipt's stat signature held and nothing was hashed.
	vouched bool
}

// looker keeps the targets open while one plan or verification looks at their
// skills: a path from the project's root costs a call per element.
type looker struct {
	*site
	mu    sync.Mutex
	roots map[string]*fsx.Root
}

func (s *site) looker() *looker { return &looker{site: s, roots: map[string]*fsx.Root{}} }

func (l *looker) close() {
	for _, root := range l.roots {
		root.Close()
	}
}

// target returns the open directory dir.
func (l *looker) target(dir string) (*fsx.Root, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if root, ok := l.roots[dir]; ok {
		return root, nil
	}
	root, err := l.root.Sub(dir)
	if err == nil {
		l.roots[dir] = root
	}
	return root, err
}

// look says what stands at p.
func (l *looker) look(ctx context.Context, p string, rec place, candidates ...skill.Digest) (seen, error) {
	got, err := l.lookAt(ctx, p, rec, candidates)
	if fsx.IsNotExist(err) {
		return seen{}, nil
	}
	return got, fsx.Diag(err, "look at `"+p+"`")
}

func (l *looker) lookAt(ctx context.Context, p string, rec place, candidates []skill.Digest) (seen, error) {
	dir, name := splitLast(p)
	target, err := l.target(dir)
	if err != nil {
		return seen{}, err
	}
	info, err := target.Lstat(name)
	l.stats.Add(1)
	switch {
	case err != nil:
		return seen{}, err
	case info.IsDir():
		root, err := target.Sub(name)
		if err != nil {
			return seen{}, err
		}
		defer root.Close()
		return l.lookAtDir(ctx, root, info, rec, candidates)
	case !isLink(info):
		return seen{kind: seenOther}, nil
	}
	text, err := target.Readlink(name)
	got := seen{kind: seenLink, link: cleanLink(text)}
	if err == nil && filepath.IsAbs(text) {
		_, gone := l.opt.FS.Stat(text)
		got.dangling = fsx.IsNotExist(gone)
	}
	return got, err
}

// lookAtDir hashes a skill's directory unless the receipt's signature vouches.
func (s *site) lookAtDir(ctx context.Context, root *fsx.Root, top fs.FileInfo, rec place, candidates []skill.Digest) (seen, error) {
	entries, sig, err := s.walk(root, ".", top)
	if err == nil && sig.fresh(rec) {
		return seen{kind: seenDir, digest: rec.Digest, bundle: rec.Bundle, sig: sig, vouched: true}, nil
	}
	var c *content
	if err == nil && len(entries) > 0 && !hasFile(entries) {
		return seen{kind: seenDir, empty: true, sig: sig}, nil
	}
	if err == nil {
		c, err = s.hashEntries(ctx, root, ".", entries, sig)
	}
	if err == nil {
		err = c.noEmpty()
	}
	var digest skill.Digest
	if err == nil {
		digest, err = s.digest(c, append([]skill.Digest{rec.Digest}, candidates...)...)
	}
	if why, ok := faultOf(err); ok {
		return seen{kind: seenDir, fault: why, sig: sig}, nil
	}
	if err != nil {
		return seen{}, err
	}
	return seen{kind: seenDir, digest: digest, bundle: c.bundle, empty: len(entries) == 0, sig: sig}, nil
}

func isLink(info fs.FileInfo) bool {
	// Junctions are ModeIrregular on Windows; to us they are links.
	return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0
}

// cleanLink returns the text of a link with slashes and without "./" or a final
// slash, so that spellings of one link compare equal.
func cleanLink(text string) string { return path.Clean(filepath.ToSlash(text)) }
