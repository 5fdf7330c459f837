package signing

import "time"

// Inspection is everything a bundle says, for people and `trust inspect`.
type Inspection struct {
	Facts     Facts
	MediaType string
	// Algorithm is the signature algorithm, such as "ECDSA P-384 with SHA-384".
	Algorithm string
	// KeyFingerprint is "sha256:HEX" over the signer's public key (PKIX DER),
	// empty for a bare key, which the bundle does not hold.
	KeyFingerprint string
	// Chain lists the certificates' subjects, leaf first, as the bundle gives
	// them; nothing in it is trusted.
	Chain []string
	// NotBefore and NotAfter are the leaf certificate's window.
	NotBefore, NotAfter time.Time
	Extensions          []Extension
	Log                 []LogEntry
	// Timestamps counts the RFC 3161 timestamps.
	Timestamps int
	// Name is the statement's subject, Files the number of signed files,
	// TreeDigest our own subject digest if there is one.
	Name       string
	Files      int
	TreeDigest string
	Ignored    []string
	// Rule is a rule that would accept this signer, as TOML.
	Rule string
}

// Extension is a Fulcio certificate extension with its name.
type Extension struct{ Name, Value string }

// LogEntry is one transparency log entry of a bundle.
type LogEntry struct {
	LogID string // hex
	Index int64
	Time  time.Time // integrated time, zero if the entry has none
	Kind  string
	// Known is the address of the log under the given root, empty if unknown.
	Known string
}

// Inspect reads a bundle without judging it. Errors carry signature_malformed,
// signature_unsupported, signature_too_large or signature_statement_type.
func Inspect(bundle []byte) (*Inspection, error) {
	panic("not yet")
}
