package signing

import (
	"time"

	"github.com/skillpm/skillpm/internal/diag"
)

// Outcome is the result of a verification.
type Outcome string

// The outcomes.
const (
	// Verified: a signer that a rule names signed exactly this content.
	Verified Outcome = "verified"
	// Unjudged: signed and matching the content, but nothing configured anchors
	// the signer. To be shown as "signed by X, not verified".
	Unjudged Outcome = "unjudged"
	// Unsigned: no bundle, and no rule demands one.
	Unsigned Outcome = "unsigned"
	// Refused: must not be installed, unless Allowed says otherwise.
	Refused Outcome = "refused"
)

// State is the signature state in the words of skillerr's RFC 0004. It speaks of
// signatures, never of quality.
type State string

// The states, weakest first.
const (
	StateUntrusted      State = "untrusted"       // unsigned or refused
	StateDevelopment    State = "development"     // a bare key nobody vouches for
	StateSelfReported   State = "self_reported"   // a valid signature, signer not pinned by a rule
	StateVerifiedIssuer State = "verified_issuer" // a valid signature by a signer a rule names
)

// Note is a finding that refuses nothing.
type Note struct {
	Code     diag.Code     `json:"code"`
	Severity diag.Severity `json:"severity"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint,omitempty"`
}

// RuleRef names a rule of a policy file.
type RuleRef struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Match string `json:"match"`
	Mode  Mode   `json:"mode"`
	// Signer is the 1-based place in any_of of the entry that accepted the
	// signature, 0 if none did.
	Signer int `json:"signer,omitempty"`
}

// Verdict is the judgement of one skill under one machine's rules. It can be
// stored as JSON and used again under the same CacheKey while ValidAt holds.
type Verdict struct {
	Outcome Outcome `json:"outcome"`
	State   State   `json:"state"`
	// Mode is the strictest mode of the matching rules; optional without any.
	Mode Mode `json:"mode"`
	// Code, Stage, Message, Details and Hint say why it was refused; Code is
	// also set for Unjudged (the anchor that is missing).
	Code    diag.Code `json:"code,omitempty"`
	Stage   string    `json:"stage,omitempty"`
	Message string    `json:"message,omitempty"`
	Details []string  `json:"details,omitempty"`
	Hint    string    `json:"hint,omitempty"`
	// File is where the fault lies: a policy, root or key file, the bundle, or a
	// file of the skill. Line and Column count from 1 where known.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Signer is what the bundle says, nil when unsigned or unreadable.
	Signer *Facts `json:"signer,omitempty"`
	// Rules are the rules that matched, one a policy file at most.
	Rules []RuleRef `json:"rules,omitempty"`
	// Notes are findings that refuse nothing.
	Notes []Note `json:"notes,omitempty"`
	// Allowed is set where a refusal was overruled by Input.AllowUntrusted; the
	// caller records and shows it.
	Allowed bool `json:"allowed,omitempty"`
	// From and Until bound the clock readings for which the same input gives the
	// same verdict; zero means unbounded.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// OK reports whether the skill may be installed as far as trust goes.
func (v *Verdict) OK() bool { return v.Outcome != Refused || v.Allowed }

// ValidAt reports whether a stored verdict still stands at now.
func (v *Verdict) ValidAt(now time.Time) bool {
	return !now.Before(v.From) && (v.Until.IsZero() || now.Before(v.Until))
}

// Err returns the refusal as a finding, nil if OK.
func (v *Verdict) Err() error {
	if v.OK() {
		return nil
	}
	e := diag.New(v.Code, "%s", v.Message).At(v.File, v.Line, v.Column)
	e.Details = v.Details
	e.Hint = v.Hint
	return e
}

// Summary is the judgement as install, list and verify print it behind a skill's
// name. It is escaped for a terminal.
func (v *Verdict) Summary() string {
	who := ""
	if v.Signer != nil {
		who = diag.Escape(v.Signer.Who())
	}
	switch v.Outcome {
	case Verified:
		return "signed by " + who + ", verified"
	case Unjudged:
		return "signed by " + who + ", not verified"
	case Unsigned:
		return "not signed"
	}
	if v.Allowed {
		return "allowed untrusted: " + string(v.Code)
	}
	return "refused: " + string(v.Code)
}
