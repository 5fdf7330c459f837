// Package author is an author's release path: it reads a skill's directory as
// the tree that an install would make of it, signs it, checks the signature and
// tags its version in git. Package cmd calls it for sign and tag; it asks for
// keys as values and prints nothing.
//
//	s, err := author.Read(ctx, wd, "skills/deploy")
//	status, err := s.Sign(signer, now)
//
// Signing and checking use the disk alone. Tagging runs the git program, since an
// author's identity, hooks and remotes are git's own business.
package author

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// Skill is a skill in a working directory.
type Skill struct {
	Dir   string // absolute
	Label string // as the user named it
	Name  string // as SKILL.md declares it
	// Tree is what an install would make of the directory, links replaced.
	Tree *skill.Tree
	// Bundle is the signature beside it, nil if there is none.
	Bundle []byte
	// Report is what validation says.
	Report *parse.Report
}

// Read reads the one skill that target names, relative to base. Problems that
// leave no name or no tree are its error; others are only in Report.
func Read(ctx context.Context, base, target string) (*Skill, error) {
	x, err := parse.Examine(ctx, target, parse.ValidateOptions{Base: base})
	if err != nil {
		return nil, err
	}
	if x.Dir == "" {
		if err := x.Report.Err(); err != nil {
			return nil, err
		}
		return nil, diag.New(diag.NoSkillFound, "`%s` holds several skills, not one", target).WithHint("name one, or use --all")
	}
	if x.Skill == nil || x.Skill.Name == "" || x.Copied == nil {
		return nil, x.Report.Err()
	}
	s := &Skill{Dir: x.Dir, Label: x.Label, Name: x.Skill.Name, Report: x.Report}
	root, err := os.OpenRoot(x.Dir)
	if err != nil {
		return nil, diag.New(diag.PermissionDenied, "the skill cannot be read").At(x.Label, 0, 0).WithCause(err)
	}
	defer root.Close()
	if s.Tree, err = readTree(ctx, root, x.Copied); err != nil {
		return nil, err
	}
	s.Bundle, err = readBundle(root)
	return s, err
}

func readTree(ctx context.Context, root *os.Root, copied []parse.TreeFile) (*skill.Tree, error) {
	files := make([]skill.File, 0, len(copied))
	for _, f := range copied {
		if f.Path == skill.SignatureFile {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sum, n, err := hashFile(root, f.From)
		if err != nil {
			return nil, diag.New(diag.PermissionDenied, "a file of the skill cannot be read").At(f.Path, 0, 0).WithCause(err)
		}
		files = append(files, skill.File{Path: f.Path, Exec: f.Exec, Size: n, SHA256: sum})
	}
	return skill.NewTree(files, skill.DefaultLimits)
}

func hashFile(root *os.Root, path string) (sum [sha256.Size]byte, n int64, err error) {
	f, err := regular.OpenIn(root, filepath.FromSlash(path))
	if err != nil {
		return sum, 0, err
	}
	defer f.Close()
	h := sha256.New()
	if n, err = io.Copy(h, io.LimitReader(f, skill.DefaultLimits.FileBytes+1)); err != nil {
		return sum, n, err
	}
	h.Sum(sum[:0])
	return sum, n, nil
}

func readBundle(root *os.Root) ([]byte, error) {
	f, err := regular.OpenIn(root, skill.SignatureFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diag.New(diag.PermissionDenied, "the signature cannot be read").At(skill.SignatureFile, 0, 0).WithCause(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, signing.MaxBundleBytes+1))
}

// Find lists the skills below target, as the user would name them, in order.
func Find(ctx context.Context, base, target string) ([]string, error) {
	report, err := parse.Validate(ctx, []string{target}, parse.ValidateOptions{Base: base})
	if err != nil {
		return nil, err
	}
	var labels []string
	for _, l := range report.Lines {
		if report.Skills > 0 && !slices.Contains(labels, l.Path) {
			labels = append(labels, l.Path)
		}
	}
	if len(labels) == 0 {
		return nil, report.Err()
	}
	return labels, nil
}

// Status is what Sign or Check found.
type Status string

// The states of a skill's signature.
const (
	Signed    Status = "signed"    // written now
	Unchanged Status = "unchanged" // was already this signer's, over this content
)

// Sign writes the signature beside the skill, unless the one there is this
// signer's and holds. now judges a certificate's window.
func (s *Skill) Sign(signer *signing.Signer, now time.Time) (Status, error) {
	if s.Bundle != nil && signer.Check(s.Name, s.Tree, s.Bundle, now) == nil {
		return Unchanged, nil
	}
	bundle, err := signer.Sign(s.Name, s.Tree)
	if err != nil {
		return "", err
	}
	if err := signer.Check(s.Name, s.Tree, bundle, now); err != nil {
		return "", err
	}
	file := filepath.Join(s.Dir, skill.SignatureFile)
	if err := (*fsx.FS)(nil).WriteAtomic(file, bundle, 0o644); err != nil {
		return "", fsx.Diag(err, "write the signature")
	}
	s.Bundle = bundle
	return Signed, nil
}

// Check reports whether the signature beside the skill is this signer's and
// holds.
func (s *Skill) Check(signer *signing.Signer, now time.Time) error {
	if s.Bundle == nil {
		return diag.New(diag.SignatureMissing, "`%s` is not signed", s.Name).At(s.Label, 0, 0)
	}
	return s.name(signer.Check(s.Name, s.Tree, s.Bundle, now))
}

// GenerateKey writes a new private key to file (mode 0600) and its public half
// to file.pub. Neither may exist: a lost key cannot be made again.
func GenerateKey(random io.Reader, file string, passphrase []byte) error {
	public := file + ".pub"
	for _, name := range []string{file, public} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return diag.New(diag.Usage, "%s is already there; a key is never overwritten", name).WithHint("choose another name")
		}
	}
	private, pub, err := signing.GenerateKey(random, passphrase)
	if err != nil {
		return err
	}
	if err := (*fsx.FS)(nil).WriteAtomic(file, private, 0o600); err != nil {
		return fsx.Diag(err, "write the private key")
	}
	if err := (*fsx.FS)(nil).WriteAtomic(public, pub, 0o644); err != nil {
		return fsx.Diag(err, "write the public key")
	}
	return nil
}
