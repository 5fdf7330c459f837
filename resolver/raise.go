package resolver

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// oneLower is a range of one comparison without an upper bound of its own: an
// operator and one to three numbers, or full version, perhaps with wildcards.
var oneLower = regexp.MustCompile(`^(=|\^|~>?|)( *v?)(\d+)(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)

// Raise returns the range that says of v what text says of an older version, in
// the spelling of text: the operator, the number of places and wildcards stay. A
// range that allows v already is returned as it is. The answer is false where
// that cannot be said without giving something up: a range with an upper bound,
// with several parts, or about newer versions than v.
func Raise(text string, v skill.Version) (string, bool) {
	if v.IsZero() || v.IsPseudo() {
		return text, false
	}
	if Match(text, v) {
		return text, true
	}
	m := oneLower.FindStringSubmatch(text)
	if m == nil || older(v, m[3:6]) {
		return text, false
	}
	raised := m[1] + m[2]
	// A channel is named in full. After a caret the number of places means
	// nothing, and the full version is the promise that is kept elsewhere.
	if v.Prerelease() != "" || m[6] != "" || m[1] == "^" {
		full, _, _ := strings.Cut(v.String(), "+")
		raised += full
	} else {
		raised += places(v, m[3:6])
	}
	if CheckRange(raised) != nil || !Match(raised, v) {
		return text, false
	}
	return raised, true
}

// places spells as many numbers of v as have has, its wildcards kept.
func places(v skill.Version, have []string) string {
	out := ""
	for i, n := range []uint64{v.Major(), v.Minor(), v.Patch()} {
		switch {
		case have[i] == "":
			return out
		case i > 0:
			out += "."
		}
		if strings.ContainsAny(have[i], "xX*") {
			out += have[i]
		} else {
			out += strconv.FormatUint(n, 10)
		}
	}
	return out
}

// older reports whether v lies below the numbers that a range begins with.
func older(v skill.Version, numbers []string) bool {
	for i, n := range []uint64{v.Major(), v.Minor(), v.Patch()} {
		have, err := strconv.ParseUint(numbers[i], 10, 64)
		if err != nil { // a wildcard or nothing: everything that follows is allowed
			return false
		}
		if n != have {
			return n < have
		}
	}
	return false
}
