package skill

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Version is a strict Semantic Version 2.0.0 (semver.org), without a leading v.
// The zero Version is no version.
type Version struct {
	text                string
	major, minor, patch uint64
	pre, build          string
}

// ParseVersion reads MAJOR.MINOR.PATCH[-PRE][+BUILD] with nothing left out and
// no leading zeros. The error's code is "requirement_syntax".
func ParseVersion(s string) (Version, error) {
	v, why := parseVersion(s)
	if why != "" {
		return Version{}, fault("requirement_syntax", 0, fmt.Sprintf("`%s` is no strict semantic version: %s", s, why))
	}
	return v, nil
}

func parseVersion(s string) (v Version, why string) {
	if len(s) > 256 {
		return v, "longer than 256 bytes"
	}
	core, build, hasBuild := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return v, "three numbers are needed"
	}
	var n [3]uint64
	for i, p := range parts {
		if n[i], why = parseNumber(p); why != "" {
			return v, why
		}
	}
	if hasPre {
		for id := range strings.SplitSeq(pre, ".") {
			if !isIdentifier(id) || isDigits(id) && len(id) > 1 && id[0] == '0' {
				return v, fmt.Sprintf("pre-release part %q", id)
			}
		}
	}
	if hasBuild {
		for id := range strings.SplitSeq(build, ".") {
			if !isIdentifier(id) {
				return v, fmt.Sprintf("build part %q", id)
			}
		}
	}
	return Version{text: s, major: n[0], minor: n[1], patch: n[2], pre: pre, build: build}, ""
}

func parseNumber(p string) (n uint64, why string) {
	if !isDigits(p) {
		return 0, fmt.Sprintf("%q is no number", p)
	}
	if len(p) > 1 && p[0] == '0' {
		return 0, fmt.Sprintf("%q has a leading zero", p)
	}
	if len(p) > 18 { // far under 2^64, so the sum below cannot overflow
		return 0, fmt.Sprintf("%q is too large", p)
	}
	for i := range len(p) {
		n = n*10 + uint64(p[i]-'0')
	}
	return n, ""
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return s != ""
}

// String returns the version as it was written.
func (v Version) String() string { return v.text }

// IsZero reports whether v is the zero Version.
func (v Version) IsZero() bool { return v.text == "" }

// Major, Minor and Patch return the three numbers.
func (v Version) Major() uint64 { return v.major }

// Minor returns the second number.
func (v Version) Minor() uint64 { return v.minor }

// Patch returns the third number.
func (v Version) Patch() uint64 { return v.patch }

// Prerelease returns the part after the hyphen, or "".
func (v Version) Prerelease() string { return v.pre }

// Compare orders versions by semantic version precedence (semver.org 11);
// build metadata does not count.
func (v Version) Compare(w Version) int {
	if c := cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch)); c != 0 {
		return c
	}
	switch {
	case v.pre == w.pre:
		return 0
	case v.pre == "":
		return 1
	case w.pre == "":
		return -1
	}
	return comparePrerelease(strings.Split(v.pre, "."), strings.Split(w.pre, "."))
}

func comparePrerelease(a, b []string) int {
	for i := range min(len(a), len(b)) {
		an, bn := isDigits(a[i]), isDigits(b[i])
		var c int
		switch {
		case an && bn:
			c = cmp.Or(cmp.Compare(len(a[i]), len(b[i])), cmp.Compare(a[i], b[i]))
		case an:
			c = -1
		case bn:
			c = 1
		default:
			c = cmp.Compare(a[i], b[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

const pseudoPrefix = "0.0.0-0."

// PseudoVersion returns the version of a commit that no tag names:
// 0.0.0-0.<committer time, UTC yyyymmddhhmmss>-<first 12 hex of the commit>.
func PseudoVersion(committed time.Time, commit string) Version {
	short := commit
	if len(short) > 12 {
		short = short[:12]
	}
	v, why := parseVersion(pseudoPrefix + committed.UTC().Format("20060102150405") + "-" + short)
	if why != "" { // a commit id is hex and a time has digits, so this is our own bug
		panic("skill: PseudoVersion of commit " + commit + ": " + why)
	}
	return v
}

// IsPseudo reports whether v has the form that PseudoVersion makes. Ranges
// never match such a version.
func (v Version) IsPseudo() bool {
	rest, ok := strings.CutPrefix(v.text, pseudoPrefix)
	if !ok || len(rest) != 14+1+12 || rest[14] != '-' || !isDigits(rest[:14]) {
		return false
	}
	for i := 15; i < len(rest); i++ {
		if c := rest[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
