package signing

import (
	"context"
	"time"

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
	// overrules a deny list, an invalid policy or root.
	AllowUntrusted bool
	// AcceptSignerChange permits another signer than the locked one.
	AcceptSignerChange bool
	// AcceptDowngrade permits a skill that was signed when locked and is not now.
	AcceptDowngrade bool
}

// Verify judges one skill. It never fails: what cannot be judged is refused with
// a code. It is safe for concurrent use; ctx ends long checks with a refusal.
func Verify(ctx context.Context, in Input) Verdict {
	panic("not yet")
}

// CacheKey is a hash of everything but Now that Verify's answer depends on: the
// tree's digest, the bundle, all policies with the keys and roots they name, the
// trusted root, source, name, lock and flags. Store the verdict under it, and use
// it again only while Verdict.ValidAt holds.
func CacheKey(in Input) skill.Digest {
	panic("not yet")
}
