package fetch

import (
	"slices"
	"strings"

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

const tagPrefix, branchPrefix = "refs/tags/", "refs/heads/"

// Want returns what to ask a Source for.
func (c Candidate) Want() Want { return Want{Commit: c.Commit, Ref: tagPrefix + c.Tag} }

// VersionList is what a repository's tags say about one skill.
type VersionList struct {
	Class      TagClass
	Candidates []Candidate // highest version first
	// Repository holds the T3 versions, highest first, where Class is
	// ClassSkill: they are no candidates, only a reason for tags_mixed.
	Repository []Candidate
}

// Versions reads versions from tags (rules T1 to T5 and T7). It is pure: that a
// tag's tree has such a skill at all (T6) is for SkillFiles to say. Whoever asks
// for several places of one repository makes Tags of it once.
func Versions(refs *Refs, at Place) VersionList { return NewTags(refs).Versions(at) }

// Tags are a repository's version tags, read once for all of its skills. They
// do not change and are safe for concurrent use.
type Tags struct {
	bare  []Candidate         // v1.2.3 and 1.2.3
	named map[string][]tagged // by what stands before the version: pdf/, pdf@, …
}

// NewTags reads the version tags of a listing, in time proportional to it.
func NewTags(refs *Refs) *Tags {
	t := &Tags{named: map[string][]tagged{}}
	var whole []tagged
	for _, r := range refs.List {
		name, ok := strings.CutPrefix(r.Name, tagPrefix)
		if !ok {
			continue
		}
		if v, ok := tagVersion(name); ok {
			whole = append(whole, tagged{bareForm(name), name, v, r})
			continue
		}
		for i := 0; i < len(name); i++ {
			if name[i] != '/' && name[i] != '@' && name[i] != '-' {
				continue
			}
			if v, ok := tagVersion(name[i+1:]); ok {
				prefix := name[:i+1]
				t.named[prefix] = append(t.named[prefix], tagged{0, name, v, r})
			}
		}
	}
	t.bare = candidates(whole)
	return t
}

// Versions returns what the tags say of the skill at at. The lists are shared
// between calls and not to be modified.
func (t *Tags) Versions(at Place) VersionList {
	var own []tagged
	for _, p := range prefixes(at) {
		for _, tag := range t.named[p.text] {
			tag.form = p.form
			own = append(own, tag)
		}
	}
	switch {
	case len(own) > 0:
		return VersionList{Class: ClassSkill, Candidates: candidates(own), Repository: t.bare}
	case len(t.bare) > 0:
		return VersionList{Class: ClassRepository, Candidates: t.bare}
	}
	return VersionList{}
}

// tagForm is the spelling of a version tag, in the order in which one of
// several tags for one version is preferred (rule T4).
type tagForm int

const (
	formPath       tagForm = iota // skills/pdf/v1.2.3 (T1)
	formSlash                     // pdf/v1.2.3 (T2, as those that follow)
	formAt                        // pdf@1.2.3
	formDash                      // pdf-v1.2.3
	formDoubleDash                // pdf--v1.2.3
	formBare                      // v1.2.3 (T3)
	formBareNoV                   // 1.2.3 (T3)
)

type tagged struct {
	form    tagForm
	name    string
	version skill.Version
	ref     Ref
}

// TagVersion returns the version that tag gives the skill at at (rules T1 to T3
// and T7), false where it gives none.
func TagVersion(tag string, at Place) (skill.Version, bool) {
	_, v, ok := readTag(tag, at)
	return v, ok
}

// readTag returns how tag names a version of the skill at at, if it does.
func readTag(tag string, at Place) (tagForm, skill.Version, bool) {
	if v, ok := tagVersion(tag); ok {
		return bareForm(tag), v, true
	}
	for _, p := range prefixes(at) {
		if rest, ok := strings.CutPrefix(tag, p.text); ok {
			if v, ok := tagVersion(rest); ok {
				return p.form, v, true
			}
		}
	}
	return 0, skill.Version{}, false
}

func bareForm(tag string) tagForm {
	if tag[0] == 'v' {
		return formBare
	}
	return formBareNoV
}

// tagPrefixOf is what a tag of the skill's own begins with.
type tagPrefixOf struct {
	text string
	form tagForm
}

// prefixes lists what tags of the skill at at begin with, each once.
func prefixes(at Place) []tagPrefixOf {
	if at.Name == "" {
		return nil
	}
	list := []tagPrefixOf{
		{at.Name + "/", formSlash}, {at.Name + "@", formAt}, {at.Name + "-", formDash}, {at.Name + "--", formDoubleDash},
	}
	switch at.Path {
	case "": // a root skill's path is no prefix
		return list
	case at.Name:
		return append([]tagPrefixOf{{at.Path + "/", formPath}}, list[1:]...)
	}
	return append([]tagPrefixOf{{at.Path + "/", formPath}}, list...)
}

// tagVersion reads a strict version after one optional v (rule T7).
func tagVersion(s string) (skill.Version, bool) {
	v, err := skill.ParseVersion(strings.TrimPrefix(s, "v"))
	return v, err == nil
}

// candidates makes one candidate of each version, highest first.
func candidates(tags []tagged) []Candidate {
	slices.SortFunc(tags, func(a, b tagged) int {
		if c := b.version.Compare(a.version); c != 0 {
			return c
		}
		if a.form != b.form {
			return int(a.form - b.form)
		}
		return strings.Compare(a.name, b.name)
	})
	var list []Candidate
	for _, t := range tags {
		last := len(list) - 1
		if last < 0 || list[last].Version.Compare(t.version) != 0 {
			list = append(list, Candidate{Version: t.version, Tag: t.name, Commit: t.ref.Commit()})
			continue
		}
		if list[last].Commit != t.ref.Commit() {
			list[last].Conflicts = append(list[last].Conflicts, t.ref)
		}
	}
	return list
}

// Mixed returns the two commits that TagsMixed compares, nil where there is
// nothing to compare.
func (l VersionList) Mixed() []Want {
	if l.Class != ClassSkill || len(l.Repository) == 0 {
		return nil
	}
	return []Want{l.Candidates[0].Want(), l.Repository[0].Want()}
}

// TagsMixed reports whether the newest repository-wide version is of a later
// commit than the newest one of the skill: whoever tags may have given up on
// tags of the skill's own. own holds the first commit of Mixed, repository the
// second; they may be one.
func (l VersionList) TagsMixed(own, repository Snapshot) (bool, error) {
	wants := l.Mixed()
	if wants == nil {
		return false, nil
	}
	older, err := own.Commit(wants[0].Commit)
	if err != nil {
		return false, err
	}
	newer, err := repository.Commit(wants[1].Commit)
	if err != nil {
		return false, err
	}
	return newer.Time.After(older.Time), nil
}
