package workspace

import (
	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// EntrySource returns the source of a lock entry.
func EntrySource(e *lockfile.Entry) (skill.Source, bool) {
	var text string
	switch e.Source.Type {
	case lockfile.TypePath:
		text = "path:" + e.Source.Path
	case lockfile.TypeIndex:
		text = "index:" + e.Source.URL
	default:
		text = e.Source.URL
	}
	src, err := skill.ParseSource(text)
	if err != nil {
		return skill.Source{}, false
	}
	if src.Kind() == skill.SourceGit {
		src = src.WithSubpath(e.Source.Path)
	}
	return src, true
}

// EntryWant returns what to ask a Source for to get a lock entry's commit.
func EntryWant(e *lockfile.Entry) fetch.Want {
	w := fetch.Want{Commit: fetch.ID(e.Source.Commit), Ref: e.Source.Ref}
	if e.Source.Tag != "" {
		w.Ref = "refs/tags/" + e.Source.Tag
	}
	return w
}

// EntriesByKey indexes a lock's entries; nil has none.
func EntriesByKey(l *lockfile.Lock) map[string]*lockfile.Entry {
	if l == nil {
		return nil
	}
	m := make(map[string]*lockfile.Entry, len(l.Skills))
	for _, e := range l.Skills {
		m[e.Key] = e
	}
	return m
}

// SourceText returns the identity of an entry's source.
func SourceText(e *lockfile.Entry) string {
	src, ok := EntrySource(e)
	if !ok {
		return e.Source.URL
	}
	return src.Identity()
}

// RootKeys lists the root's requirements in the lock's order of skills.
func RootKeys(l *lockfile.Lock) []string {
	var keys []string
	for _, e := range l.Skills {
		if _, ok := l.Root.Requires[e.Key]; ok {
			keys = append(keys, e.Key)
		}
	}
	for _, k := range SortedKeys(l.Root.Requires) {
		if l.Get(k) == nil {
			keys = append(keys, k)
		}
	}
	return keys
}

// Entry returns the lock entry of a key, or a finding that says what there is.
func (p *Project) Entry(key string) (*lockfile.Entry, error) {
	if p.Lock == nil {
		return nil, p.NoLock()
	}
	if e := p.Lock.Get(key); e != nil {
		return e, nil
	}
	keys := make([]string, len(p.Lock.Skills))
	for i, e := range p.Lock.Skills {
		keys[i] = e.Key
	}
	e := Usage("`%s` is not in the lock", key).WithHint("`skillpm list` shows what is")
	if near := Nearest(key, keys); near != "" {
		e.Hint = "did you mean `" + near + "`?"
	}
	return nil, e
}

// NoLock is the finding that there is no lock.
func (p *Project) NoLock() *diag.Error {
	return diag.New(diag.LockOutdated, "there is no %s", lockfile.FileName).At(p.Display(p.LockPath()), 0, 0).
		WithHint("`skillpm lock%s` writes one", p.scopeFlag())
}

// scopeFlag is what a command in a hint needs to work where this run does.
func (p *Project) scopeFlag() string {
	if p.Opt.Global {
		return " -g"
	}
	return ""
}

// MustSource is EntrySource for an entry that was checked before.
func MustSource(e *lockfile.Entry) skill.Source {
	src, _ := EntrySource(e)
	return src
}

// Outdated is a lock_outdated finding about the lock.
func (p *Project) Outdated(format string, args ...any) *diag.Error {
	return diag.New(diag.LockOutdated, format, args...).At(p.Display(p.LockPath()), 0, 0).
		WithHint("`skillpm lock` brings it up to date; commit the result")
}

// Order is the manifest's order of skills.
func (p *Project) Order() []string {
	keys := make([]string, len(p.Manifest.Skills))
	for i, s := range p.Manifest.Skills {
		keys[i] = string(s.Key)
	}
	return keys
}
