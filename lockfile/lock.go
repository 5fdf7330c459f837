package lockfile

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

const (
	// FileName is the name of the lock, beside skills.toml.
	FileName = "skills.lock"
	// Format is the value of the first field, so that nobody mistakes the file.
	Format = "skillpm-lock"
	// Version is the lockVersion this package reads and writes.
	Version = 1
)

// Lock is a lock in memory. Parse returns one in which every field is checked;
// code that builds one itself must uphold what the fields say. It is not safe
// for concurrent writing; reading needs no lock.
type Lock struct {
	Root Root
	// Skills stand by the bytes of their keys after Parse, whatever the order of
	// the file; Sort puts them in another order for people. Keys are unique, also
	// under case folding.
	Skills []*Entry
	// Targets are the directories skills are installed into, slash paths relative
	// to the project, or "~/…" for the user scope.
	Targets []string
	// Unknown are fields that this version does not know; they are kept on rewrite.
	Unknown Unknown

	// places is where Get looks first: the position of each key when Parse or Sort
	// last saw the entries. It is never changed, so copies share it and readers
	// need no lock; after a change to Skills it is only a hint.
	places map[string]int
}

// Unknown holds the fields of one JSON object that this version does not know,
// by name, each value compact and with its object keys sorted.
type Unknown map[string]json.RawMessage

// Root is what the project itself demands.
type Root struct {
	// Requires maps keys to requirements in their canonical spelling
	// (skill.Requirement.String); Overrides likewise.
	Requires  map[string]string
	Overrides map[string]string
	Unknown   Unknown
}

// Entry is one locked skill. A path skill (Source.Type is TypePath) has Version,
// DeclaredName, Source, Requires, Dependencies, Use and Chain only.
type Entry struct {
	// Key is the install directory's name and the key in the manifest.
	Key string
	// Version is a strict semantic version; a path skill may have none, and one of
	// a discovery index, which knows no versions, has none.
	Version string
	// DeclaredName is the name in SKILL.md where it differs from Key, else "".
	DeclaredName string
	Description  string
	Source       Source
	// Digest is the tree digest; "" for a path skill, which is being edited.
	Digest skill.Digest
	// Requires are the skill's own requirements in canonical spelling; members of
	// a chain stand in Chain.Steps instead.
	Requires map[string]string
	// Dependencies are the keys that requires and chain resolved to, sorted.
	Dependencies []string
	// AllowedTools is the text of allowed-tools; a list is joined by ", ".
	AllowedTools string
	Size         Size
	Signature    *Signature
	// Use is "required", "optional", or "" where the manifest does not say.
	Use string
	// Retracted is the author's reason for withdrawing this version, or "".
	Retracted string
	Chain     *Chain
	Training  *Training
	Unknown   Unknown
}

// The values of Source.Type.
const (
	TypeGit   = "git"
	TypeIndex = "index"
	TypePath  = "path"
)

// Source says where an entry's bytes came from. git has URL, Path, Tag, Ref,
// Commit and Tree; index has URL, Artifact and SHA256; path has Path.
type Source struct {
	Type string
	// URL is the address as the project spells it, without subpath and password.
	URL string
	// Path is the directory inside the repository ("" is its root) or, for a path
	// skill, relative to the project.
	Path string
	// Tag is the short name of the version's tag; Ref the full name (refs/…) of a
	// branch or tag that was asked for by ref:.
	Tag, Ref string
	// Commit and Tree are git object ids of 40 or 64 hex digits.
	Commit, Tree string
	// Artifact is the URL of a discovery index's file, SHA256 its hash in hex.
	Artifact, SHA256 string
	Unknown          Unknown
}

// Size counts bytes: Body is SKILL.md after its closing fence, Resources all
// other files. Files is the number of files without the signature.
type Size struct {
	Body, Resources, Files int64
	Unknown                Unknown
}

// IsZero reports whether no size is recorded.
func (s Size) IsZero() bool {
	return s.Body == 0 && s.Resources == 0 && s.Files == 0 && len(s.Unknown) == 0
}

// The values of Signature.Kind.
const (
	SignatureKeyless = "keyless"
	SignatureX509    = "x509"
	SignatureKey     = "key"
)

// Signature is what a signature bundle says of itself. keyless has Issuer and
// Identity, x509 Issuer, Subject and Key, key Hint and Key.
type Signature struct {
	Kind     string
	Issuer   string
	Identity string
	Subject  string
	// Hint is the key's hint in the bundle, which nothing verifies.
	Hint string
	// Key is "sha256:HEX" of the public key that the signature verified with when
	// the entry was written: the certificate's, or that of a trust rule; empty for a
	// bare key that no rule named.
	Key string
	// Bundle is the hash of the bundle's bytes (skill.SignatureFile).
	Bundle  skill.Digest
	Unknown Unknown
}

// Signer returns who signed in one line: identity, subject or key, and the issuer
// in parentheses.
func (s *Signature) Signer() string {
	if s == nil {
		return ""
	}
	who := s.Identity + s.Subject
	if s.Kind == SignatureKey {
		if who = "an unknown key"; s.Key != "" {
			who = "key " + skill.Digest(s.Key).Short()
		}
	}
	if s.Issuer != "" {
		who += " (" + s.Issuer + ")"
	}
	return who
}

// The values of Chain.Mode.
const (
	ModeSequential = "sequential"
	ModeParallel   = "parallel"
)

// Chain is an ordered list of skills to run one after the other.
type Chain struct {
	Mode string
	// Steps are the members' keys in order; one may stand twice.
	Steps []string
	// Unresolved are members that do not exist, where validate_on_load is false.
	Unresolved []string
	// Depth is how deep chains are nested below this one; 1 if none is.
	Depth   int64
	Policy  Policy
	Unknown Unknown
}

// Policy holds a chain's options with their defaults filled in.
type Policy struct {
	ContinueOnError bool
	// Timeout is in seconds for each step; 0 is unlimited.
	Timeout           int64
	MaxDepth          int64
	ParallelLimit     int64
	CleanupAfter      bool
	EarlyExitOn       string // none, failure, success or critical
	ContinueOnSuccess bool
	PassState         bool
	// RetryCount is how often the whole chain runs.
	RetryCount int64
	RetryUntil string // none, stable or success
	RaceMode   bool
	Unknown    Unknown
}

// DefaultPolicy returns the options of a chain that sets none.
func DefaultPolicy() Policy {
	return Policy{
		ContinueOnError: true, MaxDepth: 10, ParallelLimit: 5, EarlyExitOn: "none",
		PassState: true, RetryCount: 1, RetryUntil: "none",
	}
}

// Training is what a skill's training.zon declares.
type Training struct {
	Mode string // runtime, trainable or hybrid
	// SHA256 is the hash of training.zon in hex.
	SHA256  string
	Suites  *Suites
	Unknown Unknown
}

// Suites are the three suites of a trainable skill; Test is held out.
type Suites struct {
	Train, Validation, Test Suite
	Unknown                 Unknown
}

// Suite is one file of a training suite.
type Suite struct {
	Path    string
	SHA256  string
	Unknown Unknown
}

// Get returns the entry of key, or nil. After Parse or Sort it is one look at a
// map; a key that has moved since, or that there is not, costs a look at each entry.
func (l *Lock) Get(key string) *Entry {
	if i, ok := l.places[key]; ok && i < len(l.Skills) && l.Skills[i].Key == key {
		return l.Skills[i]
	}
	for _, e := range l.Skills {
		if e.Key == key {
			return e
		}
	}
	return nil
}

// Name returns the name that SKILL.md declares.
func (e *Entry) Name() string {
	if e.DeclaredName != "" {
		return e.DeclaredName
	}
	return e.Key
}

// Sort puts the entries named by order first, in that order, and the rest after
// them by the bytes of their keys: with the manifest's order, what people and
// prompts are shown. Sort(nil) is the order of the file, and of readers that have
// no manifest. Bytes does not depend on it.
func (l *Lock) Sort(order []string) {
	slices.SortStableFunc(l.Skills, byOrder(order))
	l.places = make(map[string]int, len(l.Skills))
	for i, e := range l.Skills {
		l.places[e.Key] = i
	}
}

func byOrder(order []string) func(a, b *Entry) int {
	rank := make(map[string]int, len(order))
	for i, key := range order {
		rank[key] = i - len(order) // before the 0 of those without a place
	}
	return func(a, b *Entry) int {
		ra, rb := rank[a.Key], rank[b.Key]
		if ra == 0 && rb == 0 {
			return strings.Compare(a.Key, b.Key)
		}
		return ra - rb
	}
}
