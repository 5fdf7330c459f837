package fetch

import (
	"github.com/skillpm/skillpm/skill"
)

// Place is a skill's place in its repository, as far as tags can name it.
type Place struct {
	Path string // directory, "" is the root
	Name string // last element of Path, for a root skill the repository's name
}

// PlaceOf returns the place of src.
func PlaceOf(src skill.Source) Place { return Place{Path: src.Subpath(), Name: src.Name()} }

// TagClass says how tags name a skill's versions; classes never mix.
type TagClass int

const (
	// ClassNone: no tag is a version.
	ClassNone TagClass = iota
	// ClassSkill: tags name the skill (rules T1 and T2).
	ClassSkill
	// ClassRepository: tags version the whole repository (rule T3).
	ClassRepository
)

// Candidate is one version of a skill.
type Candidate struct {
	Version skill.Version
	Tag     string // without refs/tags/
	Commit  ID
	// Conflicts are tags of the same version at other commits (rule T5): choosing
	// the version is ambiguous_version.
	Conflicts []Ref
}

// Want returns what to ask a Source for.
func (c Candidate) Want() Want { return Want{Commit: c.Commit, Ref: "refs/tags/" + c.Tag} }

// VersionList is what a repository's tags say about one skill.
type VersionList struct {
	Class      TagClass
	Candidates []Candidate // highest version first
	// Repository holds the T3 versions, highest first, where Class is
	// ClassSkill: they are no candidates, only a reason for tags_mixed.
	Repository []Candidate
}

// Versions reads versions from tags (rules T1 to T5 and T7). It is pure: that a
// tag's tree has such a skill at all (T6) is for SkillFiles to say.
func Versions(refs *Refs, at Place) VersionList { return VersionList{} }

// TagsMixed reports whether the newest repository-wide version is of a later
// commit than the newest one of the skill. Both commits must be in s: Mixed
// wants them.
func (l VersionList) TagsMixed(s Snapshot) (bool, error) { return false, errNotYet }

// Mixed returns the two commits that TagsMixed compares, nil where there is
// nothing to compare.
func (l VersionList) Mixed() []Want { return nil }

// Resolved is what a ref: means.
type Resolved struct {
	Ref    string // full refs/… name, "" for a commit
	Commit ID
}

// RefPrefixes returns what to ask Source.Refs for, so that ResolveRef can
// decide on name; nil if name is a full commit and needs no listing.
func RefPrefixes(name string) []string { return nil }

// ResolveRef finds the commit that name means: a full commit, then a tag, then
// a branch; a full refs/… name means itself. The error is ref_not_found.
func ResolveRef(refs *Refs, repo skill.Source, name string) (Resolved, error) {
	return Resolved{}, errNotYet
}

// DefaultBranch returns the head of the default branch. An empty repository is
// ref_not_found.
func DefaultBranch(refs *Refs, repo skill.Source) (Resolved, error) { return Resolved{}, errNotYet }
