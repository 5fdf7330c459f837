package signing

import (
	"time"

	"github.com/skillpm/skillpm/skill"
)

// SetOptions say how a Set reads what its policies name.
type SetOptions struct {
	// ReadFile reads key, CA and root files; nil means os.ReadFile with a limit.
	ReadFile func(name string) ([]byte, error)
	// RefreshedRoot is the path of the trusted root that `trust update` keeps;
	// empty or absent means the embedded one.
	RefreshedRoot string
}

// Set is the policies of one machine and project: each is evaluated alone and
// all must pass, the strictest mode wins, deny lists add up. It is immutable and
// safe for concurrent use.
type Set struct {
	policies []*Policy
}

// NewSet joins policies (nil ones are skipped) and reads the keys, CAs and
// trusted roots they name. Errors carry policy_invalid or trust_root_invalid and
// the place of the entry that names the file.
func NewSet(opt SetOptions, policies ...*Policy) (*Set, error) {
	panic("not yet")
}

// MinAge returns the longest min_age of the set.
func (s *Set) MinAge() time.Duration { panic("not yet") }

// SourceApproved reports whether a `sources` list names the repository of src:
// consent to contact it. A list's pattern without a scheme never covers http:,
// git: or file: sources.
func (s *Set) SourceApproved(src skill.Source) bool { panic("not yet") }

// CheckSource refuses (source_not_allowed) a source that a system or user file's
// `sources` leaves out, and (trust_level_refused) one that arrives from farther
// than trust_level allows.
func (s *Set) CheckSource(src skill.Source) error { panic("not yet") }

// Fingerprint is a hash of everything the set was read from.
func (s *Set) Fingerprint() skill.Digest { panic("not yet") }
