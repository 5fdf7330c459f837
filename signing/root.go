package signing

import (
	"crypto/x509"
	_ "embed"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// embeddedRoot is sigstore/root-signing targets/trusted_root.json as of August
// 2026 (Apache-2.0): the certificate authorities, logs and timestamp authorities
// of the public-good Sigstore.
//
//go:embed sigstore-root.json
var embeddedRoot []byte

// embeddedAsOf is when embeddedRoot was the current one.
var embeddedAsOf = time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)

// staleAfter is the age of a root after which a missing log or authority is most
// likely just newer: the public-good root has changed about once a year.
const staleAfter = 365 * 24 * time.Hour

// RootInfo describes a trusted root, for `trust status`.
type RootInfo struct {
	// Origin is "embedded" or the file's name.
	Origin string       `json:"origin"`
	Digest skill.Digest `json:"digest"`
	// AsOf is when the root is known to have been current: for the embedded one the
	// day it was taken, else the start of the newest log, CA or timestamp authority
	// in it, since the format has no date.
	AsOf time.Time `json:"asOf"`
	// Logs, CAs and Stamps count transparency logs, Fulcio authorities and
	// timestamp authorities.
	Logs   int `json:"logs"`
	CAs    int `json:"cas"`
	Stamps int `json:"timestampAuthorities"`
}

// Age says how old the root is, in words.
func (r RootInfo) Age(now time.Time) string {
	return fmt.Sprintf("as of %s, %d days ago", r.AsOf.UTC().Format(time.DateOnly), int(now.Sub(r.AsOf).Hours()/24))
}

// Stale reports whether the root is so old that the Sigstore it describes has
// probably moved on.
func (r RootInfo) Stale(now time.Time) bool { return now.Sub(r.AsOf) > staleAfter }

const originEmbedded = "embedded"

// trustedRoot is what keyless signatures are judged against.
type trustedRoot struct {
	root.TrustedMaterial
	info RootInfo
}

// rootFile is a trusted root that is parsed when the first keyless signature
// asks for it: most runs judge none, and parsing takes longer than their start.
type rootFile struct {
	digest skill.Digest
	get    func() (*trustedRoot, error)
}

func newRootFile(origin string, data []byte) *rootFile {
	return &rootFile{skill.DigestOf(data), sync.OnceValues(func() (*trustedRoot, error) { return parseRoot(origin, data) })}
}

// embedded is the root that is part of the program.
var embedded = sync.OnceValue(func() *rootFile { return newRootFile(originEmbedded, embeddedRoot) })

// parseRoot reads a trusted_root.json.
func parseRoot(origin string, data []byte) (tr *trustedRoot, err error) {
	defer func() { // the library dereferences what the file may leave out
		if r := recover(); r != nil {
			tr, err = nil, rootFault(origin, fmt.Sprint(r))
		}
	}()
	if len(data) > MaxBundleBytes {
		return nil, rootFault(origin, fmt.Sprintf("%d bytes; at most %d are read", len(data), MaxBundleBytes))
	}
	if err := scanJSON(data); err != nil {
		return nil, rootFault(origin, err.Error())
	}
	parsed, err := root.NewTrustedRootFromJSON(data)
	if err != nil {
		return nil, rootFault(origin, cleanProto(err))
	}
	if len(parsed.FulcioCertificateAuthorities()) == 0 || len(parsed.RekorLogs()) == 0 {
		return nil, rootFault(origin, "it names no certificate authority or no transparency log")
	}
	return newTrustedRoot(origin, data, parsed), nil
}

func rootFault(origin, why string) error {
	return diag.New(diag.TrustRootInvalid, "not a usable Sigstore trusted root: %s", why).At(origin, 0, 0).
		WithHint("a trusted_root.json comes from the Sigstore instance's operator, or by `skillpm trust update`")
}

func newTrustedRoot(origin string, data []byte, m root.TrustedMaterial) *trustedRoot {
	r := &trustedRoot{TrustedMaterial: m, info: RootInfo{
		Origin: origin, Digest: skill.DigestOf(data),
		Logs: len(m.RekorLogs()), CAs: len(m.FulcioCertificateAuthorities()), Stamps: len(m.TimestampingAuthorities()),
	}}
	newer := func(t time.Time) {
		if t.After(r.info.AsOf) {
			r.info.AsOf = t
		}
	}
	if origin == originEmbedded {
		newer(embeddedAsOf)
	}
	for _, log := range m.RekorLogs() {
		newer(log.ValidityPeriodStart)
	}
	for _, ca := range m.FulcioCertificateAuthorities() {
		if f, ok := ca.(*root.FulcioCertificateAuthority); ok {
			newer(f.ValidityPeriodStart)
		}
	}
	for _, tsa := range m.TimestampingAuthorities() {
		if s, ok := tsa.(*root.SigstoreTimestampingAuthority); ok {
			newer(s.ValidityPeriodStart)
		}
	}
	return r
}

// log returns the log with the given key id, nil if the root does not know it.
func (r *trustedRoot) log(keyID string) *root.TransparencyLog {
	return r.RekorLogs()[hex.EncodeToString([]byte(keyID))]
}

// chains returns the certificate chains from leaf to a Fulcio root as of t.
func (r *trustedRoot) chains(leaf *x509.Certificate, t time.Time) [][]*x509.Certificate {
	for _, ca := range r.FulcioCertificateAuthorities() {
		if chains, err := ca.Verify(leaf, t); err == nil {
			return chains
		}
	}
	return nil
}

// newerHint is what to do about a log or authority the root does not know.
func (r *trustedRoot) newerHint(what string, now time.Time) string {
	age := ""
	if r.info.Stale(now) {
		age = " and may be out of date"
	}
	return fmt.Sprintf("the trusted root (%s, %s) does not know %s%s; refresh it with `skillpm trust update` or name a newer one as `trusted_root`",
		quote(r.info.Origin), r.info.Age(now), what, age)
}
