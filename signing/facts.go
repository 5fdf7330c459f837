package signing

import (
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Kind is how a bundle was signed.
type Kind string

// The kinds. A certificate that carries Fulcio's issuer extension is keyless,
// any other certificate x509, a bare key key.
const (
	KindKeyless Kind = "keyless"
	KindKey     Kind = "key"
	KindX509    Kind = "x509"
)

// Facts are what a bundle says about its signer, the key that checks its
// signature, and the bundle's own hash: the fields of the lock's `signature`. All
// but Key and Bundle are claims until Verify judged them.
type Facts struct {
	Kind Kind `json:"kind"`
	// Issuer is the OIDC issuer (keyless) or the issuing CA's name (x509).
	Issuer string `json:"issuer,omitempty"`
	// Identity is the subject alternative name of a keyless certificate.
	Identity string `json:"identity,omitempty"`
	// Subject is the common name of an x509 certificate, its whole
	// distinguished name where it has none.
	Subject string `json:"subject,omitempty"`
	// Hint is the key's hint as it stands in the bundle (key): the signer's word,
	// outside the signature. It decides nothing.
	Hint string `json:"hint,omitempty"`
	// Key is "sha256:HEX" of the public key (PKIX DER) that the signature verifies
	// with: the certificate's (x509), or the one among those that rules name (key),
	// empty where none of them fits.
	Key string `json:"key,omitempty"`
	// Bundle is the hash of the bundle's bytes.
	Bundle skill.Digest `json:"bundle"`
}

// Who names the signer for people, without escaping: the identity and issuer,
// the certificate's subject and CA, or the start of the key's fingerprint.
func (f Facts) Who() string {
	switch f.Kind {
	case KindKeyless:
		return f.Identity + " (" + f.Issuer + ")"
	case KindX509:
		return f.Subject + " (CA " + f.Issuer + ")"
	case KindKey:
		if f.Key == "" {
			return "an unknown key"
		}
		return "key " + skill.Digest(f.Key).Short()
	}
	return ""
}

// follows reports whether a bundle with facts f comes from the signer of locked.
// proved says that a rule or the trusted root vouches for the names in f; where
// nothing does, anybody could have written them, and only the key tells one signer
// from another. Of bare keys that no rule names, only the hint can say that they
// differ, and nothing that they are the same.
func (f Facts) follows(locked Facts, proved bool) bool {
	if f.Kind != locked.Kind {
		return false
	}
	same := f.Bundle == locked.Bundle
	switch f.Kind {
	case KindKeyless:
		return f.Issuer == locked.Issuer && withoutRef(f.Identity) == withoutRef(locked.Identity) && (proved || same)
	case KindX509:
		named := f.Subject == locked.Subject && f.Issuer == locked.Issuer
		return named && (proved || same || f.Key == locked.Key)
	}
	if locked.Key == "" || f.Key == "" && same {
		return proved || same || f.Hint == locked.Hint
	}
	return f.Key == locked.Key
}

// withoutRef cuts a workflow identity at its git ref, which moves with every
// release while the workflow stays the same signer.
func withoutRef(identity string) string {
	base, _, _ := strings.Cut(identity, "@refs/")
	return base
}
