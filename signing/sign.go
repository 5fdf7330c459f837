package signing

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Signer signs trees with a private key, and with its certificate chain where a
// private CA vouches for it. It is safe for concurrent use.
type Signer struct {
	private crypto.Signer
	public  *publicKey
	certs   []*x509.Certificate // leaf first; empty for a bare key
}

// NewSigner reads a PKCS#8 key in PEM (ECDSA P-256, P-384, P-521, Ed25519, RSA;
// encrypted ones with passphrase) and, for x509 signatures, a PEM file with the
// leaf certificate first and its intermediates after it. certs nil means a bare
// key. The file names are for messages. Errors carry usage.
func NewSigner(keyFile string, key, passphrase []byte, certFile string, certs []byte) (*Signer, error) {
	private, err := parsePrivateKey(key, passphrase)
	if err != nil {
		return nil, diag.New(diag.Usage, "the signing key cannot be used: %s", err).At(keyFile, 0, 0)
	}
	s := &Signer{private: private}
	if s.public, err = newPublicKey(private.Public()); err != nil {
		return nil, diag.New(diag.Usage, "the signing key cannot be used: %s", err).At(keyFile, 0, 0)
	}
	if certs == nil {
		return s, nil
	}
	if s.certs, err = parseCertificates(certs); err != nil {
		return nil, diag.New(diag.Usage, "the certificate cannot be used: %s", err).At(certFile, 0, 0)
	}
	if !s.public.equal(s.certs[0].PublicKey) {
		return nil, diag.New(diag.Usage, "the first certificate is of `%s`, whose key is not the one in `%s`", quote(distinguished(s.certs[0].Subject)), keyFile).At(certFile, 0, 0).
			WithHint("the leaf certificate stands first, its intermediates after it")
	}
	return s, nil
}

// Public returns the public key in PEM.
func (s *Signer) Public() []byte { return s.public.pem() }

// Kind is the kind of the signatures made: key, or x509 with a certificate.
func (s *Signer) Kind() Kind {
	if len(s.certs) > 0 {
		return KindX509
	}
	return KindKey
}

// The bundle as we write it: Sigstore bundle v0.3, by encoding/json, whose field
// order is fixed (protobuf's own JSON writer varies its blanks on purpose).
type jsonBundle struct {
	MediaType string       `json:"mediaType"`
	Material  jsonMaterial `json:"verificationMaterial"`
	Envelope  jsonEnvelope `json:"dsseEnvelope"`
}

type jsonMaterial struct {
	PublicKey *jsonKey   `json:"publicKey,omitempty"`
	Chain     *jsonChain `json:"x509CertificateChain,omitempty"`
	Log       []struct{} `json:"tlogEntries"`
}

type jsonKey struct {
	Hint string `json:"hint"`
}

type jsonChain struct {
	Certificates []jsonCert `json:"certificates"`
}

type jsonCert struct {
	Raw []byte `json:"rawBytes"`
}

type jsonEnvelope struct {
	Payload     []byte          `json:"payload"`
	PayloadType string          `json:"payloadType"`
	Signatures  []jsonSignature `json:"signatures"`
}

type jsonSignature struct {
	Sig   []byte `json:"sig"`
	KeyID string `json:"keyid"`
}

// Sign returns the bundle for tree, named by the skill's declared name. What it
// returns has been verified against tree.
func (s *Signer) Sign(name string, tree *skill.Tree) ([]byte, error) {
	payload, err := json.Marshal(newStatement(name, tree))
	if err != nil {
		return nil, err
	}
	sig, err := s.signBytes(pae(payloadType, payload))
	if err != nil {
		return nil, diag.New(diag.Internal, "sign `%s`: %s", name, err)
	}
	b := jsonBundle{MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", Material: s.material(),
		Envelope: jsonEnvelope{payload, payloadType, []jsonSignature{{Sig: sig}}}}
	data, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	if len(data) > MaxBundleBytes {
		return nil, diag.New(diag.SignatureTooLarge, "the signature of `%s` would have %d bytes; at most %d are read", name, len(data), MaxBundleBytes)
	}
	return data, s.Check(name, tree, data, time.Time{})
}

// material names the signer. Self-signed certificates stay out: a verifier must
// not take a root from a bundle.
func (s *Signer) material() jsonMaterial {
	m := jsonMaterial{Log: []struct{}{}}
	if len(s.certs) == 0 {
		m.PublicKey = &jsonKey{s.public.hint()}
		return m
	}
	m.Chain = &jsonChain{}
	for i, c := range s.certs {
		if i == 0 || c.CheckSignatureFrom(c) != nil {
			m.Chain.Certificates = append(m.Chain.Certificates, jsonCert{c.Raw})
		}
	}
	return m
}

func (s *Signer) signBytes(message []byte) ([]byte, error) {
	return s.private.Sign(rand.Reader, s.public.sum(message), s.public.hash)
}

// Check reports whether bundle is this signer's signature of name and tree, as
// `sign --check` asks. The certificate's window is looked at if now is not zero.
// The error's code is the one Verify would give.
func (s *Signer) Check(name string, tree *skill.Tree, bundle []byte, now time.Time) error {
	rule := SignerRule{Key: &KeyRule{key: s.public}}
	if len(s.certs) > 0 {
		pool := x509.NewCertPool()
		for _, c := range s.certs {
			pool.AddCert(c) // the leaf itself anchors: no CA has to be at hand
		}
		rule = SignerRule{X509: &X509Rule{roots: pool, paths: &sync.Map{}}}
		if now.IsZero() {
			now = s.certs[0].NotBefore
		}
	}
	set := noRules()
	everything, err := newGlob("**")
	if err != nil {
		return err
	}
	set.policies = []*Policy{{Scope: ScopeUser, Rules: []Rule{{Mode: ModeRequired, match: everything, AnyOf: []SignerRule{rule}}}}}
	v := Verify(context.Background(), Input{Name: name, Tree: tree, Bundle: bundle, Policies: set, Now: now})
	return v.Err()
}

// GenerateKey makes an ECDSA P-256 key (what every verifier of the format reads)
// and returns both halves in PEM; the private one is PKCS#8, encrypted if
// passphrase is not empty.
func GenerateKey(random io.Reader, passphrase []byte) (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	pub, err := newPublicKey(key.Public())
	if err != nil {
		return nil, nil, err
	}
	if len(passphrase) == 0 {
		return pem.EncodeToMemory(&pem.Block{Type: pemPlain, Bytes: der}), pub.pem(), nil
	}
	sealed, err := encryptPKCS8(random, der, passphrase)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemEncrypted, Bytes: sealed}), pub.pem(), nil
}

const (
	pemPlain     = "PRIVATE KEY"
	pemEncrypted = "ENCRYPTED PRIVATE KEY"
)

// KeyNeedsPassphrase reports whether the PEM key is encrypted.
func KeyNeedsPassphrase(key []byte) bool {
	block, _ := pem.Decode(key)
	return block != nil && block.Type == pemEncrypted
}

func parsePrivateKey(data, passphrase []byte) (crypto.Signer, error) {
	if len(data) > maxKeyBytes {
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", len(data), maxKeyBytes)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("no PEM block `%s`", pemPlain)
	}
	der := block.Bytes
	switch block.Type {
	case pemPlain:
	case pemEncrypted:
		var err error
		if der, err = decryptPKCS8(block.Bytes, passphrase); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("a PEM block `%s`, expected `%s` (PKCS#8); `openssl pkcs8 -topk8 -in OLD -out NEW` converts", quote(block.Type), pemPlain)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	if k, ok := key.(crypto.Signer); ok {
		return k, nil
	}
	return nil, errors.New("a key that cannot sign")
}
