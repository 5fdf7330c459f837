package decide

import (
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// headRef is the ref that means the default branch, which the lock records by
// the branch's own name.
const headRef = "HEAD"

// refsAsked lists, by key, the refs that a lock's own requirements name: those of
// an override alone, else the root's before those of entries by key.
func refsAsked(l *lockfile.Lock) map[string][]string {
	asked := map[string][]string{}
	add := func(key, text string) {
		if !strings.Contains(text, "ref:") {
			return
		}
		if r, err := skill.ParseRequirement(text, nil); err == nil && r.Ref != "" {
			asked[key] = append(asked[key], r.Ref)
		}
	}
	for _, key := range workspace.SortedKeys(l.Root.Requires) {
		add(key, l.Root.Requires[key])
	}
	entries := workspace.EntriesByKey(l)
	for _, key := range workspace.SortedKeys(entries) {
		for _, name := range workspace.SortedKeys(entries[key].Requires) {
			add(name, entries[key].Requires[name])
		}
	}
	for _, key := range workspace.SortedKeys(l.Root.Overrides) {
		delete(asked, key)
		add(key, l.Root.Overrides[key])
	}
	return asked
}

// refNames lists the names under which ref: may have asked for an entry, of which
// asked are the lock's own. What was chosen by its version tag is locked in
// another form than what ref: asks for, so it answers none.
func refNames(e *lockfile.Entry, asked []string) []string {
	if e.Source.Tag != "" {
		return nil
	}
	names := []string{e.Source.Commit}
	for _, ref := range asked {
		if answersRef(e.Source.Ref, ref) {
			names = append(names, ref)
		}
	}
	if e.Source.Ref != "" {
		names = append(names, e.Source.Ref)
		for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
			if short, ok := strings.CutPrefix(e.Source.Ref, prefix); ok {
				names = append(names, short)
			}
		}
	}
	return names
}

// answersRef reports whether a full name may be what ref, as a requirement spells
// it, was resolved to.
func answersRef(full, ref string) bool {
	branch, isBranch := strings.CutPrefix(full, "refs/heads/")
	return full != "" && (full == ref || full == "refs/tags/"+ref || isBranch && (branch == ref || ref == headRef))
}

// recordRefs sets Source.Ref of every entry without a version tag to the full
// name of the first ref that the lock's own requirements ask for, so that it does
// not depend on how the entry got there. full returns that name, "" where it is
// not known; what it does not know is reported by key.
func recordRefs(l *lockfile.Lock, full func(e *lockfile.Entry, ref string) string) (unknown []string) {
	asked := refsAsked(l)
	for i, e := range l.Skills {
		if e.Source.Type != lockfile.TypeGit || e.Source.Tag != "" {
			continue
		}
		want, open := "", false
		for _, ref := range asked[e.Key] {
			if fetch.IsCommit(ref) {
				continue
			}
			if want = full(e, ref); want != "" {
				break
			}
			open = true
		}
		if want == "" && open {
			unknown = append(unknown, e.Key)
			continue
		}
		if want != e.Source.Ref {
			copied := *e // entries may be another lock's, too
			copied.Source.Ref = want
			l.Skills[i] = &copied
		}
	}
	return unknown
}

// lockedRef is how a lock alone knows a ref's full name.
func lockedRef(e *lockfile.Entry, ref string) string {
	if answersRef(e.Source.Ref, ref) {
		return e.Source.Ref
	}
	return ""
}

// staleRefs finds entries that record a ref nobody asks for any more.
func staleRefs(p *workspace.Project) diag.List {
	recorded := *p.Lock
	recorded.Skills = append([]*lockfile.Entry(nil), p.Lock.Skills...)
	recordRefs(&recorded, lockedRef) // what is not known there is the graph's to tell
	var list diag.List
	for i, e := range recorded.Skills {
		if have := p.Lock.Skills[i]; e.Source.Ref != have.Source.Ref {
			list = append(list, p.Outdated("`%s`: the lock says it is at %s, which nothing asks for", e.Key, have.Source.Ref))
		}
	}
	return list
}
