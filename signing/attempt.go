package signing

import (
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// content is what a signature is held against: a skill's tree, or in tests a
// single file.
type content interface {
	// signature is the stage "signature": the bundle's signature under key.
	signature(b *bundle, key *publicKey) bool
	// statement is the stage "statement".
	statement(b *bundle) *fault
	// compare is the stage "content"; statement has passed.
	compare(tolerate []glob) *fault
}

// attempt runs the stages of one bundle against one signer rule.
type attempt struct {
	b        *bundle
	content  content
	rule     SignerRule // zero: nothing is configured, see unanchored
	root     *trustedRoot
	now      time.Time
	tolerate []glob
	revoked  func() *fault
	// locked says that digest and bundle are the locked ones and the rule does not
	// enforce expiry: what has expired since is a note.
	locked bool

	times  []time.Time // trusted times of the signature
	clock  *clock      // collects the instants at which the answer changes
	notes  *[]Note
	anchor *fault // the first anchor that failed
}

// run returns nil if the rule accepts the signature, else why not. A failed
// anchor is returned only where signature, statement and content hold.
func (a *attempt) run() *fault {
	key, f := a.signer()
	if f == nil {
		f = a.rest(key)
	}
	if f == nil {
		return a.anchor
	}
	if a.anchor != nil {
		f.details = append(f.details, "besides: "+a.anchor.message)
	}
	return f
}

// remember keeps a failed anchor for later and passes every other fault on.
func (a *attempt) remember(f *fault) *fault {
	if f == nil || !f.anchor {
		return f
	}
	if a.anchor == nil {
		a.anchor = f
	}
	return nil
}

// signer runs the stages from "method" to "certificate log" and returns the key
// to check the signature with, nil if it is not at hand.
func (a *attempt) signer() (*publicKey, *fault) {
	if allowed := a.rule.kind(); allowed != "" && allowed != a.b.facts.Kind {
		return nil, newFault(stageMethod, diag.SignatureMethodNotAllowed, "the bundle is signed by %s, the rule accepts %s", a.b.facts.Kind.words(), allowed.words())
	}
	switch a.b.facts.Kind {
	case KindKeyless:
		return a.b.key, a.keyless()
	case KindX509:
		return a.b.key, a.x509()
	}
	return a.bareKey()
}

// rest runs the stages from "signature" to "content".
func (a *attempt) rest(key *publicKey) *fault {
	if key != nil && !a.content.signature(a.b, key) {
		if f := a.remember(a.signatureFault(key)); f != nil {
			return f
		}
	}
	if f := a.content.statement(a.b); f != nil {
		return f
	}
	// The names of a signer whom nobody vouches for are not worth a comparison: the
	// missing anchor is what the user must hear of.
	if a.anchor == nil {
		if f := a.identity(); f != nil {
			return f
		}
	}
	if f := a.revoked(); f != nil {
		return f
	}
	return a.content.compare(a.tolerate)
}

// signatureFault tells a broken signature from one by another key: a bare key's
// bundle does not hold the key, only a hint, which is believed where it speaks
// against the bundle.
func (a *attempt) signatureFault(key *publicKey) *fault {
	if a.b.facts.Kind == KindKey {
		if known := a.b.facts.Key; known != "" || !key.hasHint(a.b.facts.Hint) {
			return newFault(stageSignature, diag.SignatureKeyUnknown, "signed by %s; the rule's key is %s", a.b.facts.Who(), skill.Digest(key.fingerprint()).Short()).
				at(a.rule.Key.File).asAnchor()
		}
		return newFault(stageSignature, diag.SignatureInvalid, "the signature is wrong: what is here is not what the rule's key signed").
			hint("the skill or its signature was altered; ask the publisher for an intact copy")
	}
	return newFault(stageSignature, diag.SignatureInvalid, "the signature is wrong: what is here is not what %s signed", quote(a.b.facts.Who())).
		hint("the skill or its signature was altered; ask the publisher for an intact copy")
}

func (s SignerRule) kind() Kind {
	switch {
	case s.Keyless != nil:
		return KindKeyless
	case s.Key != nil:
		return KindKey
	case s.X509 != nil:
		return KindX509
	}
	return ""
}

func (k Kind) words() string {
	switch k {
	case KindKeyless:
		return "an identity (keyless)"
	case KindX509:
		return "a certificate of a private CA (x509)"
	}
	return "a bare key (key)"
}

// keyless: log, time, certificate and its own log, all against the trusted root.
func (a *attempt) keyless() *fault {
	logged, f := a.b.checkLog(a.root, a.b.key, a.now)
	if f = a.remember(f); f != nil {
		return f
	}
	signedOnly := a.rule.Keyless != nil && a.rule.Keyless.SignedTimestamp
	if a.anchor == nil || len(a.b.timestamps) > 0 {
		a.times, f = a.b.checkTime(a.root, a.b.key, logged, signedOnly, a.now)
		if f = a.remember(f); f != nil {
			return f
		}
	}
	return a.fulcio()
}

// bareKey: the rule's key, its window and, if demanded, the log.
func (a *attempt) bareKey() (*publicKey, *fault) {
	rule := a.rule.Key
	if rule == nil {
		return nil, a.remember(newFault(stageSignature, diag.SignatureKeyUnknown, "signed by a key that no rule names").asAnchor())
	}
	if rule.LogRequired {
		if f := a.logged(rule.key); f != nil {
			return rule.key, f
		}
	}
	return rule.key, a.keyWindow(rule)
}

// logged is what log = "required" demands of key and x509 signatures.
func (a *attempt) logged(key *publicKey) *fault {
	logged, f := a.b.checkLog(a.root, key, a.now)
	if f = a.remember(f); f != nil || a.anchor != nil {
		return f
	}
	a.times, f = a.b.checkTime(a.root, key, logged, false, a.now)
	return a.remember(f)
}

// keyWindow checks when the key counts: the signature's trusted times where the
// log gives some, else the clock. What was locked while the key counted is no
// exception: the lock says so itself, and whoever edits it could.
func (a *attempt) keyWindow(rule *KeyRule) *fault {
	times := a.times
	if len(times) == 0 {
		times = []time.Time{a.now}
		a.clock.change(rule.NotBefore)
		a.clock.changeAfter(rule.NotAfter)
	}
	for _, t := range times {
		if t.Before(rule.NotBefore) {
			return newFault(stageCertificate, diag.SignatureKeyExpired, "the key counts from %s, and this is %s", stamp(rule.NotBefore), stamp(t)).at(rule.File)
		}
		if !rule.NotAfter.IsZero() && t.After(rule.NotAfter) {
			return newFault(stageCertificate, diag.SignatureKeyExpired, "the key counted until %s, and this is %s", stamp(rule.NotAfter), stamp(t)).at(rule.File).
				hint("the publisher must sign anew")
		}
	}
	return nil
}

// expired turns an expiry into a note for what is locked unchanged.
func (a *attempt) expired(f *fault) *fault {
	if !a.locked || len(a.times) > 0 {
		return f.hint("the publisher must sign anew")
	}
	*a.notes = append(*a.notes, Note{Code: diag.SignatureExpiredSince, Severity: diag.SeverityWarning,
		Message: f.message + "; content and signature are the locked ones", Hint: `a rule with expiry = "enforce" refuses this`})
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// clock collects the interval around now in which the answer stays the same.
type clock struct {
	now         time.Time
	from, until time.Time
}

// change notes that the answer may differ from t on.
func (c *clock) change(t time.Time) {
	switch {
	case t.IsZero():
	case t.After(c.now):
		if c.until.IsZero() || t.Before(c.until) {
			c.until = t
		}
	case t.After(c.from):
		c.from = t
	}
}

// changeAfter notes that the answer may differ after t itself.
func (c *clock) changeAfter(t time.Time) {
	if !t.IsZero() {
		c.change(t.Add(1))
	}
}
