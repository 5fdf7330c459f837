package install

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skillpm/skillpm/internal/fsx"
)

// racy is how long after a write an unchanged stat signature proves nothing: a
// second write within the clock's grain would not show. Two seconds is FAT's
// grain, the coarsest in use.
const racy = 2 * time.Second

// maxDepth bounds the directories that are walked. A path has at most 4,096
// bytes (skill.CheckPath); real skills are 6 deep.
const maxDepth = 256

// signature is what stat says of a whole directory.
type signature struct {
	sum    string // over path, mode, size, mtime, ctime and inode of every entry
	newest int64  // latest mtime or ctime, in nanoseconds since 1970
}

// fresh reports whether p's signature vouches for the content that was known
// when it was recorded.
func (sig signature) fresh(p place) bool {
	return p.Stat != "" && sig.sum == p.Stat && sig.newest < p.At-int64(racy)
}

func splitLast(p string) (dir, name string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p
	}
	return p[:i], p[i+1:]
}

// signer builds a signature.
type signer struct {
	buf    []byte
	newest int64
}

// add notes one entry. A directory's ctime is left out: our own rename of the
// skill changes it, and what it would tell (mode, entries) is in the rest.
func (g *signer) add(p string, info fs.FileInfo) {
	id := identity(info)
	mtime := info.ModTime().UnixNano()
	size := info.Size()
	if info.IsDir() {
		id.ctime, size = 0, 0
	}
	g.newest = max(g.newest, mtime, id.ctime)
	g.buf = append(g.buf, p...)
	for _, n := range [...]int64{int64(info.Mode()), size, mtime, id.ctime, id.inode} {
		g.buf = strconv.AppendInt(append(g.buf, 0), n, 36)
	}
	g.buf = append(g.buf, '\n')
}

func (g *signer) signature() signature {
	sum := sha256.Sum256(g.buf)
	return signature{hex.EncodeToString(sum[:16]), g.newest}
}

// fileID is what the system knows of a file beyond fs.FileInfo; 0 where it does
// not say.
type fileID struct{ ctime, inode int64 }

// newFileID leaves out the change time of a file with several hard links: a link
// made or removed elsewhere, by the store or another project, changes it.
func newFileID(ctime, inode int64, links uint64) fileID {
	if links > 1 {
		ctime = 0
	}
	return fileID{ctime, inode}
}

// entry is one file found in a directory, or a directory without any file below
// it, of which only the topmost is an entry: no tree holds one.
type entry struct {
	path string
	info fs.FileInfo
}

// walk lists what is below dir, in the order of directories and names, and signs
// it. It follows no link, and visits nothing twice.
func (s *site) walk(root *fsx.Root, dir string, top fs.FileInfo) ([]entry, signature, error) {
	var g signer
	g.add(".", top)
	var files []entry
	err := s.walkDir(root, dir, "", 0, &g, &files)
	return files, g.signature(), err
}

func (s *site) walkDir(root *fsx.Root, dir, prefix string, depth int, g *signer, files *[]entry) error {
	if depth > maxDepth {
		return fault("directories are nested more than %d deep", maxDepth)
	}
	infos, err := root.ReadDir(path.Join(dir, prefix))
	if err != nil {
		return err
	}
	s.stats.Add(int64(len(infos)))
	for _, info := range infos {
		p := info.Name()
		if prefix != "" {
			p = prefix + "/" + p
		}
		g.add(p, info)
		if info.IsDir() {
			before := len(*files)
			if err := s.walkDir(root, dir, p, depth+1, g, files); err != nil {
				return err
			}
			if !hasFile((*files)[before:]) {
				*files = append((*files)[:before], entry{p, info})
			}
			continue
		}
		if *files = append(*files, entry{p, info}); len(*files) > s.opt.Limits.Files+1 {
			return fault("it holds more than %d files", s.opt.Limits.Files)
		}
	}
	return nil
}

func hasFile(entries []entry) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return !e.info.IsDir() })
}
