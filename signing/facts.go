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

// Facts are what a bundle says about its signer, and the bundle's own hash: the
// fields of the lock's `signature`. They are claims until Verify judged them.
type Facts struct {
	Kind Kind `json:"kind"`
	// Issuer is the OIDC issuer (keyless) or the issuing CA's name (x509).
	Issuer string `json:"issuer,omitempty"`
	// Identity is the subject alternative name of a keyless certificate.
	Identity string `json:"identity,omitempty"`
	// Subject is the common name of an x509 certificate, its whole
	// distinguished name where it has none.
	Subject string `json:"subject,omitempty"`
	// Hint is the key's hint as it stands in the bundle (key).
	Hint string `json:"hint,omitempty"`
	// Bundle is the hash of the bundle's bytes.
	Bundle skill.Digest `json:"bundle"`
}

// Who names the signer for people, without escaping: the identity and issuer,
// the certificate's subject and CA, or the key's hint.
func (f Facts) Who() string {
	switch f.Kind {
	case KindKeyless:
		return f.Identity + " (" + f.Issuer + ")"
	case KindX509:
		return f.Subject + " (CA " + f.Issuer + ")"
	case KindKey:
		return "key " + f.Hint
	}
	return ""
}

// SameSigner reports whether both facts name one signer: issuer and identity up
// to "@refs/" (keyless), subject and issuer (x509), the hint (key).
func (f Facts) SameSigner(g Facts) bool {
	if f.Kind != g.Kind {
		return false
	}
	switch f.Kind {
	case KindKeyless:
		return f.Issuer == g.Issuer && withoutRef(f.Identity) == withoutRef(g.Identity)
	case KindX509:
		return f.Subject == g.Subject && f.Issuer == g.Issuer
	}
	return f.Hint == g.Hint
}

// withoutRef cuts a workflow identity at its git ref, which moves with every
// release while the workflow stays the same signer.
func withoutRef(identity string) string {
	base, _, _ := strings.Cut(identity, "@refs/")
	return base
}
