package signing

import (
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
)

func TestSignAndVerify(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	tree := deployTree(t)
	for name, key := range map[string]crypto.Signer{
		"P-256": newECKey(t, elliptic.P256()), "P-384": newECKey(t, elliptic.P384()), "P-521": newECKey(t, elliptic.P521()), "Ed25519": ed, "RSA": r,
	} {
		t.Run(name, func(t *testing.T) {
			der, err := x509.MarshalPKCS8PrivateKey(key)
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewSigner("key.pem", pem.EncodeToMemory(&pem.Block{Type: pemPlain, Bytes: der}), nil, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			bundle := mustSign(t, s, "deploy", tree)
			set := keySet(t, s.Public(), `key = { file = "acme.pub" }`)
			v := Verify(t.Context(), input(t, set, tree, bundle))
			wantCode(t, v, "verified")
			if v.State != StateVerifiedIssuer || v.Rules[0].Signer != 1 {
				t.Errorf("got %+v", v)
			}
			if err := s.Check("deploy", tree, bundle, time.Now()); err != nil {
				t.Error(err)
			}
			if err := s.Check("deploy", newTree(t, newFile("SKILL.md", "x", false)), bundle, time.Now()); diag.CodeOf(err) != diag.SignatureContentChanged {
				t.Errorf("check of a changed tree: %v", err)
			}
		})
	}
}

func TestSignWithPrivateCA(t *testing.T) {
	ca := newPrivateCA(t, "Acme CA")
	s := ca.signer(t, newECKey(t, elliptic.P384()), "Acme Signing 1")
	tree := deployTree(t)
	bundle := mustSign(t, s, "deploy", tree)
	if strings.Contains(string(bundle), base64.StdEncoding.EncodeToString(ca.root.Raw)) {
		t.Error("the bundle holds the root certificate")
	}
	in := input(t, keySet(t, certPEM(ca.root), acmeSubject), tree, bundle)
	in.Now = caNow
	wantCode(t, Verify(t.Context(), in), "verified")
	if err := s.Check("deploy", tree, bundle, caEnd.AddDate(1, 0, 0)); diag.CodeOf(err) != diag.SignatureCertExpired {
		t.Errorf("check after the certificate's end: %v", err)
	}
	if s.Kind() != KindX509 {
		t.Errorf("kind %s", s.Kind())
	}
}

func TestSignerRefusals(t *testing.T) {
	private, public, err := GenerateKey(rand.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	locked, _, err := GenerateKey(rand.Reader, []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	ca := newPrivateCA(t, "Acme CA")
	for _, tt := range []struct {
		name             string
		key, pass, certs []byte
		says             string
	}{
		{"no PEM", []byte("hello"), nil, nil, "no PEM block"},
		{"a public key", public, nil, nil, "PUBLIC KEY"},
		{"rubbish in PEM", pem.EncodeToMemory(&pem.Block{Type: pemPlain, Bytes: []byte("x")}), nil, nil, "asn1"},
		{"no passphrase", locked, nil, nil, "no passphrase"},
		{"wrong passphrase", locked, []byte("open barley"), nil, "passphrase is wrong"},
		{"certificate of another key", private, nil, certPEM(ca.root), "not the one in"},
		{"no certificate", private, nil, []byte("x"), "CERTIFICATE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewSigner("key.pem", tt.key, tt.pass, "chain.pem", tt.certs)
			if err == nil || !strings.Contains(err.Error(), tt.says) || diag.CodeOf(err) != diag.Usage {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	if !KeyNeedsPassphrase(locked) || KeyNeedsPassphrase(private) {
		t.Error("KeyNeedsPassphrase is wrong")
	}
	s, err := NewSigner("key.pem", locked, []byte("open sesame"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	mustSign(t, s, "deploy", deployTree(t))
	if _, err := s.Sign("deploy", newTree(t)); err == nil {
		t.Error("an empty skill was signed")
	}
}

// Keys that OpenSSL encrypted, with each derivation it offers. They were made for
// this test (testdata/signing/README.md) and open nothing.
func TestOpenSSLKeys(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "signing", "openssl-*.pem"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSigner(file, data, []byte("skillpm test"), "", nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		mustSign(t, s, "deploy", deployTree(t))
	}
}

func TestSignaturesAreReproducibleButForTheSignature(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := newPublicKey(ed.Public())
	if err != nil {
		t.Fatal(err)
	}
	s := &Signer{private: ed, public: pub}
	tree := deployTree(t)
	if a, b := mustSign(t, s, "deploy", tree), mustSign(t, s, "deploy", tree); string(a) != string(b) {
		t.Errorf("Ed25519 signatures differ:\n%s\n%s", a, b)
	}
}
