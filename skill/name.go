package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxNameLength is the longest name and the longest key, in code points.
const MaxNameLength = 64

// Name is a skill's declared name under the Agent Skills specification: 1 to 64
// of a-z, 0-9 and hyphen, no hyphen at an end, none doubled.
type Name string

// ParseName returns s as a Name. The error's code is the validation code of the
// first rule that fails: name_empty, name_too_long, name_not_ascii,
// name_charset, name_hyphen_edge or name_hyphen_double.
func ParseName(s string) (Name, error) {
	if code, message := nameFault(s); code != "" {
		return "", fault(code, 0, message)
	}
	return Name(s), nil
}

func nameFault(s string) (code, message string) {
	if strings.TrimSpace(s) == "" {
		return "name_empty", "a name has 1 to 64 characters"
	}
	if n := utf8.RuneCountInString(s); n > MaxNameLength {
		return "name_too_long", fmt.Sprintf("the name has %d characters; at most %d are allowed", n, MaxNameLength)
	}
	for _, r := range s {
		switch {
		case r >= utf8.RuneSelf:
			return "name_not_ascii", fmt.Sprintf("the name contains %q; only a-z, 0-9 and hyphen are allowed", r)
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
		default:
			return "name_charset", fmt.Sprintf("the name contains %q; only a-z, 0-9 and hyphen are allowed", r)
		}
	}
	if s[0] == '-' || s[len(s)-1] == '-' {
		return "name_hyphen_edge", "a name neither begins nor ends with a hyphen"
	}
	if strings.Contains(s, "--") {
		return "name_hyphen_double", "a name has no two hyphens in a row"
	}
	return "", ""
}

// Key is the name under which a project installs a skill: the directory's name
// and the key in skills.toml and skills.lock. It is wider than Name.
type Key string

// ParseKey returns s as a Key: one of A-Z a-z 0-9, then up to 63 of those and
// '.', '_', '-', and no Windows device name. The error's code is "name_needed".
func ParseKey(s string) (Key, error) {
	if s == "" || len(s) > MaxNameLength {
		return "", fault("name_needed", 0, fmt.Sprintf("a key has 1 to %d characters, `%s` has %d", MaxNameLength, s, len(s)))
	}
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && (i == 0 || (c != '.' && c != '_' && c != '-')) {
			return "", fault("name_needed", i, fmt.Sprintf("`%s` cannot be a key: %q is not allowed at place %d", s, c, i+1))
		}
	}
	if IsWindowsDevice(s) {
		return "", fault("name_needed", 0, fmt.Sprintf("`%s` cannot be a key: it names a device on Windows", s))
	}
	return Key(s), nil
}

// Fold returns the key as case-insensitive file systems see it. Two keys with
// equal folds cannot stand in one project.
func (k Key) Fold() string { return strings.ToLower(string(k)) }

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
