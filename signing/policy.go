package signing

import (
	"time"

	"github.com/skillpm/skillpm/skill"
)

// Scope says whose rules a policy file holds.
type Scope int

// The scopes. Only system and user files may say mode = "off".
const (
	ScopeSystem  Scope = iota + 1 // /etc/skillpm/trust.toml
	ScopeUser                     // <user config>/skillpm/trust.toml
	ScopeProject                  // [trust] of skills.toml
)

// Mode is what a rule demands. The strictest of several wins.
type Mode string

// The modes.
const (
	ModeOff      Mode = "off"      // nothing is demanded; broken signatures still refuse
	ModeOptional Mode = "optional" // unsigned is accepted
	ModeRequired Mode = "required" // a signer of any_of must have signed
)

// Policy is one file's trust rules, decoded strictly.
type Policy struct {
	File  string
	Scope Scope
	// Sources are the repositories that may be contacted, as written.
	Sources []string
	// MinAge hides versions first seen later than this ago; 0 is no limit.
	MinAge time.Duration
	// TrustLevel is "local", "remote" or empty: the farthest arrival allowed.
	TrustLevel string
	// TrustedRoot is the path of a Sigstore trusted_root.json, resolved against
	// File, or empty.
	TrustedRoot string
	Deny        Deny
	Rules       []Rule
}

// Deny lists what is refused whatever the rules say.
type Deny struct {
	Identities []string // globs over identity (keyless) and subject (x509)
	Keys       []string // hints or "sha256:HEX" of the public key
	Digests    []skill.Digest
}

// Rule is one [[trust.rules]] table.
type Rule struct {
	Match string // glob over source identities, as written
	Mode  Mode
	AnyOf []SignerRule
	// EnforceExpiry refuses an expired certificate even where digest and bundle
	// are the locked ones.
	EnforceExpiry bool
	// Tolerate are globs over paths that may be in the tree and not in the
	// signed statement.
	Tolerate []string
	Line     int // where the rule begins
}

// SignerRule is one entry of any_of; exactly one field is set.
type SignerRule struct {
	Keyless *KeylessRule
	Key     *KeyRule
	X509    *X509Rule
}

// KeylessRule accepts Fulcio certificates.
type KeylessRule struct {
	Issuer           string
	Identity         string // glob, or
	IdentityRegexp   string // RE2, anchored
	SourceRepository string
	Ref              string
	Runner           string
	SignedTimestamp  bool // an RFC 3161 timestamp is demanded
}

// KeyRule accepts one public key.
type KeyRule struct {
	File                string // resolved against the policy's file
	NotBefore, NotAfter time.Time
	LogRequired         bool
}

// X509Rule accepts certificates of a private CA.
type X509Rule struct {
	Roots       string // resolved against the policy's file
	Subject     string // glob over the common name, or the whole name if it holds "="
	LogRequired bool
}

// ParsePolicy decodes the trust rules of file: a whole trust.toml for the system
// and user scopes, only the [trust] table of a skills.toml for the project scope.
// Every fault is reported at once as policy_invalid with line and column. Files
// that the policy names are read by NewSet.
func ParsePolicy(file string, data []byte, scope Scope) (*Policy, error) {
	panic("not yet")
}
