package signing

import (
	"crypto/x509"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
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

	sources []glob
	denied  []glob // Deny.Identities
	rootAt  *node
	root    *trustedRoot   // set by NewSet, nil without TrustedRoot
	seal    []skill.Digest // of the file and of all it names, set by ParsePolicy and NewSet
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

	match    glob
	tolerate []glob
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

	issuer, identity, repository, ref, runner glob
	regexp                                    *regexp.Regexp
}

// KeyRule accepts one public key.
type KeyRule struct {
	File                string // resolved against the policy's file
	NotBefore, NotAfter time.Time
	LogRequired         bool

	at  *node
	key *publicKey // set by NewSet
}

// X509Rule accepts certificates of a private CA.
type X509Rule struct {
	Roots       string // resolved against the policy's file
	Subject     string // glob over the common name, or over the whole name if it holds "="; empty means any
	LogRequired bool

	at      *node
	subject glob
	roots   *x509.CertPool // set by NewSet
	paths   *sync.Map      // pathKey → pathResult, set with roots
}

// ParsePolicy decodes the trust rules of file: a whole trust.toml for the system
// and user scopes, only the [trust] table of a skills.toml for the project scope.
// Every fault is reported at once as policy_invalid with line and column. Files
// that the policy names are read by NewSet.
func ParsePolicy(file string, data []byte, scope Scope) (*Policy, error) {
	d := &decoder{policy: &Policy{File: file, Scope: scope, seal: []skill.Digest{skill.DigestOf(data)}}}
	if len(data) > maxPolicyBytes {
		return nil, diag.New(diag.PolicyInvalid, "the file has %d bytes; at most %d are read", len(data), maxPolicyBytes).At(file, 0, 0)
	}
	tree, err := parseTree(file, data)
	if err != nil {
		return nil, err
	}
	if scope == ScopeProject {
		d.policy.seal = nil // only [trust] counts
		if trust := tree.child("trust"); trust != nil {
			d.trust(trust)
			d.policy.seal = []skill.Digest{sealTree(trust)}
		}
	} else {
		d.fields(tree, "a trust file", map[string]func(*node){"trust": d.trust})
	}
	if d.faults.Sort(); len(d.faults) > 0 {
		return nil, d.faults.Err()
	}
	return d.policy, nil
}

// sealTree hashes a tree's keys and values, so that an edit elsewhere in
// skills.toml does not throw cached verdicts away.
func sealTree(n *node) skill.Digest {
	var b []byte
	var write func(n *node)
	write = func(n *node) {
		b = fmt.Appendf(b, "%d %q %d %d\n", n.kind, n.text, len(n.items), len(n.keys))
		for _, item := range n.items {
			write(item)
		}
		for _, key := range n.keys {
			b = fmt.Appendf(b, "%q\n", key)
			write(n.at[key])
		}
	}
	write(n)
	return skill.DigestOf(b)
}

// String returns the scope's name.
func (s Scope) String() string {
	switch s {
	case ScopeSystem:
		return "system"
	case ScopeUser:
		return "user"
	}
	return "project"
}

// String describes the signer for people, unescaped.
func (s SignerRule) String() string {
	switch {
	case s.Keyless != nil:
		return s.Keyless.Identity + s.Keyless.IdentityRegexp + " (keyless, " + s.Keyless.Issuer + ")"
	case s.Key != nil:
		return "key " + s.Key.File
	case s.X509 != nil && s.X509.Subject == "":
		return "any certificate of " + s.X509.Roots
	case s.X509 != nil:
		return s.X509.Subject + " (x509, " + s.X509.Roots + ")"
	}
	return "nobody"
}
