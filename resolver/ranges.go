package resolver

import (
	"cmp"
	"strings"

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
	return parseRange(text).allows(v)
}

func isAny(text string) bool { return text == "" || text == "*" || text == "latest" }

// versionRange is a range that was parsed once.
type versionRange struct {
	any bool
	// simple are the parts of a range of plain comparisons, all of which must
	// hold; nil for other ranges. It saves asking Masterminds, whose answer of no
	// costs an error message, about stable versions. TestSimpleRangesAgree holds
	// it to Masterminds' answers.
	simple []comparison
	text   string
	c      *semver.Constraints // made when first needed; nil if text is no range
	parsed bool
}

func parseRange(text string) *versionRange {
	if isAny(text) {
		return &versionRange{any: true}
	}
	return &versionRange{text: text, simple: parseSimple(text)}
}

func (r *versionRange) constraints() *semver.Constraints {
	if !r.parsed {
		r.parsed = true
		if c, err := semver.NewConstraint(r.text); err == nil {
			r.c = c
		}
	}
	return r.c
}

// allows says whether v satisfies the range.
func (r *versionRange) allows(v skill.Version) bool {
	switch {
	case v.IsZero():
		return true
	case r.any:
		return v.Prerelease() == ""
	case v.IsPseudo():
		return false
	case r.simple != nil && v.Prerelease() == "":
		for _, c := range r.simple {
			if !c.allows(v) {
				return false
			}
		}
		return true
	}
	c := r.constraints()
	return c != nil && c.Check(masterminds(v))
}

// wouldAllow says whether v is a pre-release that the range leaves out for that
// alone: it, or the release it leads to, lies in the range.
func (r *versionRange) wouldAllow(v skill.Version) bool {
	if v.Prerelease() == "" || v.IsPseudo() {
		return false
	}
	c := r.constraints()
	if r.any || c == nil {
		return r.any
	}
	open := *c
	open.IncludePrerelease = true
	return open.Check(masterminds(v)) || c.Check(semver.New(v.Major(), v.Minor(), v.Patch(), "", ""))
}

// comparison is an operator and a full stable version.
type comparison struct {
	op string
	v  [3]uint64
}

// parseSimple reads comparisons with full stable versions, separated by commas or
// single blanks, as Masterminds does; nil if text is anything else.
func parseSimple(text string) []comparison {
	var list []comparison
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		digits := strings.TrimLeft(part, "=!<>~^")
		op := part[:len(part)-len(digits)]
		switch op {
		case "", "=", "!=", ">", "<", ">=", "<=", "~", "^":
		default:
			return nil
		}
		v, err := skill.ParseVersion(digits)
		if err != nil || v.Prerelease() != "" || strings.Contains(digits, "+") {
			return nil
		}
		list = append(list, comparison{op, [3]uint64{v.Major(), v.Minor(), v.Patch()}})
	}
	if len(list) > 1 && !evenlySeparated(text) {
		return nil
	}
	return list
}

// evenlySeparated keeps to the two spellings that need no thought: "a b", "a,b"
// and "a, b".
func evenlySeparated(text string) bool {
	return !strings.Contains(text, "  ") && !strings.Contains(text, ",,") && !strings.Contains(text, " ,") &&
		strings.Trim(text, ", ") == text
}

func (c comparison) allows(v skill.Version) bool {
	order := cmp.Or(cmp.Compare(v.Major(), c.v[0]), cmp.Compare(v.Minor(), c.v[1]), cmp.Compare(v.Patch(), c.v[2]))
	switch c.op {
	case "", "=":
		return order == 0
	case "!=":
		return order != 0
	case ">":
		return order > 0
	case "<":
		return order < 0
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0
	case "~":
		if c.v == [3]uint64{} {
			return true // Masterminds: ~0.0.0 accepts everything
		}
		return order >= 0 && v.Major() == c.v[0] && v.Minor() == c.v[1]
	}
	// The caret fixes the first number that is not zero.
	switch {
	case order < 0 || v.Major() != c.v[0]:
		return false
	case c.v[0] > 0:
		return true
	case c.v[1] > 0:
		return v.Minor() == c.v[1]
	}
	return v.Minor() == 0 && v.Patch() == c.v[2]
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
