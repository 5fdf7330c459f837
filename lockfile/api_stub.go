package lockfile

import (
	"errors"

	"github.com/skillpm/skillpm/skill"
)

var errTODO = errors.New("not there yet")

// Parse reads a lock strictly. The error is an Errors.
func Parse(data []byte) (*Lock, error) { return nil, errTODO }

// Bytes returns the canonical bytes: equal locks have equal bytes.
func (l *Lock) Bytes() []byte { return nil }

// IsCanonical reports whether data is exactly l.Bytes() of the lock it parses
// to, CRLF line ends counted as LF.
func IsCanonical(data []byte) bool { return false }

// HasConflict reports whether data holds git's conflict markers.
func HasConflict(data []byte) bool { return false }

// Conflicted reads both sides of a lock with conflict markers. A side that
// cannot be read is nil; the error is set if neither can.
func Conflicted(data []byte) (ours, theirs *Lock, err error) { return nil, nil, errTODO }

// KeepUnknown copies the fields unknown to this version from old: those of the
// file and the root always, those of an entry if its digest is the same.
func (l *Lock) KeepUnknown(old *Lock) {}

// Edge is one dependency.
type Edge struct {
	From, To string // keys; From is "" for the project
	// Requirement is the canonical spelling; "*" for a chain member.
	Requirement string
	// Chain is set if To is a member of From's chain.
	Chain bool
}

// Edges returns every edge: the project's, then each entry's in order.
func (l *Lock) Edges() []Edge { return nil }

// Open returns the edges that lead to no entry.
func (l *Lock) Open() []Edge { return nil }

// Unreachable returns the keys that no requirement of the project leads to.
func (l *Lock) Unreachable() []string { return nil }

// Cycle returns the keys of one circle of dependencies, the first repeated at
// the end, or nil.
func (l *Lock) Cycle() []string { return nil }

// Parent is one resolved dependency, named as skillerr's RFC 0004 does.
type Parent struct {
	Name   string
	Digest skill.Digest
}

// Parents returns key's direct dependencies with their digests.
func (l *Lock) Parents(key string) []Parent { return nil }

// Dependents returns the keys of the entries that depend on key.
func (l *Lock) Dependents(key string) []string { return nil }

// Step is one step of a chain's plan.
type Step struct {
	Name, Version string
	Digest        skill.Digest
	Path          string // install directory, relative to the project
	Steps         []Step // of a nested chain
}

// Plan is the order in which a chain's skills run.
type Plan struct {
	Root   string
	Mode   string
	Policy Policy
	Depth  int64
	Steps  []Step
	Flat   []string // depth first; one reached twice stands twice
}

// Plan returns the plan of a chain.
func (l *Lock) Plan(key string) (*Plan, error) { return nil, errTODO }

// Dir is an installed skill.
type Dir struct{}

// OpenDir opens the directory of an installed skill.
func OpenDir(path string) (*Dir, error) { return nil, errTODO }
