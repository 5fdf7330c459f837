package lockfile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/skillpm/skillpm/skill"
)

// Tree hashes every file of the directory and returns its tree, whose Digest is
// the skill's identity, and the digest of the signature file, "" without one.
// A link, a special file or a path that no tree may hold is refused with
// path_unsafe, too much with tree_too_large.
//
// Where files have no executable bit (Windows), modes are taken from like, the
// tree that is expected; nil means that no file is executable.
func (d *Dir) Tree(limits skill.Limits, like *skill.Tree) (tree *skill.Tree, signature skill.Digest, err error) {
	var files []skill.File
	total := int64(0)
	err = d.walk(limits, func(p string, info fs.FileInfo) error {
		if total += info.Size(); total > limits.Bytes || info.Size() > limits.FileBytes {
			return &skill.Error{Code: "tree_too_large", Offset: -1, Message: fmt.Sprintf("%q goes beyond the limit of %d bytes in all or %d a file", p, limits.Bytes, limits.FileBytes)}
		}
		f, err := d.hash(p)
		if err != nil {
			return err
		}
		if p == skill.SignatureFile {
			signature = skill.DigestFromSum(f.SHA256)
			return nil
		}
		f.Exec = executable(p, info, like)
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	tree, err = skill.NewTree(files, limits)
	return tree, signature, err
}

func executable(p string, info fs.FileInfo, like *skill.Tree) bool {
	if runtime.GOOS != "windows" {
		return info.Mode()&0o100 != 0
	}
	if like == nil {
		return false
	}
	f, _ := like.File(p)
	return f.Exec
}

func (d *Dir) hash(p string) (skill.File, error) {
	f, err := d.openRegular(p)
	if err != nil {
		return skill.File{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return skill.File{}, err
	}
	out := skill.File{Path: p, Size: n}
	h.Sum(out.SHA256[:0])
	return out, nil
}

// Verify hashes the whole directory and compares it with what e locks: digest
// and signature file. want, which may be nil, is the tree that e.Digest stands
// for (its manifest lies beside it in skillpm's store); with it the error names
// the file, and on Windows it is needed if a file of the skill is executable.
//
// An error of code verify_changed, verify_missing or verify_extra means that the
// skill is not what was locked; any other, that it could not be read. A path
// entry locks no content and always passes.
func (d *Dir) Verify(e *Entry, want *skill.Tree) error {
	if e == nil {
		return &skill.Error{Code: "verify_extra", Offset: -1, Message: fmt.Sprintf("`%s` is not in the lock", d.name)}
	}
	if e.Source.Type == TypePath {
		return nil
	}
	if want != nil && want.Digest() != e.Digest {
		return &skill.Error{Code: "digest_mismatch", Offset: -1, Message: fmt.Sprintf("the tree to compare `%s` with has digest %s, locked is %s", e.Key, want.Digest(), e.Digest)}
	}
	got, signature, err := d.Tree(skill.DefaultLimits, want)
	if err != nil {
		return err
	}
	if digest := got.Digest(); digest != e.Digest {
		return changed(e, digest, want, got)
	}
	return verifySignature(e, signature)
}

func changed(e *Entry, digest skill.Digest, want, got *skill.Tree) error {
	fault := &skill.Error{Code: "verify_changed", Offset: -1, Message: fmt.Sprintf("`%s` has digest %s, locked is %s", e.Key, digest, e.Digest)}
	if want == nil {
		return fault
	}
	diffs := Compare(want, got)
	first := diffs[0] // the digests differ, so at least one file does
	fault.Code = map[string]string{Changed: "verify_changed", Mode: "verify_changed", Missing: "verify_missing", Extra: "verify_extra"}[first.Kind]
	fault.Message = fmt.Sprintf("`%s`: %s %q", e.Key, first.Kind, first.Path)
	if len(diffs) > 1 {
		fault.Message += fmt.Sprintf(" and %d more", len(diffs)-1)
	}
	return fault
}

func verifySignature(e *Entry, got skill.Digest) error {
	want := skill.Digest("")
	if e.Signature != nil {
		want = e.Signature.Bundle
	}
	switch {
	case got == want:
		return nil
	case got == "":
		return &skill.Error{Code: "verify_missing", Offset: -1, Message: fmt.Sprintf("`%s` was locked with a signature, and %s is gone", e.Key, skill.SignatureFile)}
	case want == "":
		return &skill.Error{Code: "verify_extra", Offset: -1, Message: fmt.Sprintf("`%s` was locked without a signature, and %s is there", e.Key, skill.SignatureFile)}
	}
	return &skill.Error{Code: "verify_changed", Offset: -1, Message: fmt.Sprintf("the signature of `%s` is another than the locked one", e.Key)}
}

// The kinds of a Difference.
const (
	Changed = "changed" // other bytes
	Mode    = "mode"    // same bytes, other executable bit
	Missing = "missing" // in want only
	Extra   = "extra"   // in got only
)

// Difference is one file in which two trees differ.
type Difference struct {
	Kind, Path string
}

// Compare returns the differences between two trees by path. want usually comes
// from the tree manifest kept in skillpm's store, checked against the digest.
func Compare(want, got *skill.Tree) []Difference {
	var diffs []Difference
	a, b := want.Files(), got.Files()
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			diffs = append(diffs, Difference{Missing, a[0].Path})
			a = a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			diffs = append(diffs, Difference{Extra, b[0].Path})
			b = b[1:]
		default:
			if a[0].SHA256 != b[0].SHA256 {
				diffs = append(diffs, Difference{Changed, a[0].Path})
			} else if a[0].Exec != b[0].Exec {
				diffs = append(diffs, Difference{Mode, a[0].Path})
			}
			a, b = a[1:], b[1:]
		}
	}
	return diffs
}

// VerifyDir opens dir and verifies it against e, as Dir.Verify does. A missing
// directory is verify_missing.
func VerifyDir(dir string, e *Entry, want *skill.Tree) error {
	d, err := OpenDir(dir)
	if os.IsNotExist(err) {
		return &skill.Error{Code: "verify_missing", Offset: -1, Message: fmt.Sprintf("`%s` is not there", dir)}
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Verify(e, want)
}
