package signing

import (
	"io"

	"github.com/skillpm/skillpm/skill"
)

// Signer signs trees with a private key, and with its certificate chain where a
// private CA vouches for it. It is safe for concurrent use.
type Signer struct{}

// NewSigner reads a PKCS#8 key in PEM (EC P-256, P-384, P-521 or Ed25519; RSA
// with a certificate; encrypted ones with passphrase) and, for x509 signatures,
// a PEM file with the leaf certificate first and its intermediates after it.
// The file names are for messages. Errors carry usage or signature_key_unknown.
func NewSigner(keyFile string, key, passphrase []byte, certFile string, certs []byte) (*Signer, error) {
	panic("not yet")
}

// KeyNeedsPassphrase reports whether the PEM key is encrypted.
func KeyNeedsPassphrase(key []byte) bool { panic("not yet") }

// Sign returns the bundle for tree, named by the skill's declared name. What it
// returns has been verified against tree.
func (s *Signer) Sign(name string, tree *skill.Tree) ([]byte, error) { panic("not yet") }

// Check reports whether bundle is this signer's signature of name and tree, for
// `sign --check`. The error's code is the verdict's.
func (s *Signer) Check(name string, tree *skill.Tree, bundle []byte) error { panic("not yet") }

// GenerateKey makes an ECDSA P-256 key and returns both halves in PEM; the
// private one is PKCS#8, encrypted if passphrase is not empty.
func GenerateKey(random io.Reader, passphrase []byte) (private, public []byte, err error) {
	panic("not yet")
}
