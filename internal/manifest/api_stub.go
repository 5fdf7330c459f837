package manifest

import (
	"errors"

	"github.com/skillpm/skillpm/skill"
)

var errTODO = errors.New("not there yet")

// Parse reads a skills.toml. checkRange judges version ranges; nil accepts any.
// The error is a diag.List of every mistake, by position: manifest_invalid,
// manifest_foreign or requirement_syntax.
func Parse(file string, data []byte, checkRange func(string) error) (*Manifest, error) {
	return nil, errTODO
}

// ParseConfig reads a user's config.toml.
func ParseConfig(file string, data []byte) (Config, error) { return Config{}, errTODO }

// Layer returns the settings of several files, the weakest first: a value set
// in a later one wins; registries and mirrors of a later one come first.
func Layer(layers ...Config) Config { return Config{} }

// TrustSection returns data with everything outside [trust] blanked, line ends
// kept, so that positions in it are positions in the file. nil if there is none.
func TrustSection(data []byte) []byte { return nil }

// Template returns the skills.toml that `init` writes.
func Template(agents []string) []byte { return nil }

// Missing returns manifest_missing for a search upward from dir.
func Missing(dir string) error { return errTODO }

// Set returns data with key in [skills] demanding r, added or changed in place.
// Other fields of the entry, such as use, stay.
func Set(data []byte, key skill.Key, r skill.Requirement) ([]byte, error) { return nil, errTODO }

// SetUse returns data with key's use set, or removed if use is empty.
func SetUse(data []byte, key skill.Key, use string) ([]byte, error) { return nil, errTODO }

// SetOverride is Set for [overrides].
func SetOverride(data []byte, key skill.Key, r skill.Requirement) ([]byte, error) {
	return nil, errTODO
}

// Remove returns data without key in [skills], and whether it was there.
func Remove(data []byte, key skill.Key) (out []byte, found bool, err error) {
	return nil, false, errTODO
}

// SetAgents returns data with [install] agents replaced.
func SetAgents(data []byte, agents []string) ([]byte, error) { return nil, errTODO }

// SetInstall returns data with a string field of [install] set.
func SetInstall(data []byte, field, value string) ([]byte, error) { return nil, errTODO }

// AddTrustSource returns data with source added to [trust] sources, unchanged
// if it is there.
func AddTrustSource(data []byte, source string) ([]byte, error) { return nil, errTODO }
