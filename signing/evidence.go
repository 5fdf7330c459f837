package signing

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/skillpm/skillpm/internal/diag"
)

// evidence shows a bundle to sigstore-go's log and timestamp checks. Those are
// called one by one, not through its Verifier, whose errors do not tell an
// unknown log from a forged entry or a wrong root.
type evidence struct {
	*bundle
	key *publicKey // the signing key: the leaf's, or a rule's
}

func (e evidence) HasInclusionPromise() bool           { return false } // not asked by the checks
func (e evidence) Version() (string, error)            { return e.mediaType, nil }
func (e evidence) HasInclusionProof() bool             { return false }
func (e evidence) Timestamps() ([][]byte, error)       { return e.timestamps, nil }
func (e evidence) TlogEntries() ([]*tlog.Entry, error) { return e.entries, nil }
func (e evidence) VerificationContent() (verify.VerificationContent, error) {
	return signerContent{e.leaf, e.key}, nil
}

func (e evidence) SignatureContent() (verify.SignatureContent, error) {
	if e.message != nil {
		return sgbundle.NewMessageSignature(e.message.GetDigest(), protocommon.HashAlgorithm_name[int32(e.message.GetAlgorithm())], e.sig), nil
	}
	return &sgbundle.Envelope{Envelope: &dsse.Envelope{
		PayloadType: e.payloadType, Payload: base64.StdEncoding.EncodeToString(e.payload),
		Signatures: []dsse.Signature{{Sig: base64.StdEncoding.EncodeToString(e.sig)}},
	}}, nil
}

// signerContent is the signer as the log checks see it. Whether the certificate
// was valid is our certificate stage's question, so it is always yes here.
type signerContent struct {
	leaf *x509.Certificate
	key  *publicKey
}

func (s signerContent) CompareKey(logged any, _ root.TrustedMaterial) bool {
	if s.leaf != nil {
		cert, ok := logged.(*x509.Certificate)
		return ok && s.leaf.Equal(cert)
	}
	return s.key.equal(logged)
}

func (s signerContent) ValidAtTime(time.Time, root.TrustedMaterial) bool { return true }
func (s signerContent) Certificate() *x509.Certificate                   { return s.leaf }
func (s signerContent) Intermediates() []*x509.Certificate               { return nil }

func (s signerContent) PublicKey() verify.PublicKeyProvider {
	if s.leaf != nil {
		return nil
	}
	return keyProvider{}
}

type keyProvider struct{}

func (keyProvider) Hint() string { return "" }

// keyedRoot adds the rule's key to a root, for the checks that ask it.
type keyedRoot struct {
	root.TrustedMaterial
	key *publicKey
}

func (k keyedRoot) PublicKeyVerifier(string) (root.TimeConstrainedVerifier, error) {
	v, err := signature.LoadVerifier(k.key.key, k.key.hash)
	if err != nil {
		return nil, err
	}
	return root.NewExpiringKey(v, time.Time{}, time.Time{}), nil
}

// checkLog is the stages "log known" and "log": at least one entry is of a log
// that the root knows, and that entry is about this very signature. It returns
// the integrated times the log promised.
func (b *bundle) checkLog(r *trustedRoot, key *publicKey, now time.Time) ([]time.Time, *fault) {
	if len(b.entries) == 0 {
		return nil, newFault(stageLogKnown, diag.SignatureLogMissing, "the bundle has no transparency log entry, and the rule demands one")
	}
	known := false
	for _, e := range b.entries {
		known = known || r.log(e.LogKeyID()) != nil
	}
	if !known {
		f := newFault(stageLogKnown, diag.SignatureLogUnknown, "the signature is logged at %x…, a log that is not trusted here", b.entries[0].LogKeyID()[:min(4, len(b.entries[0].LogKeyID()))])
		return nil, f.hint("%s", r.newerHint("that log", now)).asAnchor()
	}
	stamps, err := b.verifyLog(r, key)
	if err != nil {
		return nil, newFault(stageLog, diag.SignatureLogUnverified, "the transparency log entry does not hold: %s", quote(err.Error()))
	}
	times := make([]time.Time, len(stamps))
	for i, s := range stamps {
		times[i] = s.Time
	}
	return times, nil
}

// verifyLog calls sigstore-go; the entry decoders behind it work by reflection on
// JSON that the signer chose, so a panic counts as a failure.
func (b *bundle) verifyLog(r *trustedRoot, key *publicKey) (stamps []root.Timestamp, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("entry cannot be read: %v", p)
		}
	}()
	return verify.VerifyTlogEntry(evidence{bundle: b, key: key}, keyedRoot{r, key}, 1, true)
}

// signedTimes returns the times of the RFC 3161 timestamps over the signature
// that an authority of the root made.
func (b *bundle) signedTimes(r *trustedRoot, key *publicKey) (times []time.Time) {
	defer func() {
		if p := recover(); p != nil {
			times = nil
		}
	}()
	if len(b.timestamps) == 0 {
		return nil
	}
	stamps, _, err := verify.VerifySignedTimestamp(evidence{bundle: b, key: key}, r)
	if err != nil {
		return nil
	}
	for _, s := range stamps {
		times = append(times, s.Time)
	}
	return times
}

// byUnknownAuthority reports whether a timestamp is of this very signature and by
// an authority that the root does not know: a newer root could confirm it. Any
// other that failed stays wrong under every root.
func (b *bundle) byUnknownAuthority(r *trustedRoot, raw []byte) (unknown bool) {
	defer func() {
		if p := recover(); p != nil {
			unknown = false
		}
	}()
	stamp, err := timestamp.ParseResponse(raw)
	if err != nil || !stamp.HashAlgorithm.Available() {
		return false
	}
	sum := stamp.HashAlgorithm.New()
	sum.Write(b.sig)
	if !bytes.Equal(sum.Sum(nil), stamp.HashedMessage) {
		return false
	}
	for _, authority := range r.TimestampingAuthorities() {
		known, ok := authority.(*root.SigstoreTimestampingAuthority)
		if ok && known.Leaf != nil && slices.ContainsFunc(stamp.Certificates, known.Leaf.Equal) {
			return false
		}
	}
	return true
}

// checkTime is the stage "trusted time": somebody the root knows says when the
// signature existed.
func (b *bundle) checkTime(r *trustedRoot, key *publicKey, logged []time.Time, signedOnly bool, now time.Time) ([]time.Time, *fault) {
	times := b.signedTimes(r, key)
	if len(times) > 0 || !signedOnly && len(logged) > 0 {
		return append(times, logged...), nil
	}
	switch {
	case len(b.timestamps) > 0 && !slices.ContainsFunc(b.timestamps, func(raw []byte) bool { return b.byUnknownAuthority(r, raw) }):
		return nil, newFault(stageTime, diag.SignatureNoTrustedTime, "none of the %d timestamps holds: each is of something else than this signature, or not within its authority's time", len(b.timestamps)).
			hint("the signature or its timestamp was replaced; ask the publisher for an intact copy")
	case len(b.timestamps) > 0:
		return nil, newFault(stageTime, diag.SignatureNoTrustedTime, "none of the %d timestamps is by an authority that is trusted here", len(b.timestamps)).
			hint("%s", r.newerHint("its timestamp authority", now)).asAnchor()
	case signedOnly && len(logged) > 0:
		return nil, newFault(stageTime, diag.SignatureNoTrustedTime, "the rule demands a signed timestamp, and the bundle has only the log's time")
	}
	return nil, newFault(stageTime, diag.SignatureNoTrustedTime, "nothing says when the signature was made: the bundle has no timestamp, and its log entry promises no time")
}
