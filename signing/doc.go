// Package signing answers one question offline: who signed this skill, and do
// the rules of this machine accept that?
//
// A signature is an OpenSSF Model Signing v1.0 statement in a Sigstore bundle
// v0.3 (skill.SignatureFile at the skill's root). Inspect says what a bundle
// claims. ParsePolicy reads the trust rules of /etc/skillpm/trust.toml, of the
// user's trust.toml and of [trust] in skills.toml; NewSet joins them. Verify
// judges one skill: verified, unjudged (signed well, but nothing configured
// anchors the signer), unsigned or refused, with the code word of the first
// stage that failed. Signer writes signatures with a key or a private CA.
//
//	policy, err := signing.ParsePolicy("skills.toml", data, signing.ScopeProject)
//	set, err := signing.NewSet(signing.SetOptions{}, policy)
//	v := signing.Verify(ctx, signing.Input{Key: "deploy", Name: "deploy",
//		Source: src, Tree: tree, Bundle: bundle, Policies: set, Now: time.Now()})
//	if err := v.Err(); err != nil { … }
//
// Everything read is attacker-controlled and bounded; nothing is fetched, no
// clock is read and no state is kept, so every function may be called from many
// goroutines. What a good signature does not say (that the skill is harmless) is
// written in docs/security-model.md.
package signing
