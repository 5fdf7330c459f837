package signing

import (
	"errors"
	"fmt"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// judge is one run of Verify.
type judge struct {
	in      Input
	set     *Set
	bundle  *bundle
	clock   clock
	verdict Verdict
	content skill.Digest // "" until asked for; see digest
}

// digest is that of the tree, hashed once: each signer of each policy asks.
func (j *judge) digest() skill.Digest {
	if j.content == "" {
		j.content = j.in.Tree.Digest()
	}
	return j.content
}

func (j *judge) run() Verdict {
	j.clock = clock{now: j.in.Now}
	off := j.matchRules()
	if j.in.Bundle == nil {
		return j.unsigned(off)
	}
	b, f := parseBundle(j.in.Bundle)
	if f != nil {
		return j.refuse(f.at(skill.SignatureFile))
	}
	j.set.identify(b)
	j.bundle, j.verdict.Signer = b, &b.facts
	anchored, missing, f := j.judgeRules()
	if f == nil {
		f = j.signerChanged(anchored || missing == nil)
	}
	if f != nil {
		return j.refuse(f)
	}
	j.accept(anchored, missing, off)
	return j.verdict
}

// matchRules fills Rules and Mode, and reports whether all that match say off.
func (j *judge) matchRules() (off bool) {
	j.verdict.Rules = j.set.Match(j.in.Source)
	off = len(j.verdict.Rules) > 0
	for _, r := range j.verdict.Rules {
		off = off && r.Mode == ModeOff
		if r.Mode == ModeRequired {
			j.verdict.Mode = ModeRequired
		}
	}
	if off {
		j.verdict.Mode = ModeOff
	}
	return off
}

// unsigned judges a skill without a signature file.
func (j *judge) unsigned(off bool) Verdict {
	if f := j.revoked(); f != nil {
		return j.refuse(f)
	}
	if l := j.in.Locked; l != nil && l.Signature != nil && !j.in.AcceptDowngrade {
		return j.refuse(newFault(stageLock, diag.SignatureDowngraded, "signed by %s when it was locked, and not signed now", quote(l.Signature.Who())).
			hint("ask the publisher why; --accept-unsigned accepts it"))
	}
	for _, r := range j.verdict.Rules {
		if r.Mode == ModeRequired {
			f := newFault(stageParse, diag.SignatureMissing, "not signed, and the rule for `%s` requires a signature", quote(r.Match)).
				hint("ask the publisher for a signed release; `--allow-untrusted %s` installs it as it is", j.in.Key)
			f.file, f.line = r.File, r.Line
			return j.refuse(f)
		}
	}
	j.verdict.Outcome = Unsigned
	if !off {
		j.note(diag.Unsigned, diag.SeverityNote, "not signed", "")
	}
	return j.verdict
}

// judgeRules evaluates the first matching rule of every file. It reports whether
// some rule's signer was met, and the anchor that is missing where none was asked.
func (j *judge) judgeRules() (anchored bool, missing, refusal *fault) {
	judged := false
	for i, at := 0, 0; i < len(j.set.policies); i++ {
		p := j.set.policies[i]
		r := p.rule(j.in.Source)
		if r == nil {
			continue
		}
		judged = true
		met, f := j.evaluate(p, r)
		if f != nil && !(f.anchor && met == 0) {
			return false, nil, f
		}
		if f != nil {
			missing = f
		}
		anchored = anchored || met > 0
		j.verdict.Rules[at].Signer = max(met, 0)
		at++
	}
	if !judged {
		if f := j.attempt(nil, nil, SignerRule{}); f != nil && !f.anchor {
			return false, nil, f
		} else if f != nil {
			missing = f
		}
	}
	return anchored, missing, nil
}

// evaluate holds the bundle against one rule: met is the 1-based signer that
// accepts it, 0 where the rule names none, -1 where none does. Of several
// refusals the one that came farthest is told.
func (j *judge) evaluate(p *Policy, r *Rule) (met int, worst *fault) {
	if len(r.AnyOf) == 0 || r.Mode == ModeOff {
		return 0, j.attempt(p, r, SignerRule{})
	}
	for i, s := range r.AnyOf {
		f := j.attempt(p, r, s)
		if f == nil {
			return i + 1, nil
		}
		if worst == nil || f.stage > worst.stage {
			worst = f
		}
	}
	if len(r.AnyOf) > 1 {
		worst.details = append(worst.details, fmt.Sprintf("none of the %d signers of the rule for %s accepts it; this is the nearest", len(r.AnyOf), quote(r.Match)))
	}
	if worst.file == "" {
		worst.file, worst.line = p.File, r.Line
	}
	return -1, worst
}

func (j *judge) attempt(p *Policy, r *Rule, s SignerRule) *fault {
	var tolerate []glob
	enforce := false
	if r != nil {
		tolerate, enforce = r.tolerate, r.EnforceExpiry
	}
	root, f := j.rootFor(p)
	if f != nil {
		return f
	}
	var notes []Note
	a := &attempt{
		b: j.bundle, rule: s, root: root, now: j.in.Now, tolerate: tolerate,
		content: &skillContent{name: j.in.Name, tree: j.in.Tree},
		revoked: j.revoked, locked: !enforce && j.isLocked(), clock: &j.clock, notes: &notes,
	}
	if f = a.run(); f == nil || f.anchor {
		for _, n := range notes {
			if !slices.Contains(j.verdict.Notes, n) {
				j.verdict.Notes = append(j.verdict.Notes, n)
			}
		}
	}
	return f
}

// rootFor returns the trusted root for judging under p, nil where the bundle
// holds nothing to be judged by one.
func (j *judge) rootFor(p *Policy) (*trustedRoot, *fault) {
	if b := j.bundle; b.facts.Kind != KindKeyless && len(b.entries)+len(b.timestamps) == 0 {
		return nil, nil
	}
	root, err := j.set.rootFor(p)
	if err == nil {
		return root, nil
	}
	f := newFault(stagePolicy, diag.CodeOf(err), "%s", err)
	if e, ok := errors.AsType[*diag.Error](err); ok {
		f.file, f.advice = e.File, e.Hint
	}
	return nil, f
}

// isLocked reports whether digest and bundle are the locked ones.
func (j *judge) isLocked() bool {
	l := j.in.Locked
	return l != nil && l.Signature != nil && l.Digest == j.digest() && l.Signature.Bundle == j.bundle.facts.Bundle
}

// revoked is the stage "revoked": the deny lists of all files.
func (j *judge) revoked() *fault {
	digest := j.digest()
	for _, p := range j.set.policies {
		if slices.Contains(p.Deny.Digests, digest) {
			return denied(p, "the content %s", digest.Short())
		}
		if j.bundle == nil {
			continue
		}
		facts := j.bundle.facts
		for _, g := range p.denied {
			if slices.ContainsFunc(j.bundle.names(), g.match) {
				return denied(p, "the signer %s", facts.Who())
			}
		}
		if slices.ContainsFunc(p.Deny.Keys, j.bundle.hasKey) {
			return denied(p, "the key of %s", facts.Who())
		}
	}
	return nil
}

func denied(p *Policy, format, what string) *fault {
	return newFault(stageRevoked, diag.SignatureRevoked, format+" is on a deny list", quote(what)).at(p.File)
}

// names are what a deny list's identities are held against.
func (b *bundle) names() []string {
	switch b.facts.Kind {
	case KindKeyless:
		return []string{b.facts.Identity}
	case KindX509:
		return []string{b.facts.Subject, b.leaf.Subject.String()}
	}
	return nil
}

// hasKey reports whether an entry of deny.keys names the key that the signature
// verifies with. The hint counts as well: whoever writes it can only have the
// bundle refused by it.
func (b *bundle) hasKey(name string) bool {
	return name == b.facts.Hint || b.key != nil && b.key.hasHint(name)
}

// signerChanged is the stage "lock"; proved says that something vouches for the
// names that the bundle gives.
func (j *judge) signerChanged(proved bool) *fault {
	l := j.in.Locked
	if l == nil || l.Signature == nil || j.in.AcceptSignerChange || j.bundle.facts.follows(*l.Signature, proved) {
		return nil
	}
	was, is := quote(l.Signature.Who()), quote(j.bundle.facts.Who())
	f := newFault(stageLock, diag.SignatureSignerChanged, "locked as signed by %s, now signed by %s", was, is)
	switch {
	case was == is && j.bundle.facts.Kind == KindKey:
		f.message = "locked as signed by one unknown key, now signed by another"
	case was == is:
		f.message = "locked as signed by " + was + "; now another certificate says so, which nothing here vouches for"
	}
	return f.hint("if the publisher announced the change: `skillpm update %s --accept-signer-change`", j.in.Key)
}

func (j *judge) accept(anchored bool, missing *fault, off bool) {
	v := &j.verdict
	v.From, v.Until = j.clock.from, j.clock.until
	if anchored {
		v.Outcome, v.State = Verified, StateVerifiedIssuer
		return
	}
	v.Outcome, v.State = Unjudged, StateSelfReported
	if j.bundle.facts.Kind == KindKey {
		v.State = StateDevelopment
	}
	if missing != nil {
		v.Code, v.Stage = missing.code, missing.stage.String()
	}
	if off {
		return
	}
	message := "signed by " + quote(j.bundle.facts.Who()) + ", not verified"
	if l := j.in.Locked; l != nil && l.Signature != nil && l.Signature.Bundle != j.bundle.facts.Bundle && j.bundle.facts.Key == "" && v.State == StateDevelopment {
		message += "; whether it is the key that signed the locked release cannot be told"
	}
	j.note(diag.SignerUnverified, diag.SeverityNote, message, "`skillpm trust inspect` shows the signer and the rule that would verify it")
}

func (j *judge) refuse(f *fault) Verdict {
	v := &j.verdict
	v.Outcome, v.State = Refused, StateUntrusted
	v.Code, v.Stage, v.Message, v.Details, v.Hint = f.code, f.stage.String(), f.message, f.details, f.advice
	if j.in.Key != "" {
		v.Message = "`" + string(j.in.Key) + "`: " + v.Message
	}
	v.File, v.Line, v.Column = f.file, f.line, f.col
	v.From, v.Until = j.clock.from, j.clock.until
	v.Allowed = j.in.AllowUntrusted && f.stage != stagePolicy && f.stage != stageRevoked && f.code != diag.SignatureSignerChanged
	return *v
}

func (j *judge) note(code diag.Code, severity diag.Severity, message, hint string) {
	j.verdict.Notes = append(j.verdict.Notes, Note{code, severity, message, hint})
}
