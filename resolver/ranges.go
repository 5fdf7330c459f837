package resolver

import (
	"github.com/Masterminds/semver/v3"

	"github.com/skillpm/skillpm/skill"
)

// CheckRange says whether text is a version range as requirements may hold it:
// "", "*", "latest", or what Masterminds/semver/v3 parses.
func CheckRange(text string) error {
	if isAny(text) {
		return nil
	}
	_, err := semver.NewConstraint(text)
	return err
}

// Match says whether v satisfies text. A pseudo-version satisfies none, the zero
// version every range; "", "*" and "latest" are any stable version. A text that
// CheckRange refuses is satisfied by nothing.
func Match(text string, v skill.Version) bool {
	r := parseRange(text)
	return r.allows(v, nil)
}

func isAny(text string) bool { return text == "" || text == "*" || text == "latest" }

// versionRange is a range that was parsed once.
type versionRange struct {
	any bool
	// c is nil for any, and for a text that is no range and so allows nothing.
	c *semver.Constraints
}

func parseRange(text string) versionRange {
	if isAny(text) {
		return versionRange{any: true}
	}
	c, err := semver.NewConstraint(text)
	if err != nil {
		return versionRange{}
	}
	return versionRange{c: c}
}

// allows asks Masterminds about v, of which mv is its form, or nil.
func (r versionRange) allows(v skill.Version, mv *semver.Version) bool {
	switch {
	case v.IsZero():
		return true
	case r.any:
		return v.Prerelease() == ""
	case r.c == nil || v.IsPseudo():
		return false
	}
	if mv == nil {
		mv = masterminds(v)
	}
	return r.c.Check(mv)
}

// masterminds converts a strict version; TestVersionsAgree shows that both
// sides read every text alike.
func masterminds(v skill.Version) *semver.Version {
	return semver.New(v.Major(), v.Minor(), v.Patch(), v.Prerelease(), "")
}

// exactly returns the one version that text names ("1.2.0", "=1.2.0", "v1.2.0"),
// or the zero Version.
func exactly(text string) skill.Version {
	for len(text) > 0 && (text[0] == '=' || text[0] == ' ') {
		text = text[1:]
	}
	if len(text) > 0 && text[0] == 'v' {
		text = text[1:]
	}
	v, err := skill.ParseVersion(text)
	if err != nil {
		return skill.Version{}
	}
	return v
}

// allowsPrerelease says whether the range would allow v if it did not hold v's
// being a pre-release against it.
func (r versionRange) allowsPrerelease(v skill.Version) bool {
	if r.c == nil || v.IsPseudo() {
		return false
	}
	c := *r.c
	c.IncludePrerelease = true
	return c.Check(masterminds(v))
}
