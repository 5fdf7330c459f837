package author

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// TagOptions say how Tag works.
type TagOptions struct {
	// Base is the directory inside the repository that the user is in.
	Base string
	// Signer signs the skill first, if not nil.
	Signer *signing.Signer
	// Push sends the tag to Remote, "origin" if empty.
	Push   bool
	Remote string
	// DryRun checks everything and changes nothing.
	DryRun bool
	Now    time.Time
}

// Tagged is what Tag did.
type Tagged struct {
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Tag     string       `json:"tag"`
	Path    string       `json:"path"`
	Digest  skill.Digest `json:"digest"`
	Signed  bool         `json:"signed"`
	Pushed  bool         `json:"pushed,omitempty"`
	// Commit is set where the signature had to be committed first.
	Commit string `json:"commit,omitempty"`
	Skill  *Skill `json:"-"`
}

// Tag validates the skill NAME of the repository around Base, signs it if asked
// (and commits the signature, or the tag would not hold it), and makes the
// annotated tag of its version: PATH/vX.Y.Z, for a skill at the root vX.Y.Z.
func Tag(ctx context.Context, name, version string, opt TagOptions) (*Tagged, error) {
	v, err := skill.ParseVersion(version)
	if err != nil {
		return nil, diag.New(diag.Usage, "%s", err).WithHint("a version is written as 1.2.0")
	}
	repo, err := openRepository(ctx, opt.Base)
	if err != nil {
		return nil, err
	}
	s, err := findNamed(ctx, repo, name)
	if err != nil {
		return nil, err
	}
	at, err := repo.within(s.Dir)
	if err != nil {
		return nil, err
	}
	t := &Tagged{Name: s.Name, Version: v.String(), Tag: join(at, "v"+v.String()), Path: at, Digest: s.Tree.Digest(), Skill: s}
	if err := repo.ready(ctx, s, t); err != nil {
		return nil, err
	}
	if opt.DryRun {
		t.Signed = s.Bundle != nil || opt.Signer != nil
		return t, nil
	}
	if opt.Signer != nil {
		if t.Commit, err = repo.signAndCommit(ctx, s, t, opt); err != nil {
			return nil, err
		}
	}
	t.Signed = s.Bundle != nil
	if _, err := repo.git(ctx, "tag", "--annotate", "--message", s.Name+" "+t.Version, t.Tag); err != nil {
		return nil, err
	}
	if opt.Push {
		err = repo.push(ctx, t, opt.Remote)
	}
	return t, err
}

// findNamed reads the skill of the repository that declares the name, or that
// lies at it, if name is a path of several elements.
func findNamed(ctx context.Context, repo *repository, name string) (*Skill, error) {
	labels, err := Find(ctx, repo.root, ".")
	if err != nil {
		return nil, err
	}
	var found []*Skill
	var faults error
	for _, label := range labels {
		s, err := Read(ctx, repo.root, label)
		switch {
		case err != nil && path.Base(label) == name:
			faults = err
		case err == nil && label == name && strings.Contains(name, "/"):
			return s, s.Report.Err()
		case err == nil && s.Name == name:
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], found[0].Report.Err()
	case len(found) > 1:
		e := diag.New(diag.AmbiguousSkill, "%d skills of this repository declare the name `%s`", len(found), name)
		for _, s := range found {
			e = e.WithDetail("%s", s.Label)
			if strings.Contains(s.Label, "/") {
				e = e.WithHint("say which by its path: `skillpm tag %s X.Y.Z`", s.Label)
			}
		}
		return nil, e
	case faults != nil:
		return nil, faults
	}
	return nil, diag.New(diag.SkillNotFound, "no skill of this repository declares the name `%s`", name).WithHint("`skillpm validate .` lists the skills")
}

// ready refuses what would make a wrong tag.
func (r *repository) ready(ctx context.Context, s *Skill, t *Tagged) error {
	if old, err := r.git(ctx, "tag", "--list", t.Tag); err != nil {
		return err
	} else if old != "" {
		return diag.New(diag.TagExists, "the tag `%s` is already there", t.Tag).WithHint("a published version is never moved: choose the next one")
	}
	if err := r.uncommitted(ctx, t.Path); err != nil {
		return err
	}
	return r.ignoredFiles(ctx, t.Path)
}

// signAndCommit returns the commit that holds the new signature, "" if the one
// there is as good and committed.
func (r *repository) signAndCommit(ctx context.Context, s *Skill, t *Tagged, opt TagOptions) (string, error) {
	if _, err := s.Sign(opt.Signer, opt.Now); err != nil {
		return "", err
	}
	file := join(t.Path, skill.SignatureFile)
	changed, err := r.git(ctx, "status", "--porcelain", "--untracked-files=all", "--", file)
	if err != nil || changed == "" {
		return "", err
	}
	if _, err := r.git(ctx, "add", "--", file); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, "commit", "--quiet", "--message", "sign "+t.Name+" "+t.Version, "--", file); err != nil {
		return "", err
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

func (r *repository) push(ctx context.Context, t *Tagged, remote string) error {
	if remote == "" {
		remote = "origin"
	}
	if _, err := r.git(ctx, "push", "--", remote, "refs/tags/"+t.Tag); err != nil {
		return err
	}
	t.Pushed = true
	return nil
}
