package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	ct "github.com/google/certificate-transparency-go"
	cttls "github.com/google/certificate-transparency-go/tls"
	"github.com/google/certificate-transparency-go/x509util"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillpm/skillpm/skill"
)

// virtual is a whole Sigstore in memory. Log and timestamp authority are
// sigstore-go's virtual ones; the certificate authority is our own, since theirs
// issues neither workflow identities nor certificates with log promises.
type virtual struct {
	*ca.VirtualSigstore
	fulcio *root.FulcioCertificateAuthority
	key    *ecdsa.PrivateKey // of the issuing certificate
	ctKey  *ecdsa.PrivateKey
}

func newVirtual(t testing.TB) *virtual {
	t.Helper()
	vs, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	top, topKey, err := ca.GenerateRootCa()
	if err != nil {
		t.Fatal(err)
	}
	issuing, key, err := ca.GenerateFulcioIntermediate(top, topKey)
	if err != nil {
		t.Fatal(err)
	}
	return &virtual{VirtualSigstore: vs, key: key, ctKey: newECKey(t, elliptic.P256()),
		fulcio: &root.FulcioCertificateAuthority{Root: top, Intermediates: []*x509.Certificate{issuing}, URI: "virtual"}}
}

func newECKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (v *virtual) FulcioCertificateAuthorities() []root.CertificateAuthority {
	return []root.CertificateAuthority{v.fulcio}
}

func (v *virtual) CTLogs() map[string]*root.TransparencyLog {
	der, _ := x509.MarshalPKIXPublicKey(v.ctKey.Public())
	id := sha256.Sum256(der)
	return map[string]*root.TransparencyLog{hex.EncodeToString(id[:]): {ID: id[:], PublicKey: v.ctKey.Public(), HashFunc: crypto.SHA256}}
}

// set is policies judged against this Sigstore.
func (v *virtual) set(t testing.TB, policies ...*Policy) *Set {
	t.Helper()
	return v.setReading(t, nil, policies...)
}

// setReading is set with the files that the policies name.
func (v *virtual) setReading(t testing.TB, files map[string][]byte, policies ...*Policy) *Set {
	t.Helper()
	s, err := NewSet(SetOptions{ReadFile: func(name string) ([]byte, error) { return files[name], nil }}, policies...)
	if err != nil {
		t.Fatal(err)
	}
	s.root = &rootFile{skill.DigestOf(v.fulcio.Root.Raw), func() (*trustedRoot, error) { return newTrustedRoot("virtual", nil, v), nil }}
	return s
}

// workflow is who signs, as Fulcio would certify a GitHub Actions job.
type workflow struct {
	identity, issuer, repo, ref, runner string

	noSCT, noLog, noStamp, noProof bool
	signedAt                       time.Duration // after the certificate's start
	payloadType                    string
	also                           string // a second name in the certificate
	chain                          bool   // put issuing and root certificates into the bundle
}

// release is the signer that the tests' rules expect.
var release = workflow{
	identity: "https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/v1.2.0",
	issuer:   "https://token.actions.githubusercontent.com",
	repo:     "https://github.com/acme/skills", ref: "refs/tags/v1.2.0", runner: "github-hosted",
}

const releaseRule = `keyless = { issuer = "https://token.actions.githubusercontent.com", identity = "https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/**", source_repository = "https://github.com/acme/skills", runner = "github-hosted" }`

// sign returns a bundle about the tree.
func (v *virtual) sign(t testing.TB, w workflow, name string, tree *skill.Tree) []byte {
	t.Helper()
	payload, err := json.Marshal(newStatement(name, tree))
	if err != nil {
		t.Fatal(err)
	}
	return v.signPayload(t, w, payload)
}

func (v *virtual) signPayload(t testing.TB, w workflow, payload []byte) []byte {
	t.Helper()
	if w.payloadType == "" {
		w.payloadType = payloadType
	}
	key := newECKey(t, elliptic.P256())
	leaf := v.certify(t, w, &key.PublicKey)
	sum := sha256.Sum256(pae(w.payloadType, payload))
	sig, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	material := &protobundle.VerificationMaterial{Content: &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: leaf.Raw}}}
	if w.chain {
		chain := []*protocommon.X509Certificate{{RawBytes: leaf.Raw}, {RawBytes: v.fulcio.Intermediates[0].Raw}, {RawBytes: v.fulcio.Root.Raw}}
		material.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{Certificates: chain}}
	}
	if !w.noLog {
		material.TlogEntries = []*protorekor.TransparencyLogEntry{v.log(t, w, leaf, payload, sig)}
	}
	if !w.noStamp {
		stamp, err := v.TimestampResponse(sig)
		if err != nil {
			t.Fatal(err)
		}
		material.TimestampVerificationData = &protobundle.TimestampVerificationData{Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamp}}}
	}
	data, err := protojson.Marshal(&protobundle.Bundle{MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", VerificationMaterial: material,
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{Payload: payload, PayloadType: w.payloadType, Signatures: []*protodsse.Signature{{Sig: sig}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// log makes the log entry; the library leaves out kind and promise.
func (v *virtual) log(t testing.TB, w workflow, leaf *x509.Certificate, payload, sig []byte) *protorekor.TransparencyLogEntry {
	t.Helper()
	env := &dsse.Envelope{PayloadType: w.payloadType, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []dsse.Signature{{Sig: base64.StdEncoding.EncodeToString(sig)}}}
	at := time.Now().Add(w.signedAt)
	entry, err := v.GenerateTlogEntry(leaf, env, sig, at.Unix(), !w.noProof)
	if err != nil {
		t.Fatal(err)
	}
	tle := entry.TransparencyLogEntry()
	tle.KindVersion = &protorekor.KindVersion{Kind: "dsse", Version: "0.0.1"}
	promise, err := v.RekorSignPayload(tlog.RekorPayload{Body: base64.StdEncoding.EncodeToString(tle.CanonicalizedBody),
		IntegratedTime: tle.IntegratedTime, LogIndex: tle.LogIndex, LogID: hex.EncodeToString(tle.LogId.KeyId)})
	if err != nil {
		t.Fatal(err)
	}
	tle.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: promise}
	return tle
}

// certify issues a workflow's certificate with the promise of a certificate log.
func (v *virtual) certify(t testing.TB, w workflow, pub *ecdsa.PublicKey) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(7), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(10 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}}
	if strings.Contains(w.identity, "://") {
		uri, err := url.Parse(w.identity)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = []*url.URL{uri}
	} else {
		template.EmailAddresses = []string{w.identity}
	}
	if w.also != "" {
		template.EmailAddresses = append(template.EmailAddresses, w.also)
	}
	for _, e := range []struct {
		oid   asn1.ObjectIdentifier
		value string
	}{
		{certificate.OIDIssuerV2, w.issuer}, {certificate.OIDSourceRepositoryURI, w.repo},
		{certificate.OIDSourceRepositoryRef, w.ref}, {certificate.OIDRunnerEnvironment, w.runner},
	} {
		if e.value == "" {
			continue
		}
		der, err := asn1.MarshalWithParams(e.value, "utf8")
		if err != nil {
			t.Fatal(err)
		}
		template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: e.oid, Value: der})
	}
	issuer := v.fulcio.Intermediates[0]
	leaf := issue(t, template, issuer, pub, v.key)
	if w.noSCT {
		return leaf
	}
	template.ExtraExtensions = append(template.ExtraExtensions, v.promise(t, leaf, issuer))
	return issue(t, template, issuer, pub, v.key)
}

func issue(t testing.TB, template, parent *x509.Certificate, pub crypto.PublicKey, key crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// promise is the SCT list extension over a certificate that does not have it yet
// (RFC 6962 section 3.2).
func (v *virtual) promise(t testing.TB, leaf, issuer *x509.Certificate) pkix.Extension {
	t.Helper()
	at := uint64(time.Now().UnixMilli())
	entry := ct.LogEntry{Leaf: ct.MerkleTreeLeaf{Version: ct.V1, LeafType: ct.TimestampedEntryLeafType, TimestampedEntry: &ct.TimestampedEntry{
		Timestamp: at, EntryType: ct.PrecertLogEntryType,
		PrecertEntry: &ct.PreCert{IssuerKeyHash: sha256.Sum256(issuer.RawSubjectPublicKeyInfo), TBSCertificate: leaf.RawTBSCertificate}}}}
	der, _ := x509.MarshalPKIXPublicKey(v.ctKey.Public())
	sct := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, LogID: ct.LogID{KeyID: sha256.Sum256(der)}, Timestamp: at}
	input, err := ct.SerializeSCTSignatureInput(sct, entry)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(input)
	sig, err := ecdsa.SignASN1(rand.Reader, v.ctKey, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sct.Signature = ct.DigitallySigned{Algorithm: cttls.SignatureAndHashAlgorithm{Hash: cttls.SHA256, Signature: cttls.ECDSA}, Signature: sig}
	list, err := x509util.MarshalSCTsIntoSCTList([]*ct.SignedCertificateTimestamp{&sct})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := cttls.Marshal(*list)
	if err != nil {
		t.Fatal(err)
	}
	value, err := asn1.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value}
}

// rule parses a policy with one required rule for github.com/acme/skills.
func rule(t testing.TB, signers string, more ...string) *Policy {
	t.Helper()
	text := "[[trust.rules]]\nmatch = \"github.com/acme/skills//**\"\nmode = \"required\"\nany_of = [ { " + signers + " } ]\n" + strings.Join(more, "\n")
	return mustPolicy(t, text, ScopeUser)
}

func mustPolicy(t testing.TB, text string, scope Scope) *Policy {
	t.Helper()
	p, err := ParsePolicy("trust.toml", []byte(text), scope)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// deployTree is a small skill with a script.
func deployTree(t testing.TB) *skill.Tree {
	return newTree(t, newFile("SKILL.md", "---\nname: deploy\n---\n", false), newFile("scripts/run.sh", "#!/bin/sh\n", true))
}

// input judges the deploy skill of github.com/acme/skills.
func input(t testing.TB, set *Set, tree *skill.Tree, bundle []byte) Input {
	return Input{Key: "deploy", Name: "deploy", Source: mustSource(t, "github.com/acme/skills//skills/deploy"), Tree: tree, Bundle: bundle, Policies: set, Now: time.Now()}
}

func wantCode(t *testing.T, v Verdict, want string) {
	t.Helper()
	got := string(v.Code)
	if v.Outcome != Refused {
		got = string(v.Outcome)
	}
	if got != want {
		t.Errorf("got %s (%s: %s %q), want %s", got, v.Stage, v.Message, v.Details, want)
	}
	if v.Outcome == Refused && (v.Message == "" || v.Stage == "" || bytes.ContainsAny([]byte(v.Message), "\x1b\n")) {
		t.Errorf("stage %q, message %q: a refusal names the stage and is safe to print", v.Stage, v.Message)
	}
}
