package signing

import (
	"context"
	"fmt"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Locked is what the lock says of a skill.
type Locked struct {
	// Digest is the locked tree digest.
	Digest skill.Digest
	// Signature is the locked signature, nil for an entry that was unsigned.
	Signature *Facts
}

// Input is one skill to judge. Tree is the staged tree, before it is moved in.
type Input struct {
	Key    skill.Key    // for messages
	Name   string       // the declared name; empty skips the name check
	Source skill.Source // decides which rules match
	Tree   *skill.Tree
	Bundle []byte // nil: there is no signature file
	// Policies are the machine's rules; nil means none: optional, nothing anchored.
	Policies *Set
	// Now is the clock reading for certificates and keys without a trusted time.
	Now time.Time
	// Locked is the entry that was locked before, nil for a new skill.
	Locked *Locked
	// AllowUntrusted overrules a refusal (recorded in Verdict.Allowed). It never
	// overrules a deny list, a changed signer, or what cannot be judged at all.
	AllowUntrusted bool
	// AcceptSignerChange permits another signer than the locked one.
	AcceptSignerChange bool
	// AcceptDowngrade permits a skill that was signed when locked and is not now.
	AcceptDowngrade bool
}

// Verify judges one skill. It never fails: what cannot be judged is refused with
// a code. It is safe for concurrent use. One check takes milliseconds, so ctx is
// looked at once: a cancelled one refuses with code interrupted.
func Verify(ctx context.Context, in Input) Verdict {
	j := &judge{in: in, set: in.Policies, verdict: Verdict{Mode: ModeOptional, State: StateUntrusted}}
	if err := ctx.Err(); err != nil {
		return j.refuse(newFault(stagePolicy, diag.Interrupted, "verification was cancelled"))
	}
	if j.set == nil {
		j.set = noRules()
	}
	return j.run()
}

// CacheKey is a hash of everything but Now that Verify's answer depends on: the
// tree's digest, the bundle, all policies with the keys and roots they name, the
// trusted root, source, name, lock and flags. Store the verdict under it, and use
// it again only while Verdict.ValidAt holds.
func CacheKey(in Input) skill.Digest {
	set := in.Policies
	if set == nil {
		set = noRules()
	}
	b := fmt.Appendf(nil, "skillpm-verdict-v1\n%q %q %q\n%s\n%s\n%s\n%t %t %t\n", in.Key, in.Name, in.Source.Identity(),
		in.Tree.Digest(), set.Fingerprint(), bundleDigest(in.Bundle), in.AllowUntrusted, in.AcceptSignerChange, in.AcceptDowngrade)
	if l := in.Locked; l != nil {
		b = fmt.Appendf(b, "%q", l.Digest)
		if l.Signature != nil {
			b = fmt.Appendf(b, " %q", *l.Signature)
		}
	}
	return skill.DigestOf(b)
}

func bundleDigest(bundle []byte) string {
	if bundle == nil {
		return "unsigned"
	}
	return string(skill.DigestOf(bundle))
}
