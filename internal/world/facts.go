package world

import (
	"encoding/json"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// SkillFact is what is known of one skill at one commit. It never changes, so
// it is kept in the index.
type SkillFact struct {
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

// Known reports whether it is known what stands there: a SKILL.md, or none.
func (f SkillFact) Known() bool { return f.Text != nil || f.Absent }

// Missing is skill_not_found where it is known that src has no skill, else nil.
func (f SkillFact) Missing(src skill.Source) error {
	if !f.Absent {
		return nil
	}
	return diag.New(diag.SkillNotFound, "no skill at %s", src.Identity())
}

// FactKey is the index's key for a skill at a commit.
func FactKey(repository string, commit fetch.ID, path string) string {
	return repository + "\x00" + string(commit) + "\x00" + path
}

// Fact returns what the index, or for this run a mirror, knows of a skill at a
// commit; the zero fact if nothing.
func (p *World) Fact(repository string, commit fetch.ID, path string) SkillFact {
	var f SkillFact
	if data, ok := p.Cache.Get(BucketSkills, FactKey(repository, commit, path)); ok {
		if json.Unmarshal(data, &f) != nil {
			f = SkillFact{}
		}
	}
	if f.Dig == "" {
		if c, ok := p.claim(FactKey(repository, commit, path)); ok && (f.Tree == "" || f.Tree == c.Tree) {
			return c
		}
	}
	return f
}

func (p *Local) putFact(repository string, commit fetch.ID, path string, f SkillFact) {
	if f.claimed {
		return
	}
	if data, err := json.Marshal(f); err == nil {
		p.Cache.Put(BucketSkills, FactKey(repository, commit, path), data)
	}
}
