package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/skill"
)

// privateCA is a company's own authority: root, intermediate, and leaves.
type privateCA struct {
	root, between *x509.Certificate
	key           *ecdsa.PrivateKey
}

// The tests' certificates are valid throughout 2026.
var (
	caStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	caEnd   = time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	caNow   = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
)

func newPrivateCA(t testing.TB, name string) *privateCA {
	t.Helper()
	rootKey, key := newECKey(t, elliptic.P384()), newECKey(t, elliptic.P384())
	template := func(cn string) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: cn}, NotBefore: caStart.AddDate(-1, 0, 0), NotAfter: caEnd.AddDate(10, 0, 0),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	}
	top := template(name)
	root := issue(t, top, top, rootKey.Public(), rootKey)
	return &privateCA{root, issue(t, template(name+" issuing"), root, key.Public(), rootKey), key}
}

// signer makes a leaf for name and returns its signer.
func (ca *privateCA) signer(t testing.TB, key crypto.Signer, name string, change ...func(*x509.Certificate)) *Signer {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: []string{"Acme"}},
		NotBefore: caStart, NotAfter: caEnd, KeyUsage: x509.KeyUsageDigitalSignature}
	for _, c := range change {
		c(template)
	}
	leaf := issue(t, template, ca.between, key.Public(), ca.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSigner("key.pem", pem.EncodeToMemory(&pem.Block{Type: pemPlain, Bytes: der}), nil, "chain.pem", append(certPEM(leaf), certPEM(ca.between, ca.root)...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func certPEM(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

const acmeSubject = `x509 = { roots = "ca.pem", subject = "Acme Signing *" }`

func TestPrivateCA(t *testing.T) {
	ca, foreign := newPrivateCA(t, "Acme CA"), newPrivateCA(t, "Acme CA")
	set := keySet(t, certPEM(ca.root), acmeSubject)
	tree := deployTree(t)
	key := newECKey(t, elliptic.P384())
	server := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	encipher := func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }
	for _, tt := range []struct {
		name   string
		signer *Signer
		now    time.Time
		want   string
	}{
		{"as the rule says", ca.signer(t, key, "Acme Signing 1"), caNow, "verified"},
		{"P-256", ca.signer(t, newECKey(t, elliptic.P256()), "Acme Signing 1"), caNow, "verified"},
		{"P-521", ca.signer(t, newECKey(t, elliptic.P521()), "Acme Signing 1"), caNow, "verified"},
		{"another subject of the CA", ca.signer(t, key, "Acme Intranet"), caNow, "signature_identity_mismatch"},
		{"subject with the right one inside", ca.signer(t, key, "Not Acme Signing 1"), caNow, "signature_identity_mismatch"},
		{"foreign CA of the same name", foreign.signer(t, key, "Acme Signing 1"), caNow, "signature_untrusted_root"},
		{"expired", ca.signer(t, key, "Acme Signing 1"), caEnd.Add(time.Second), "signature_cert_expired"},
		{"last second", ca.signer(t, key, "Acme Signing 1"), caEnd, "verified"},
		{"not yet valid", ca.signer(t, key, "Acme Signing 1"), caStart.Add(-time.Second), "signature_cert_not_yet_valid"},
		{"a server's certificate", ca.signer(t, key, "Acme Signing 1", server), caNow, "signature_untrusted_root"},
		{"a certificate for encryption", ca.signer(t, key, "Acme Signing 1", encipher), caNow, "signature_untrusted_root"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			payload := signWithout(t, tt.signer, tree)
			in := input(t, set, tree, payload)
			in.Now = tt.now
			wantCode(t, Verify(t.Context(), in), tt.want)
		})
	}
}

// signWithout signs without the check of Sign, which would refuse certificates
// that are not for signing.
func signWithout(t *testing.T, s *Signer, tree *skill.Tree) []byte {
	return resign(t, s, tree, func(*statement) {})
}

// withCertificate adds a certificate to the bundle's chain, which no signature
// covers.
func withCertificate(t *testing.T, bundle []byte, cert *x509.Certificate) []byte {
	t.Helper()
	var b jsonBundle
	if err := json.Unmarshal(bundle, &b); err != nil {
		t.Fatal(err)
	}
	b.Material.Chain.Certificates = append(b.Material.Chain.Certificates, jsonCert{cert.Raw})
	out, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A root inside the bundle is the signer's own word.
func TestRootInChainIsNotTrusted(t *testing.T) {
	ca, foreign := newPrivateCA(t, "Acme CA"), newPrivateCA(t, "Evil CA")
	s := foreign.signer(t, newECKey(t, elliptic.P256()), "Acme Signing 1")
	tree := deployTree(t)
	bundle := withCertificate(t, signWithout(t, s, tree), foreign.root)
	in := input(t, keySet(t, certPEM(ca.root), acmeSubject), tree, bundle)
	in.Now = caNow
	v := Verify(t.Context(), in)
	wantCode(t, v, "signature_untrusted_root")
	if !strings.Contains(v.Message, "Evil CA") {
		t.Errorf("%q does not name the CA", v.Message)
	}
	// Without rules the same signature is shown, not trusted.
	in.Policies = nil
	v = Verify(t.Context(), in)
	wantCode(t, v, "unjudged")
	if v.Summary() != "signed by Acme Signing 1 (CA Evil CA issuing), not verified" {
		t.Errorf("got %q", v.Summary())
	}
}

func TestVerdictHoldsUntilTheCertificateEnds(t *testing.T) {
	ca := newPrivateCA(t, "Acme CA")
	tree := deployTree(t)
	in := input(t, keySet(t, certPEM(ca.root), acmeSubject), tree, signWithout(t, ca.signer(t, newECKey(t, elliptic.P256()), "Acme Signing 1"), tree))
	in.Now = caNow
	v := Verify(t.Context(), in)
	for at, want := range map[time.Time]bool{caNow: true, caStart: true, caEnd: true, caEnd.Add(time.Second): false, caStart.Add(-time.Second): false} {
		if v.ValidAt(at) != want {
			t.Errorf("ValidAt(%s) = %t (from %s until %s)", at, !want, v.From, v.Until)
		}
	}
}
