package author

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Form says which skills a version tag is for.
type Form string

// The forms.
const (
	FormHabit      Form = ""           // as the newest tag that counts for the skill
	FormSkill      Form = "skill"      // the skill alone
	FormRepository Form = "repository" // every skill without tags of its own
)

// Effect is what a tag changes in the versions that installers see of one skill,
// highest first.
type Effect struct {
	Name   string   `json:"name"`
	Path   string   `json:"path"`
	Before []string `json:"before"`
	After  []string `json:"after"`
	// Lost are versions that can be had before and not after the tag.
	Lost []string `json:"lost,omitempty"`
}

// tags lists the tags of a remote, or of the repository itself for ".".
func (r *repository) tags(ctx context.Context, remote string) (*fetch.Refs, error) {
	out, err := r.git(ctx, "ls-remote", "--tags", "--", remote)
	if err != nil {
		return nil, err
	}
	refs := &fetch.Refs{}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		last := len(refs.List) - 1
		if tag, peeled := strings.CutSuffix(name, "^{}"); peeled && last >= 0 && refs.List[last].Name == tag {
			refs.List[last].Peeled = fetch.ID(id)
			continue
		}
		refs.List = append(refs.List, fetch.Ref{Name: name, ID: fetch.ID(id)})
	}
	slices.SortFunc(refs.List, func(a, b fetch.Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs, nil
}

// tagName returns the tag of version v for the skill at place.
func tagName(refs *fetch.Refs, place fetch.Place, form Form, v skill.Version) (string, error) {
	list := fetch.Versions(refs, place)
	if form == FormHabit {
		form = FormSkill
		if list.Class == fetch.ClassRepository || place.Path == "" && list.Class == fetch.ClassNone {
			form = FormRepository
		}
	}
	like, prefix := list.Repository, "v"
	switch {
	case list.Class == fetch.ClassRepository && form == FormRepository:
		like = list.Candidates
	case form == FormSkill && list.Class == fetch.ClassSkill:
		like = list.Candidates
	case form == FormSkill && place.Path == "":
		return "", diag.New(diag.Usage, "a skill at the root of its repository has the repository's tags")
	case form == FormSkill:
		like, prefix = nil, place.Path+"/v"
	}
	if len(like) > 0 {
		prefix = strings.TrimSuffix(like[0].Tag, like[0].Version.String())
	}
	return prefix + v.String(), nil
}

// effects returns what the new tag at commit changes for the skills at places,
// those with a change alone.
func effects(refs *fetch.Refs, tag string, commit fetch.ID, places []fetch.Place, have func([]fetch.SkillAt) map[fetch.SkillAt]bool) []Effect {
	after := &fetch.Refs{List: append(slices.Clone(refs.List), fetch.Ref{Name: "refs/tags/" + tag, ID: commit})}
	lists := make([][2]fetch.VersionList, len(places))
	var asked []fetch.SkillAt
	for i, p := range places {
		if _, ok := fetch.TagVersion(tag, p); !ok {
			continue
		}
		lists[i] = [2]fetch.VersionList{fetch.Versions(refs, p), fetch.Versions(after, p)}
		for _, c := range lists[i][0].Candidates {
			asked = append(asked, fetch.SkillAt{Commit: c.Commit, Path: p.Path})
		}
	}
	there := have(asked)
	var out []Effect
	for i, p := range places {
		counts := func(l fetch.VersionList) []string {
			versions := []string{}
			for _, c := range l.Candidates {
				if c.Commit == commit || there[fetch.SkillAt{Commit: c.Commit, Path: p.Path}] {
					if len(c.Conflicts) == 0 {
						versions = append(versions, c.Version.String())
					}
				}
			}
			return versions
		}
		e := Effect{Name: p.Name, Path: p.Path, Before: counts(lists[i][0]), After: counts(lists[i][1])}
		for _, v := range e.Before {
			if !slices.Contains(e.After, v) {
				e.Lost = append(e.Lost, v)
			}
		}
		if !slices.Equal(e.Before, e.After) {
			out = append(out, e)
		}
	}
	return out
}

// present returns which of the places have a skill, as installers find them (a
// version at whose commit there is none is no version). What cannot be looked at
// here counts as present: its loss would be one.
func (h *head) present(ctx context.Context, asked []fetch.SkillAt) map[fetch.SkillAt]bool {
	there := map[fetch.SkillAt]bool{}
	var wants []fetch.Want
	var local []fetch.SkillAt
	seen := map[fetch.ID]bool{}
	for _, at := range asked {
		there[at] = true
		if !h.commits[at.Commit] {
			continue
		}
		if local = append(local, at); !seen[at.Commit] {
			seen[at.Commit] = true
			wants = append(wants, fetch.Want{Commit: at.Commit})
		}
	}
	if len(wants) == 0 {
		return there
	}
	snap, err := h.src.Open(ctx, h.repo, wants)
	if err != nil {
		return there
	}
	defer snap.Close()
	files, err := fetch.SkillFiles(ctx, snap, local)
	if err != nil {
		return there
	}
	for _, f := range files {
		if f.Err != nil && diag.CodeOf(f.Err) == diag.SkillNotFound {
			delete(there, f.At)
		}
	}
	return there
}

// hidden refuses a tag that takes versions away.
func hidden(t *Tagged, list fetch.VersionList) error {
	var faults diag.List
	for _, e := range t.Effects {
		if len(e.Lost) == 0 {
			continue
		}
		d := diag.New(diag.VersionsHidden, "the tag `%s` would hide %s of `%s`: %s", t.Tag, count(len(e.Lost), "version"), e.Name, shortList(e.Lost))
		if list.Class == fetch.ClassRepository && e.Path == inRepository(t.Path) {
			d = d.WithDetail("a skill with tags of its own has no versions of the repository's tags").
				WithHint("tag it as before: `skillpm tag %s %s`; or give the skill a tag for each of its versions first, as `git tag %s %s`",
					t.Name, next(list, t.Version), strings.TrimSuffix(t.Tag, t.Version)+e.Lost[0], tagOf(list, e.Lost[0])+"^{}")
		} else {
			d = d.WithHint("choose a version that no other tag has")
		}
		faults = append(faults, d)
	}
	return faults.Err()
}

// next returns the version asked for if the repository has not tagged it, else
// one after its newest.
func next(list fetch.VersionList, version string) string {
	if tagOf(list, version) == "" {
		return version
	}
	v := list.Candidates[0].Version
	return fmt.Sprintf("%d.%d.%d", v.Major(), v.Minor(), v.Patch()+1)
}

// tagOf returns the tag that makes version a candidate, "" if none does.
func tagOf(list fetch.VersionList, version string) string {
	v, err := skill.ParseVersion(version)
	for _, c := range list.Candidates {
		if err == nil && c.Version.Compare(v) == 0 {
			return c.Tag
		}
	}
	return ""
}

// shortList is at most five of a list, for people.
func shortList(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// placeOf returns what tags can say of the skill in directory dir.
func (h *head) placeOf(dir string) fetch.Place {
	if dir == "" {
		return fetch.Place{Name: h.name}
	}
	return fetch.Place{Path: dir, Name: path.Base(dir)}
}
