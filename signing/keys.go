package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// maxKeyBytes bounds key and certificate files; a chain of ten RSA-4096
// certificates is 20 KiB.
const maxKeyBytes = 1 << 20

// publicKey is a verification key with the hash its signatures use.
type publicKey struct {
	key  crypto.PublicKey
	hash crypto.Hash // 0 for Ed25519, which hashes by itself
	name string      // "ECDSA P-384 with SHA-384"
	der  []byte      // PKIX
}

// newPublicKey accepts what the bundle format's key list holds and Go can check:
// ECDSA over P-256, P-384 and P-521 with the hash of the curve's size, Ed25519,
// and RSA (2048 to 8192 bits) with SHA-256.
func newPublicKey(key crypto.PublicKey) (*publicKey, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("a key of an unknown kind: %w", err)
	}
	p := &publicKey{key: key, der: der}
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			p.hash, p.name = crypto.SHA256, "ECDSA P-256 with SHA-256"
		case elliptic.P384():
			p.hash, p.name = crypto.SHA384, "ECDSA P-384 with SHA-384"
		case elliptic.P521():
			p.hash, p.name = crypto.SHA512, "ECDSA P-521 with SHA-512"
		default:
			return nil, fmt.Errorf("the curve %s is not supported; use P-256, P-384 or P-521", k.Curve.Params().Name)
		}
	case ed25519.PublicKey:
		p.name = "Ed25519"
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < 2048 || bits > 8192 {
			return nil, fmt.Errorf("an RSA key has 2048 to 8192 bits, found %d", bits)
		}
		p.hash, p.name = crypto.SHA256, "RSA with SHA-256"
	default:
		return nil, errors.New("a key is ECDSA, Ed25519 or RSA")
	}
	return p, nil
}

// parsePublicKey reads the first PUBLIC KEY block of a PEM file; text around it
// (as certtool writes) is passed over.
func parsePublicKey(data []byte) (*publicKey, error) {
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errors.New("no PEM block `PUBLIC KEY`")
		}
		switch block.Type {
		case "PUBLIC KEY":
			key, err := x509.ParsePKIXPublicKey(block.Bytes)
			if err != nil {
				return nil, err
			}
			return newPublicKey(key)
		case "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "EC PRIVATE KEY":
			return nil, errors.New("a private key where a public one belongs; keep it away from policies")
		}
	}
}

// parseCertificates reads all CERTIFICATE blocks of a PEM file.
func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no PEM block `CERTIFICATE`")
	}
	return certs, nil
}

// verify checks sig over message.
func (p *publicKey) verify(message, sig []byte) bool {
	return p.verifySum(p.sum(message), sig)
}

// sum returns what is signed: the hash, or the message itself for Ed25519.
func (p *publicKey) sum(message []byte) []byte {
	if p.hash == 0 {
		return message
	}
	h := p.hash.New()
	h.Write(message)
	return h.Sum(nil)
}

// verifySum checks sig over a hash (the message itself for Ed25519).
func (p *publicKey) verifySum(sum, sig []byte) bool {
	switch k := p.key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(k, sum, sig)
	case ed25519.PublicKey:
		return ed25519.Verify(k, sum, sig)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, p.hash, sum, sig) == nil
	}
	return false
}

// fingerprint is "sha256:HEX" of the PKIX form, what `openssl pkey -pubin
// -outform DER | sha256sum` prints.
func (p *publicKey) fingerprint() string {
	sum := sha256.Sum256(p.der)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// pem returns the key as a PEM block.
func (p *publicKey) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: p.der})
}

// hint is what we write into bundles: the hex SHA-256 of the PEM form, as
// OpenSSF Model Signing does, so that its verifier accepts our bundles.
func (p *publicKey) hint() string {
	sum := sha256.Sum256(p.pem())
	return hex.EncodeToString(sum[:])
}

// hasHint reports whether hint names this key in a spelling in use: Model
// Signing's, Sigstore's (base64 of the PKIX form's hash) or npm's.
func (p *publicKey) hasHint(hint string) bool {
	sum := sha256.Sum256(p.der)
	switch hint {
	case p.hint(), base64.StdEncoding.EncodeToString(sum[:]), hex.EncodeToString(sum[:]), p.fingerprint(),
		"SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:]):
		return true
	}
	return false
}

// isKeyHash reports whether s is a public key's hash in one of the spellings that
// hasHint compares.
func isKeyHash(s string) bool {
	if rest, ok := strings.CutPrefix(s, "SHA256:"); ok {
		sum, err := base64.RawStdEncoding.DecodeString(rest)
		return err == nil && len(sum) == sha256.Size
	}
	if sum, err := base64.StdEncoding.DecodeString(s); err == nil && len(sum) == sha256.Size {
		return true
	}
	digits := strings.TrimPrefix(s, "sha256:")
	sum, err := hex.DecodeString(digits)
	return err == nil && len(sum) == sha256.Size && digits == strings.ToLower(digits)
}

func notKeyHash(s string) *diag.Error {
	return diag.New(diag.PolicyInvalid, "`%s` is not the hash of a public key", quote(s)).
		WithHint("write sha256: and 64 hex digits; `skillpm trust revoke --as key FILE` takes them from a public key")
}

// KeyHash returns the hash of the first public key in PEM data, as a deny list
// names it. The error carries policy_invalid.
func KeyHash(data []byte) (string, error) {
	key, err := parsePublicKey(data)
	if err != nil {
		return "", diag.New(diag.PolicyInvalid, "%s", quote(err.Error()))
	}
	return key.fingerprint(), nil
}

// same reports whether both are one key.
func (p *publicKey) same(q *publicKey) bool { return bytes.Equal(p.der, q.der) }

func (p *publicKey) equal(other crypto.PublicKey) bool {
	q, err := newPublicKey(other)
	return err == nil && p.same(q)
}
