package signing

import (
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/tomledit"
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
	rootAt  tomledit.Place
	root    *trustedRoot   // set by NewSet, nil without TrustedRoot
	seal    []skill.Digest // of the file and of all it names, set by ParsePolicy and NewSet
}

// Deny lists what is refused whatever the rules say.
type Deny struct {
	Identities []string // globs over identity (keyless) and subject (x509)
	Keys       []string // hashes of public keys, in a spelling that isKeyHash knows
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

	at  tomledit.Place
	key *publicKey // set by NewSet
}

// X509Rule accepts certificates of a private CA.
type X509Rule struct {
	Roots       string // resolved against the policy's file
	Subject     string // glob over the common name, or over the whole name if it holds "="; empty means any
	LogRequired bool

	at      tomledit.Place
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
	var err error
	if d.doc, err = parseTOML(file, data); err != nil {
		return nil, err
	}
	tree := d.doc.Root()
	if scope == ScopeProject {
		d.policy.seal = nil // only [trust] counts
		if trust := tree.Get("trust"); trust != nil {
			d.trust(trust)
			d.policy.seal = []skill.Digest{sealTree(trust)}
		}
	} else {
		d.fields(tree, "a trust file", map[string]func(*tomledit.Value){"trust": d.trust})
	}
	if d.faults.Sort(); len(d.faults) > 0 {
		return nil, d.faults.Err()
	}
	return d.policy, nil
}

var everything, _ = newSourceGlob("**") // cannot fail

// RequireSigner returns a policy that demands one of the signers of whatever is
// verified. File names are taken as they are; NewSet reads the files.
func RequireSigner(signers ...SignerRule) *Policy {
	p := &Policy{Scope: ScopeUser, Rules: []Rule{{Match: "**", Mode: ModeRequired, AnyOf: signers, match: everything}}}
	for _, s := range signers {
		p.seal = append(p.seal, skill.DigestOf([]byte(s.String())))
	}
	return p
}

// parseTOML reads a policy's text; a syntax fault is policy_invalid.
func parseTOML(file string, data []byte) (*tomledit.Document, error) {
	doc, err := tomledit.Parse(data)
	if e, ok := errors.AsType[*tomledit.SyntaxError](err); ok {
		return nil, diag.New(diag.PolicyInvalid, "%s", e.Message).At(file, e.Line, e.Column)
	}
	return doc, err
}

// sealTree hashes a tree's keys and values, so that an edit elsewhere in
// skills.toml does not throw cached verdicts away.
func sealTree(n *tomledit.Value) skill.Digest {
	var b []byte
	var write func(n *tomledit.Value)
	write = func(n *tomledit.Value) {
		b = fmt.Appendf(b, "%d %q %d\n", n.Kind, n.Text, n.Len())
		for _, item := range n.Items {
			write(item)
		}
		for _, f := range n.Fields {
			b = fmt.Appendf(b, "%q\n", f.Name)
			write(f.Value)
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
