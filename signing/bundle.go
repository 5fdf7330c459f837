package signing

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/json"
	"fmt"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Limits of a bundle. The largest of the 344 published ones has 190 KiB.
const (
	MaxBundleBytes  = 1 << 20
	maxChain        = 10
	maxLogEntries   = 32 // sigstore-go's own limit
	maxTimestamps   = 32
	maxSignerString = 4096 // bytes of an identity, issuer, subject or hint
)

// bundle is a parsed Sigstore bundle: what is claimed, nothing checked.
type bundle struct {
	mediaType string
	facts     Facts
	leaf      *x509.Certificate   // nil for a bare key
	chain     []*x509.Certificate // after the leaf, as given
	key       *publicKey          // of the leaf; of a bare key once Set.identify found it
	fulcio    certificate.Summary // keyless only

	// payload and payloadType are the DSSE envelope's; a plain message signature
	// has none but digest.
	payloadType string
	payload     []byte
	sig         []byte
	message     *protocommon.HashOutput

	entries    []*tlog.Entry
	timestamps [][]byte
}

var fulcioIssuers = []asn1.ObjectIdentifier{certificate.OIDIssuerV2, {1, 3, 6, 1, 4, 1, 57264, 1, 1}}

// parseBundle reads a bundle of media type v0.1 to v0.3. It accepts the chains
// of private CAs that sigstore-go's own reader refuses in v0.3; the chain only
// ever helps to reach a root that a policy names.
func parseBundle(data []byte) (*bundle, *fault) {
	if len(data) > MaxBundleBytes {
		return nil, newFault(stageParse, diag.SignatureTooLarge, "the bundle has %d bytes; at most %d are read", len(data), MaxBundleBytes)
	}
	if err := scanJSON(data); err != nil {
		return nil, malformed("the bundle is no strict JSON: %s", err)
	}
	b := &bundle{}
	if f := b.readMediaType(data); f != nil {
		return nil, f
	}
	pb := &protobundle.Bundle{}
	if err := protojson.Unmarshal(data, pb); err != nil {
		return nil, malformed("the bundle is not of the format its media type names: %s", cleanProto(err))
	}
	for _, read := range []func(*protobundle.Bundle) *fault{b.readSignature, b.readSigner, b.readEvidence} {
		if f := read(pb); f != nil {
			return nil, f
		}
	}
	b.facts.Bundle = skill.DigestOf(data)
	return b, nil
}

func malformed(format string, args ...any) *fault {
	return newFault(stageParse, diag.SignatureMalformed, format, args...)
}

// cleanProto drops the library's prefix, whose blank differs from run to run.
func cleanProto(err error) string {
	_, text, ok := strings.Cut(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
	if !ok {
		return err.Error()
	}
	return text
}

// readMediaType looks before the decoder does: a newer version may have fields
// that this one does not know.
func (b *bundle) readMediaType(data []byte) *fault {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return malformed("a bundle is a JSON object: %s", err)
	}
	raw, ok := top["mediaType"]
	if !ok {
		raw = top["media_type"]
	}
	if err := json.Unmarshal(raw, &b.mediaType); err != nil || b.mediaType == "" {
		return malformed("the bundle names no `mediaType`")
	}
	const base = "application/vnd.dev.sigstore.bundle"
	for _, known := range []string{base + "+json;version=0.1", base + "+json;version=0.2", base + "+json;version=0.3", base + ".v0.3+json"} {
		if b.mediaType == known {
			return nil
		}
	}
	return newFault(stageParse, diag.SignatureUnsupported, "the bundle is of media type `%s`; this version reads Sigstore bundles v0.1 to v0.3", quote(b.mediaType)).
		hint("a newer skillpm may read it")
}

func (b *bundle) readSignature(pb *protobundle.Bundle) *fault {
	switch content := pb.Content.(type) {
	case *protobundle.Bundle_DsseEnvelope:
		env := content.DsseEnvelope
		if n := len(env.GetSignatures()); n != 1 {
			return malformed("the envelope has %d signatures; a bundle has exactly one", n)
		}
		b.payloadType, b.payload, b.sig = env.GetPayloadType(), env.GetPayload(), env.GetSignatures()[0].GetSig()
	case *protobundle.Bundle_MessageSignature:
		b.message, b.sig = content.MessageSignature.GetMessageDigest(), content.MessageSignature.GetSignature()
		if b.message == nil {
			return malformed("the message signature has no digest")
		}
	default:
		return malformed("the bundle holds no signature")
	}
	if len(b.sig) == 0 {
		return malformed("the signature is empty")
	}
	return nil
}

func (b *bundle) readSigner(pb *protobundle.Bundle) *fault {
	switch content := pb.GetVerificationMaterial().GetContent().(type) {
	case *protobundle.VerificationMaterial_PublicKey:
		return b.readHint(content.PublicKey.GetHint())
	case *protobundle.VerificationMaterial_Certificate:
		return b.readChain([]*protocommon.X509Certificate{content.Certificate})
	case *protobundle.VerificationMaterial_X509CertificateChain:
		f := b.readChain(content.X509CertificateChain.GetCertificates())
		if f == nil && b.facts.Kind == KindKeyless && b.latest() {
			f = malformed("a keyless bundle v0.3 holds the signing certificate alone, this one a chain")
		}
		return f
	}
	return malformed("the bundle names no signer: neither certificate nor key")
}

func (b *bundle) readHint(hint string) *fault {
	if len(hint) > maxSignerString {
		return malformed("the key's hint is longer than %d bytes", maxSignerString)
	}
	b.facts.Kind, b.facts.Hint = KindKey, hint
	return nil
}

func (b *bundle) readChain(certs []*protocommon.X509Certificate) *fault {
	if len(certs) == 0 || len(certs) > maxChain {
		return malformed("a certificate chain has 1 to %d certificates, found %d", maxChain, len(certs))
	}
	for i, c := range certs {
		cert, err := x509.ParseCertificate(c.GetRawBytes())
		if err != nil {
			return malformed("certificate %d of the chain: %s", i+1, err)
		}
		b.chain = append(b.chain, cert)
	}
	b.leaf, b.chain = b.chain[0], b.chain[1:]
	key, err := newPublicKey(b.leaf.PublicKey)
	if err != nil {
		return newFault(stageParse, diag.SignatureUnsupported, "the signing certificate's key: %s", err)
	}
	b.key = key
	if f := b.readNames(); f != nil {
		return f
	}
	if b.facts.Kind == KindX509 {
		b.facts.Key = key.fingerprint()
	}
	return nil
}

// readNames takes the signer's names from the leaf certificate.
func (b *bundle) readNames() *fault {
	b.facts.Kind, b.facts.Issuer, b.facts.Subject = KindX509, distinguished(b.leaf.Issuer), distinguished(b.leaf.Subject)
	for _, ext := range b.leaf.Extensions {
		for _, oid := range fulcioIssuers {
			if ext.Id.Equal(oid) {
				b.facts.Kind = KindKeyless
			}
		}
	}
	if b.facts.Kind == KindKeyless {
		// sigstore-go takes the first name only. With several, a rule could be met by
		// one that the reader is not shown.
		if n := len(b.leaf.URIs) + len(b.leaf.EmailAddresses) + len(b.leaf.DNSNames) + len(b.leaf.IPAddresses); n > 1 {
			return malformed("the signing certificate has %d subject alternative names; a keyless one has exactly one", n)
		}
		summary, err := certificate.SummarizeCertificate(b.leaf)
		if err != nil {
			return malformed("the signing certificate: %s", err)
		}
		b.fulcio = summary
		b.facts.Issuer, b.facts.Identity, b.facts.Subject = summary.Issuer, summary.SubjectAlternativeName, ""
	}
	for _, s := range []string{b.facts.Issuer, b.facts.Identity, b.facts.Subject} {
		if len(s) > maxSignerString {
			return malformed("a name of the signer is longer than %d bytes", maxSignerString)
		}
	}
	return nil
}

// first tells bundle v0.1, whose rules differ.
func (b *bundle) first() bool { return strings.HasSuffix(b.mediaType, "version=0.1") }

func (b *bundle) latest() bool { return strings.Contains(b.mediaType, "0.3") }

// checkEntryForm demands the proof that the bundle's version demands: v0.1 the
// log's promise, later ones the proof that the entry is in the log.
func (b *bundle) checkEntryForm(n int, entry *tlog.Entry) *fault {
	switch {
	case b.first() && !entry.HasInclusionPromise():
		return malformed("log entry %d has no inclusion promise, which bundle v0.1 demands", n)
	case !b.first() && !entry.HasInclusionProof():
		return malformed("log entry %d has no inclusion proof, which bundles from v0.2 on demand", n)
	}
	return nil
}

func (b *bundle) readEvidence(pb *protobundle.Bundle) (f *fault) {
	// The entry types of the log's own library are decoded by reflection from JSON
	// chosen by the signer: a panic there must not become one here.
	defer func() {
		if r := recover(); r != nil {
			f = malformed("a log entry cannot be decoded: %s", fmt.Sprint(r))
		}
	}()
	material := pb.GetVerificationMaterial()
	if n := len(material.GetTlogEntries()); n > maxLogEntries {
		return malformed("the bundle has %d log entries; at most %d are read", n, maxLogEntries)
	}
	for i, e := range material.GetTlogEntries() {
		entry, err := tlog.ParseTransparencyLogEntry(e)
		if err != nil {
			return malformed("log entry %d: %s", i+1, cleanProto(err))
		}
		if f := b.checkEntryForm(i+1, entry); f != nil {
			return f
		}
		b.entries = append(b.entries, entry)
	}
	stamps := material.GetTimestampVerificationData().GetRfc3161Timestamps()
	if len(stamps) > maxTimestamps {
		return malformed("the bundle has %d timestamps; at most %d are read", len(stamps), maxTimestamps)
	}
	for _, s := range stamps {
		b.timestamps = append(b.timestamps, s.GetSignedTimestamp())
	}
	return nil
}
