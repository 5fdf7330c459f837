package oci

import (
	"context"
	"time"

	"github.com/skillpm/skillpm/skill"
)

// Versions is what a mirror knows about one source: the references that were
// listed, and the SKILL.md of the versions that were in somebody's range. It
// lets add, update and lock work where no git host can be reached.
//
// It is a mirror's word, not proven by a digest: whoever may write to the mirror
// decides what versions there are. The content of each version stays pinned by
// the digest in the lock that is made from it.
type Versions struct {
	// Source is the identity, such as github.com/acme/skills//skills/deploy; with
	// an empty subpath it describes the repository.
	Source string `json:"source"`
	// Head is the full name of the default branch, HeadCommit its commit.
	Head       string `json:"head,omitempty"`
	HeadCommit string `json:"headCommit,omitempty"`
	// Refs are the tags and branches as listed, sorted by name.
	Refs []VersionRef `json:"refs,omitempty"`
	// Candidates are sorted by commit and path.
	Candidates []Candidate `json:"candidates,omitempty"`
}

// VersionRef is one reference of the repository.
type VersionRef struct {
	Name   string `json:"name"`             // refs/tags/v1.0.0
	ID     string `json:"id"`               // what it points at
	Peeled string `json:"peeled,omitempty"` // commit of an annotated tag
}

// Candidate is one skill at one commit.
type Candidate struct {
	Commit string       `json:"commit"`
	Path   string       `json:"path"`             // directory in the repository, "" is the root
	Time   time.Time    `json:"time,omitzero"`    // committer time, UTC, seconds
	Tree   string       `json:"tree,omitempty"`   // git tree id of Path
	Digest skill.Digest `json:"digest,omitempty"` // where known
	Bundle skill.Digest `json:"bundle,omitempty"` // its signature, where it has one
	File   string       `json:"file"`             // spelling of SKILL.md
	Text   []byte       `json:"text"`             // its bytes
}

// VersionsRef returns the reference under which a source's versions lie.
func VersionsRef(source string) Ref {
	return Ref{KindVersions, skill.DigestOf([]byte(source))}
}

// Versions returns what the mirror knows about the source with this identity.
// Errors are those of Tree.
func (m *Mirror) Versions(ctx context.Context, source string) (*Versions, error) { return nil, nil }

// PutVersions merges v into what the mirror knows and reports whether that
// changed anything: newer references replace older ones of the same name,
// candidates of the same commit and path replace each other, nothing is dropped.
func (m *Mirror) PutVersions(ctx context.Context, v *Versions) (changed bool, err error) {
	return false, nil
}
