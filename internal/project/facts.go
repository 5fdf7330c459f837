package project

import (
	"encoding/json"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

type (
	manifestSkill = manifest.Skill
	lockEntry     = lockfile.Entry
)

// skillFact is what is known of one skill at one commit. It never changes, so
// it is kept in the index.
type skillFact struct {
	Time time.Time    `json:"time,omitzero"` // committer time
	Tree fetch.ID     `json:"tree,omitempty"`
	File string       `json:"file,omitempty"` // spelling of SKILL.md
	Text []byte       `json:"text,omitempty"` // SKILL.md without its body
	Dig  skill.Digest `json:"digest,omitempty"`
	Sig  skill.Digest `json:"bundle,omitempty"` // hash of the signature file
	// Siblings are the paths of all skills of the commit, kept where a
	// requirement had to be looked up.
	Siblings []string `json:"siblings,omitempty"`
	// Absent says that the commit has no skill at the path: as lasting a fact as
	// its content, and as dear to find out.
	Absent bool `json:"absent,omitempty"`
	// claimed says that a mirror's listing is the only witness. Such a fact serves
	// one run and is never kept: a later run with a network must not believe it.
	claimed bool
}

func factKey(repository string, commit fetch.ID, path string) string {
	return repository + "\x00" + string(commit) + "\x00" + path
}

func (p *Project) fact(repository string, commit fetch.ID, path string) skillFact {
	var f skillFact
	if data, ok := p.cache.Get(bucketSkills, factKey(repository, commit, path)); ok {
		if json.Unmarshal(data, &f) != nil {
			f = skillFact{}
		}
	}
	if f.Dig == "" {
		if c, ok := p.claim(factKey(repository, commit, path)); ok && (f.Tree == "" || f.Tree == c.Tree) {
			return c
		}
	}
	return f
}

func (p *Project) putFact(repository string, commit fetch.ID, path string, f skillFact) {
	if f.claimed {
		return
	}
	if data, err := json.Marshal(f); err == nil {
		p.cache.Put(bucketSkills, factKey(repository, commit, path), data)
	}
}

// entrySource returns the source of a lock entry.
func entrySource(e *lockfile.Entry) (skill.Source, bool) {
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

// entryWant returns what to ask a Source for to get a lock entry's commit.
func entryWant(e *lockfile.Entry) fetch.Want {
	w := fetch.Want{Commit: fetch.ID(e.Source.Commit), Ref: e.Source.Ref}
	if e.Source.Tag != "" {
		w.Ref = "refs/tags/" + e.Source.Tag
	}
	return w
}
