package fetch

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Resolved is what a ref: means.
type Resolved struct {
	Ref    string // full refs/… name, "" for a commit
	Commit ID
}

// Want returns what to ask a Source for.
func (r Resolved) Want() Want { return Want{Commit: r.Commit, Ref: r.Ref} }

// IsCommit reports whether name is a full commit id: 40 or 64 hex digits.
func IsCommit(name string) bool {
	if len(name) != 40 && len(name) != 64 {
		return false
	}
	_, err := hex.DecodeString(name)
	return err == nil
}

// RefPrefixes returns what to ask Source.Refs for, so that ResolveRef can
// decide on name; nil if name is a full commit and needs no listing.
func RefPrefixes(name string) []string {
	switch {
	case IsCommit(name):
		return nil
	case strings.HasPrefix(name, "refs/"):
		return []string{name}
	case name == "HEAD":
		return []string{"HEAD"}
	}
	return []string{tagPrefix + name, branchPrefix + name}
}

// ResolveRef finds the commit that name means: a full commit, then a tag, then
// a branch; a full refs/… name means itself and HEAD the default branch. The
// error is ref_not_found.
func ResolveRef(refs *Refs, repo skill.Source, name string) (Resolved, error) {
	if IsCommit(name) {
		return Resolved{Commit: ID(strings.ToLower(name))}, nil
	}
	if name == "HEAD" {
		return DefaultBranch(refs, repo)
	}
	full := []string{tagPrefix + name, branchPrefix + name}
	if strings.HasPrefix(name, "refs/") {
		full = []string{name}
	}
	for _, f := range full {
		if r, ok := refs.Find(f); ok {
			return Resolved{Ref: f, Commit: r.Commit()}, nil
		}
	}
	e := diag.New(diag.RefNotFound, "no branch, tag or commit `%s` in %s", diag.Escape(name), repo.Repository())
	if abbreviated(name) {
		return Resolved{}, e.WithHint("write the commit in full, with 40 digits")
	}
	return Resolved{}, e.WithHint("`skillpm versions %s` lists what there is", repo.Identity())
}

func abbreviated(name string) bool {
	return len(name) >= 7 && len(name) < 40 && strings.Trim(name, "0123456789abcdefABCDEF") == ""
}

// Find returns the ref of that full name.
func (r *Refs) Find(name string) (Ref, bool) {
	i, ok := slices.BinarySearchFunc(r.List, name, func(r Ref, name string) int { return strings.Compare(r.Name, name) })
	if !ok {
		return Ref{}, false
	}
	return r.List[i], true
}

// Select returns the refs whose names begin with one of prefixes, and HEAD if
// it does; without prefixes all.
func (r *Refs) Select(prefixes ...string) *Refs {
	if len(prefixes) == 0 {
		return r
	}
	asked := func(name string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	out := &Refs{}
	if asked("HEAD") {
		out.Head, out.HeadID = r.Head, r.HeadID
	}
	for _, ref := range r.List {
		if asked(ref.Name) {
			out.List = append(out.List, ref)
		}
	}
	return out
}

// DefaultBranch returns the head of the default branch, with Ref "" where the
// server does not say its name. An empty repository is ref_not_found.
func DefaultBranch(refs *Refs, repo skill.Source) (Resolved, error) {
	if refs.HeadID != "" {
		return Resolved{Ref: refs.Head, Commit: refs.HeadID}, nil
	}
	if r, ok := refs.Find(refs.Head); ok {
		return Resolved{Ref: r.Name, Commit: r.Commit()}, nil
	}
	return Resolved{}, diag.New(diag.RefNotFound, "%s has no default branch: it is empty, or its HEAD names nothing", repo.Repository()).
		WithHint("push a commit first, or name a branch with ref:NAME")
}
