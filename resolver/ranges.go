package resolver

import "github.com/skillpm/skillpm/skill"

// CheckRange says whether text is a version range as requirements may hold it:
// "", "*", "latest", or what Masterminds/semver/v3 parses.
func CheckRange(text string) error { return nil }

// Match says whether v satisfies text. A pseudo-version satisfies none, the zero
// version every range; "", "*" and "latest" are any stable version. A text that
// CheckRange refuses is satisfied by nothing.
func Match(text string, v skill.Version) bool { return false }
