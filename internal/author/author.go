// Package author is an author's release path: it reads a skill's directory as an
// installer would get it, signs it, checks the signature and tags its version in
// git. Package cmd calls it for validate, inspect, sign and tag; it asks for keys
// as values and prints nothing.
//
//	s, err := author.Read(ctx, wd, "skills/deploy")
//	status, err := s.Sign(signer, now)
//
// Content is read with the installer's own loader (package fetch): in a git work
// tree from the objects that git would record of it, elsewhere from the
// directory. Tagging runs the git program, since an author's identity, hooks and
// remotes are git's own business.
package author

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
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
	// Bundle is the signature in it, nil if there is none.
	Bundle []byte
	// State says what Tree and Bundle were read from.
	State State
	// Report is what validation says of the directory.
	Report *parse.Report
}

// Read reads the one skill that target names, relative to base. Problems that
// leave no name or no content are its error; others are only in Report.
func Read(ctx context.Context, base, target string) (*Skill, error) {
	skills, err := ReadAll(ctx, base, []string{target})
	if err != nil {
		return nil, err
	}
	return skills[0], nil
}

// ReadAll reads the skills that targets name, each as Read does. The error holds
// what is wrong with those that are not in the result.
func ReadAll(ctx context.Context, base string, targets []string) ([]*Skill, error) {
	var skills []*Skill
	var places []parse.Place
	var faults diag.List
	for _, target := range targets {
		s, err := examine(ctx, base, target)
		if err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		skills, places = append(skills, s), append(places, parse.Place{Dir: s.Dir, Name: s.Name})
	}
	contents, err := loadAll(ctx, places)
	if err != nil {
		return nil, err
	}
	var read []*Skill
	for i, s := range skills {
		c := contents[i]
		if c.err != nil {
			faults = append(faults, diag.All(s.name(c.err))...)
			continue
		}
		s.Tree, s.Bundle, s.State = c.Tree, c.Signature, c.state
		read = append(read, s)
	}
	return read, faults.Err()
}

// examine reads what the directory says of itself.
func examine(ctx context.Context, base, target string) (*Skill, error) {
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
	if x.Skill == nil || x.Skill.Name == "" || x.BrokenLinks {
		return nil, x.Report.Err()
	}
	return &Skill{Dir: x.Dir, Label: x.Label, Name: x.Skill.Name, Report: x.Report}, nil
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

// GenerateKey writes a new private key to file, an absolute path (mode 0600), and
// its public half to file.pub. Neither may exist: a lost key cannot be made again.
// In a git work tree git has to ignore the private one.
func GenerateKey(ctx context.Context, random io.Reader, file string, passphrase []byte) error {
	public := file + ".pub"
	for _, name := range []string{file, public} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return diag.New(diag.Usage, "%s is already there; a key is never overwritten", name).WithHint("choose another name")
		}
	}
	if err := keptSecret(ctx, file); err != nil {
		return err
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

// keptSecret refuses a file that the next `git add` would publish.
func keptSecret(ctx context.Context, file string) error {
	dir := filepath.Dir(file)
	root, err := workTree(ctx, dir)
	if err != nil || root == "" {
		return err
	}
	r := &repository{root: root}
	ignored, err := r.ignores(ctx, file)
	if err != nil || ignored {
		return err
	}
	return diag.New(diag.KeyNotIgnored, "%s would lie in the git work tree %s, which does not ignore it", file, r.root).
		WithHint("name a file outside of it, or add /%s to its .gitignore first", r.relative(file))
}
