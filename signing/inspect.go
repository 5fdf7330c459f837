package signing

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/digitorus/timestamp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/tomledit"
	"github.com/skillpm/skillpm/skill"
)

// Inspection is everything a bundle says, for people and `trust inspect`. Its
// texts come from the bundle and must be escaped before they are printed.
type Inspection struct {
	Facts     Facts  `json:"facts"`
	MediaType string `json:"mediaType"`
	// Algorithm is the signature algorithm, such as "ECDSA P-384 with SHA-384";
	// empty for a bare key, which the bundle does not hold.
	Algorithm string `json:"algorithm,omitempty"`
	// KeyFingerprint is "sha256:HEX" over the signer's public key (PKIX DER).
	KeyFingerprint string `json:"keyFingerprint,omitempty"`
	// Chain lists the certificates' names, leaf first, as the bundle gives them;
	// nothing in it is trusted.
	Chain []string `json:"chain,omitempty"`
	// NotBefore and NotAfter are the leaf certificate's window.
	NotBefore  time.Time   `json:"notBefore,omitzero"`
	NotAfter   time.Time   `json:"notAfter,omitzero"`
	Extensions []Extension `json:"extensions,omitempty"`
	Log        []LogEntry  `json:"log,omitempty"`
	// Timestamps counts the RFC 3161 timestamps, Times what the readable ones say.
	Timestamps int         `json:"timestamps,omitempty"`
	Times      []time.Time `json:"times,omitempty"`
	// Name is the statement's subject, Files the number of signed files,
	// TreeDigest our own subject digest if there is one, Ignored what the signer
	// left out. Statement says why there are none, else it is empty.
	Name       string   `json:"name,omitempty"`
	Files      int      `json:"files"`
	TreeDigest string   `json:"treeDigest,omitempty"`
	Ignored    []string `json:"ignored,omitempty"`
	Statement  string   `json:"statement,omitempty"`
	// Rule is a rule for the given source that would accept this signer, as TOML.
	Rule string `json:"rule"`
}

// Extension is a Fulcio certificate extension with its name.
type Extension struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// LogEntry is one transparency log entry of a bundle.
type LogEntry struct {
	LogID string    `json:"logId"` // hex
	Index int64     `json:"index"`
	Time  time.Time `json:"time,omitzero"` // integrated time; Rekor v2 has none
	Kind  string    `json:"kind"`
}

// Inspect reads a bundle without judging it; src, if not zero, is what Rule
// matches. Errors carry signature_malformed, signature_unsupported or
// signature_too_large.
func Inspect(data []byte, src skill.Source) (*Inspection, error) {
	b, f := parseBundle(data)
	if f != nil {
		return nil, f.err()
	}
	in := &Inspection{Facts: b.facts, MediaType: b.mediaType, Timestamps: len(b.timestamps), Times: b.claimedTimes(), Extensions: b.extensions(), Rule: b.suggestRule(src)}
	if b.leaf != nil {
		in.Algorithm, in.KeyFingerprint = b.key.name, b.key.fingerprint()
		in.NotBefore, in.NotAfter = b.leaf.NotBefore, b.leaf.NotAfter
		in.Chain = append(in.Chain, b.leaf.Subject.String())
		for _, c := range b.chain {
			in.Chain = append(in.Chain, c.Subject.String())
		}
	}
	for _, e := range b.entries {
		kind := e.TransparencyLogEntry().GetKindVersion()
		in.Log = append(in.Log, LogEntry{LogID: hex.EncodeToString([]byte(e.LogKeyID())), Index: e.LogIndex(), Time: e.IntegratedTime(), Kind: kind.GetKind() + " " + kind.GetVersion()})
	}
	s, f := parseStatement(b)
	if f != nil {
		in.Statement = f.message
		return in, nil
	}
	in.Name, in.Files, in.TreeDigest = s.Subject[0].Name, len(s.Predicate.Resources), s.Subject[0].Digest[treeDigestName]
	in.Ignored = slices.Sorted(slices.Values(s.Predicate.Serialization.IgnorePaths))
	return in, nil
}

// claimedTimes reads the timestamps without checking who made them.
func (b *bundle) claimedTimes() (times []time.Time) {
	defer func() { _ = recover() }() // the library's ASN.1 reader is not ours to trust
	for _, raw := range b.timestamps {
		if t, err := timestamp.ParseResponse(raw); err == nil {
			times = append(times, t.Time)
		}
	}
	return times
}

// err is the fault as a finding.
func (f *fault) err() error {
	e := diag.New(f.code, "%s", f.message).At(f.file, f.line, f.col)
	e.Details, e.Hint = f.details, f.advice
	return e
}

func (b *bundle) extensions() []Extension {
	e := b.fulcio.Extensions
	var out []Extension
	for _, x := range []Extension{
		{"source_repository", firstNonEmpty(sourceRepository(e))},
		{"ref", firstNonEmpty([]string{e.SourceRepositoryRef, e.GithubWorkflowRef})},
		{"commit", firstNonEmpty([]string{e.SourceRepositoryDigest, e.GithubWorkflowSHA})},
		{"runner", e.RunnerEnvironment},
		{"trigger", firstNonEmpty([]string{e.BuildTrigger, e.GithubWorkflowTrigger})},
		{"build_signer", e.BuildSignerURI},
		{"run", e.RunInvocationURI},
	} {
		if x.Value != "" {
			out = append(out, x)
		}
	}
	return out
}

// suggestRule writes the narrowest rule that survives the signer's next release:
// a tag or branch in a workflow's identity becomes a pattern over its kind.
func (b *bundle) suggestRule(src skill.Source) string {
	match := "SOURCE"
	if !src.IsZero() {
		match = src.Repository() + "//**"
	}
	var signer string
	switch b.facts.Kind {
	case KindKeyless:
		identity := b.facts.Identity
		if base, ref, ok := strings.Cut(identity, "@refs/tags/"); ok && ref != "" {
			identity = base + "@refs/tags/**"
		}
		signer = fmt.Sprintf("keyless = { issuer = %s, identity = %s", tomledit.Quote(b.facts.Issuer), tomledit.Quote(identity))
		if repo := firstNonEmpty(sourceRepository(b.fulcio.Extensions)); repo != "" {
			signer += ", source_repository = " + tomledit.Quote(repo)
		}
		signer += " }"
	case KindX509:
		signer = fmt.Sprintf("x509 = { roots = \"CA.pem\", subject = %s }", tomledit.Quote(b.facts.Subject))
	default:
		signer = `key = { file = "KEY.pub" }`
	}
	return fmt.Sprintf("[[trust.rules]]\nmatch = %s\nmode = \"required\"\nany_of = [ { %s } ]\n", tomledit.Quote(match), signer)
}
