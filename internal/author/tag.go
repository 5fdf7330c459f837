package author

import (
	"cmp"
	"context"
	"path"
	"strings"
	"time"

	"github.com/skillpm/skillpm/fetch"
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
	// Form says which skills the tag is for.
	Form Form
	// HideVersions permits a tag that takes versions away from installers.
	HideVersions bool
	// Push sends the tag to Remote, "origin" if empty. Its tags are then what
	// installers see, else those of this repository.
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
	// Effects are the changes for installers, the skill's own first.
	Effects []Effect `json:"effects"`
	Skill   *Skill   `json:"-"`
}

// Tag releases a version of the skill NAME of the repository around Base: it
// validates the skill, signs it if asked (and commits the signature, or the tag
// would not hold it), and makes an annotated tag, in the form that the tags of
// the skill have, else PATH/vX.Y.Z. Before there is a tag, the commit is read and
// judged as installers will, and what they see of each skill's versions is
// compared.
func Tag(ctx context.Context, name, version string, opt TagOptions) (*Tagged, error) {
	v, err := skill.ParseVersion(version)
	if err != nil {
		return nil, diag.New(diag.Usage, "%s", err).WithHint("a version is written as 1.2.0")
	}
	opt.Remote = cmp.Or(opt.Remote, "origin")
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
	t := &Tagged{Name: s.Name, Version: v.String(), Path: at, Digest: s.Tree.Digest(), Signed: s.Bundle != nil || opt.Signer != nil, Skill: s}
	if err := repo.ready(ctx, s, t, opt); err != nil {
		return nil, err
	}
	if err := repo.plan(ctx, t, v, opt); err != nil {
		return nil, err
	}
	if opt.DryRun {
		return t, nil
	}
	return t, repo.release(ctx, t, opt)
}

// ready refuses a skill that is not fit for release.
func (r *repository) ready(ctx context.Context, s *Skill, t *Tagged, opt TagOptions) error {
	if err := r.uncommitted(ctx, t.Path, opt.Signer != nil); err != nil {
		return err
	}
	if err := r.ignoredFiles(ctx, t.Path); err != nil {
		return err
	}
	for _, e := range s.Report.Findings() {
		if e.Code == diag.PlaceholderLeft {
			e.Severity = diag.SeverityError
			return e
		}
	}
	if opt.Signer != nil || s.Bundle == nil {
		return nil
	}
	return s.CheckContent(ctx, opt.Now)
}

// plan decides on the tag and compares what installers see before and after it.
func (r *repository) plan(ctx context.Context, t *Tagged, v skill.Version, opt TagOptions) error {
	here, err := r.tags(ctx, ".")
	if err != nil {
		return err
	}
	seen := here
	if opt.Push {
		if seen, err = r.tags(ctx, opt.Remote); err != nil {
			return err
		}
	}
	h, err := r.openHead(ctx, here, opt.Remote)
	if err != nil {
		return err
	}
	defer h.close()
	place := h.placeOf(inRepository(t.Path))
	if t.Tag, err = tagName(seen, place, opt.Form, v); err != nil {
		return err
	}
	list := fetch.Versions(seen, place)
	if err := untagged(t, v, list, here, seen); err != nil {
		return err
	}
	places, err := h.places(ctx, place)
	if err != nil {
		return err
	}
	t.Effects = effects(seen, t.Tag, h.commit, places, func(at []fetch.SkillAt) map[fetch.SkillAt]bool { return h.present(ctx, at) })
	if opt.HideVersions {
		return nil
	}
	return hidden(t, list)
}

// untagged refuses a version that there is already in the tag's class, and a tag
// that there is already anywhere.
func untagged(t *Tagged, v skill.Version, list fetch.VersionList, here, seen *fetch.Refs) error {
	old := ""
	_, bare := fetch.TagVersion(t.Tag, fetch.Place{})
	for _, c := range list.Candidates {
		if c.Version.Compare(v) == 0 && bare == (list.Class == fetch.ClassRepository) {
			old = c.Tag
		}
	}
	for _, refs := range []*fetch.Refs{here, seen} {
		if _, ok := refs.Find("refs/tags/" + t.Tag); ok {
			old = t.Tag
		}
	}
	if old == "" {
		return nil
	}
	return diag.New(diag.TagExists, "`%s` %s is already tagged: %s", t.Name, t.Version, old).WithHint("a published version is never moved: choose the next one")
}

// release signs and tags.
func (r *repository) release(ctx context.Context, t *Tagged, opt TagOptions) error {
	if opt.Signer != nil {
		var err error
		if t.Commit, err = r.signAndCommit(ctx, t.Skill, t, opt); err != nil {
			return err
		}
	}
	commit, err := r.checkHead(ctx, t, opt)
	if err != nil {
		return err
	}
	if _, err := r.git(ctx, "tag", "--annotate", "--message", t.Name+" "+t.Version, "--", t.Tag, string(commit)); err != nil {
		return err
	}
	if !opt.Push {
		return nil
	}
	return r.push(ctx, t, opt.Remote)
}

// checkHead reads the commit that gets the tag as installers will, and returns
// it if that is the skill that was validated, with a signature that holds.
func (r *repository) checkHead(ctx context.Context, t *Tagged, opt TagOptions) (fetch.ID, error) {
	h, err := r.openHead(ctx, &fetch.Refs{}, opt.Remote)
	if err != nil {
		return "", err
	}
	defer h.close()
	list, err := loadFrom(ctx, h.snap, h.commit, []string{t.Path})
	if err != nil {
		return "", err
	}
	c := list[0]
	if c.err != nil {
		return "", t.Skill.name(c.err)
	}
	if c.Tree.Digest() != t.Digest {
		return "", diag.New(diag.WorktreeDirty, "the commit does not hold the skill that was validated: something changed it meanwhile").WithHint("run again")
	}
	s := *t.Skill
	s.Tree, s.Bundle = c.Tree, c.Signature
	if t.Signed = s.Bundle != nil; opt.Signer != nil {
		return h.commit, s.Check(opt.Signer, opt.Now)
	}
	if !t.Signed {
		return h.commit, nil
	}
	return h.commit, s.CheckContent(ctx, opt.Now)
}

// findNamed reads the skill of the repository that declares the name, or that
// lies at it, if name is a path of several elements. Its report is without
// problems.
func findNamed(ctx context.Context, repo *repository, name string) (*Skill, error) {
	labels, err := Find(ctx, repo.root, ".")
	if err != nil {
		return nil, err
	}
	var found []*Skill
	var faults error
	for _, label := range labels {
		s, err := examine(ctx, repo.root, label)
		switch {
		case err != nil && path.Base(label) == name:
			faults = err
		case err == nil && label == name && strings.Contains(name, "/"):
			return readChosen(ctx, repo, s)
		case err == nil && s.Name == name:
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 1:
		return readChosen(ctx, repo, found[0])
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

func readChosen(ctx context.Context, repo *repository, s *Skill) (*Skill, error) {
	if err := s.Report.Err(); err != nil {
		return nil, err
	}
	return Read(ctx, repo.root, s.Label)
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
	if _, err := r.git(ctx, "push", "--", remote, "refs/tags/"+t.Tag); err != nil {
		return err
	}
	t.Pushed = true
	return nil
}
