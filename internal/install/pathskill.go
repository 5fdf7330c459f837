package install

import (
	"context"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// lookAtSource finds the digest of a path skill's directory, which a copy is
// compared with and made from. It hashes unless the receipt's signature of the
// source vouches.
func (s *site) lookAtSource(ctx context.Context, p *placement, rec place) error {
	root, err := s.opt.FS.OpenRoot(p.source)
	if err != nil {
		return fsx.Diag(err, "open path skill `"+string(p.item.Key)+"`")
	}
	defer root.Close()
	entries, sig, err := s.walkSource(root)
	if err == nil {
		p.sourceSig = sig.sum
		if sig.fresh(place{Stat: rec.Source, At: rec.At}) {
			p.item.Digest = rec.Digest
			return nil
		}
		var tree *skill.Tree
		if tree, err = s.sourceTree(ctx, root, entries); err == nil {
			p.item.Digest = tree.Digest()
			return nil
		}
	}
	return s.sourceFault(p.item.Key, err)
}

func (s *site) sourceFault(key skill.Key, err error) error {
	if why, ok := faultOf(err); ok {
		return diag.New(diag.PathUnsafe, "path skill `%s` cannot be copied: %s", key, why).
			WithHint("use links for path skills, or remove what no skill may hold")
	}
	return fsx.Diag(err, "read path skill `"+string(key)+"`")
}

// walkSource lists the files of a working directory; a .git in it is skipped, as
// in every digest of a working directory, and so are empty directories.
func (s *site) walkSource(root *fsx.Root) ([]entry, signature, error) {
	top, err := root.Lstat(".")
	if err != nil {
		return nil, signature{}, err
	}
	entries, sig, err := s.walk(root, ".", top)
	kept := entries[:0]
	for _, e := range entries {
		if !e.info.IsDir() && !inDotGit(e.path) {
			kept = append(kept, e)
		}
	}
	return kept, sig, err
}

func inDotGit(p string) bool {
	for element := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(element, ".git") {
			return true
		}
	}
	return false
}

// sourceTree hashes the listed files. A signature file of a path skill vouches
// for nothing here and is left out, as it is from every tree.
func (s *site) sourceTree(ctx context.Context, root *fsx.Root, entries []entry) (*skill.Tree, error) {
	c, err := s.hashEntries(ctx, root, ".", entries, signature{})
	if err != nil {
		return nil, err
	}
	return c.tree(s.opt.Limits)
}
