package signing

import (
	"time"

	"github.com/skillpm/skillpm/skill"
)

// RootInfo describes a trusted root, for `trust status`.
type RootInfo struct {
	// Origin is "embedded" or the file's name.
	Origin string
	Digest skill.Digest
	// Newest is the start of the newest key in it: how old it is at least.
	Newest                    time.Time
	Logs, Authorities, Stamps int
}

// Root returns the trusted root that judges keyless signatures for the policy
// file named, or for the whole set if file is empty.
func (s *Set) Root(file string) RootInfo { panic("not yet") }
