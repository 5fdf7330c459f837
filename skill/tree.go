package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits bounds a skill's tree.
type Limits struct {
	Files     int   // number of files
	Bytes     int64 // size of all files together
	FileBytes int64 // size of one file
}

// DefaultLimits are the limits of the tree format: 10,000 files, 512 MiB in
// all, 64 MiB a file. The largest real skill seen has 1,379 files and 48 MB.
var DefaultLimits = Limits{Files: 10_000, Bytes: 512 << 20, FileBytes: 64 << 20}

// File is one regular file of a tree.
type File struct {
	Path   string // '/'-separated, relative to the skill's root
	Exec   bool   // the owner may execute it
	Size   int64
	SHA256 [sha256.Size]byte
}

// Tree is the list of a skill's files, sorted by the bytes of their paths, with
// every rule of the tree format checked. Its Digest is the skill's identity.
// A Tree is immutable and safe for concurrent use.
type Tree struct {
	files []File
	size  int64
}

const treeHeader = "skillpm-tree-v1\n"

// NewTree checks and sorts files. The signature file is not part of a tree and
// must not be among them. Errors carry path_unsafe (a path no tree may hold, or
// two that are equal under case folding or NFC) or tree_too_large.
func NewTree(files []File, limits Limits) (*Tree, error) {
	t := &Tree{files: slices.Clone(files)}
	slices.SortFunc(t.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	if len(t.files) > limits.Files {
		return nil, fault("tree_too_large", -1, fmt.Sprintf("%d files; the limit is %d", len(t.files), limits.Files))
	}
	for _, f := range t.files {
		if err := checkFile(f, limits); err != nil {
			return nil, err
		}
		if t.size += f.Size; t.size > limits.Bytes {
			return nil, fault("tree_too_large", -1, fmt.Sprintf("more than %d bytes in all; the limit is %d", limits.Bytes, limits.Bytes))
		}
	}
	if err := checkCollisions(t.files); err != nil {
		return nil, err
	}
	return t, nil
}

func checkFile(f File, limits Limits) error {
	if err := CheckPath(f.Path); err != nil {
		return err
	}
	first, rest, nested := strings.Cut(f.Path, "/")
	if FoldPath(first) == SignatureFile {
		if nested {
			return fault("path_unsafe", 0, fmt.Sprintf("path %q: `%s` must be a file, the signature", first+"/"+rest, first))
		}
		return fault("path_unsafe", 0, fmt.Sprintf("path %q stands for the signature and is no part of the tree", f.Path))
	}
	if f.Size < 0 || f.Size > limits.FileBytes {
		return fault("tree_too_large", -1, fmt.Sprintf("file %q has %d bytes; the limit is %d", f.Path, f.Size, limits.FileBytes))
	}
	return nil
}

// checkCollisions refuses two different spellings of one path, for files and
// for the directories above them: a case-insensitive disk would merge them.
func checkCollisions(files []File) error {
	type entry struct {
		path string
		dir  bool
	}
	seen := make(map[string]entry, len(files)*2)
	for _, f := range files {
		for i := 0; i <= len(f.Path); i++ {
			if i < len(f.Path) && f.Path[i] != '/' {
				continue
			}
			prefix, dir := f.Path[:i], i < len(f.Path)
			fold := FoldPath(prefix)
			old, ok := seen[fold]
			if ok && (old.path != prefix || old.dir != dir || !dir) {
				return fault("path_unsafe", 0, fmt.Sprintf("paths %q and %q are one path on a case-insensitive or normalising file system", old.path, prefix))
			}
			if !ok {
				seen[fold] = entry{prefix, dir}
			}
		}
	}
	return nil
}

// Files returns the files in order. The caller must not change the slice.
func (t *Tree) Files() []File { return t.files }

// Size returns the sum of the file sizes in bytes.
func (t *Tree) Size() int64 { return t.size }

// File returns the file at path, and whether there is one.
func (t *Tree) File(path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(t.files, path, func(f File, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return File{}, false
	}
	return t.files[i], true
}

// Manifest returns the tree manifest: a header line, then for every file
// "<mode> <hex sha256> <size> <path>\n", mode being x or -. These bytes, and
// nothing else, are what the digest covers.
func (t *Tree) Manifest() []byte {
	b := make([]byte, 0, len(treeHeader)+len(t.files)*112)
	b = append(b, treeHeader...)
	for _, f := range t.files {
		mode := byte('-')
		if f.Exec {
			mode = 'x'
		}
		b = append(b, mode, ' ')
		b = hex.AppendEncode(b, f.SHA256[:])
		b = append(b, ' ')
		b = strconv.AppendInt(b, f.Size, 10)
		b = append(b, ' ')
		b = append(b, f.Path...)
		b = append(b, '\n')
	}
	return b
}

// Digest returns the SHA-256 of the manifest.
func (t *Tree) Digest() Digest { return DigestOf(t.Manifest()) }

// ParseTreeManifest reads what Manifest wrote and nothing else: any other
// spelling of the same tree is refused, so that one tree has one digest. Errors
// carry path_unsafe or tree_too_large.
func ParseTreeManifest(b []byte, limits Limits) (*Tree, error) {
	rest, ok := bytes.CutPrefix(b, []byte(treeHeader))
	if !ok {
		return nil, fault("path_unsafe", 0, "not a tree manifest: it must begin with the line skillpm-tree-v1")
	}
	var files []File
	for n := 2; len(rest) > 0; n++ {
		line, tail, found := bytes.Cut(rest, []byte("\n"))
		f, why := parseTreeLine(string(line))
		if !found {
			why = "the last line is not ended"
		}
		if why != "" {
			return nil, fault("path_unsafe", len(b)-len(rest), fmt.Sprintf("tree manifest line %d: %s", n, why))
		}
		if len(files) > 0 && files[len(files)-1].Path >= f.Path {
			return nil, fault("path_unsafe", len(b)-len(rest), fmt.Sprintf("tree manifest line %d: paths are not in order", n))
		}
		if files = append(files, f); len(files) > limits.Files {
			return nil, fault("tree_too_large", -1, fmt.Sprintf("more than %d files", limits.Files))
		}
		rest = tail
	}
	return NewTree(files, limits)
}

func parseTreeLine(line string) (f File, why string) {
	fields := strings.SplitN(line, " ", 4)
	if len(fields) != 4 || fields[0] != "x" && fields[0] != "-" {
		return f, "expected <mode> <sha256> <size> <path>"
	}
	if _, err := ParseDigest(digestPrefix + fields[1]); err != nil {
		return f, err.Error()
	}
	if _, err := hex.Decode(f.SHA256[:], []byte(fields[1])); err != nil {
		return f, err.Error()
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != fields[2] {
		return f, "the size is no canonical number"
	}
	f.Exec, f.Size, f.Path = fields[0] == "x", size, fields[3]
	return f, ""
}
