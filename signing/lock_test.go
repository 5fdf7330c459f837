package signing

import (
	"crypto/elliptic"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// lockedAs is the lock's view of a verdict.
func lockedAs(tree *skill.Tree, v Verdict) *Locked {
	return &Locked{Digest: tree.Digest(), Signature: v.Signer}
}

func TestDowngraded(t *testing.T) {
	signer, set := newSigner(t)
	tree := deployTree(t)
	in := input(t, set, tree, mustSign(t, signer, "deploy", tree))
	v := Verify(t.Context(), in)
	in.Locked, in.Bundle = lockedAs(tree, v), nil
	wantCode(t, Verify(t.Context(), in), "signature_downgraded")
	in.Policies = nil // also where no rule asks for a signature
	wantCode(t, Verify(t.Context(), in), "signature_downgraded")
	in.AllowUntrusted = true
	if v := Verify(t.Context(), in); !v.OK() || !v.Allowed || v.State != StateUntrusted {
		t.Errorf("not allowed: %+v", v)
	}
	in.AllowUntrusted, in.AcceptDowngrade = false, true
	wantCode(t, Verify(t.Context(), in), "unsigned")
	in.Policies = set
	wantCode(t, Verify(t.Context(), in), "signature_missing")
}

func TestSignerChanged(t *testing.T) {
	v := newVirtual(t)
	tree := deployTree(t)
	set := v.set(t)
	first := Verify(t.Context(), input(t, set, tree, v.sign(t, release, "deploy", tree)))
	locked := lockedAs(tree, first)

	next := release // the same workflow at the next tag
	next.identity = strings.Replace(next.identity, "v1.2.0", "v1.3.0", 1)
	other := release
	other.identity = strings.Replace(other.identity, "release.yml", "pr.yml", 1)
	issuer := release
	issuer.issuer = "https://gitlab.com"
	bare, _ := newSigner(t)
	for _, tt := range []struct {
		name   string
		bundle []byte
		want   string
	}{
		{"next tag", v.sign(t, next, "deploy", tree), "unjudged"},
		{"other workflow", v.sign(t, other, "deploy", tree), "signature_signer_changed"},
		{"other issuer", v.sign(t, issuer, "deploy", tree), "signature_signer_changed"},
		{"other kind", mustSign(t, bare, "deploy", tree), "signature_signer_changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := input(t, set, tree, tt.bundle)
			in.Locked = locked
			got := Verify(t.Context(), in)
			wantCode(t, got, tt.want)
			in.AllowUntrusted = true
			if v := Verify(t.Context(), in); v.OK() != (tt.want == "unjudged") {
				t.Error("--allow-untrusted must not accept a changed signer")
			}
			in.AcceptSignerChange = true
			wantCode(t, Verify(t.Context(), in), "unjudged")
		})
	}
	in := input(t, set, tree, v.sign(t, release, "deploy", tree))
	in.Locked = &Locked{Digest: tree.Digest()} // locked unsigned, signed now
	wantCode(t, Verify(t.Context(), in), "unjudged")
}

// What has expired since it was locked is a warning; anything new is refused.
func TestExpiredSinceLocked(t *testing.T) {
	ca := newPrivateCA(t, "Acme CA")
	signer := ca.signer(t, newECKey(t, elliptic.P256()), "Acme Signing 1")
	tree := deployTree(t)
	in := input(t, keySet(t, certPEM(ca.root), acmeSubject), tree, mustSign(t, signer, "deploy", tree))
	in.Now = caNow
	in.Locked = lockedAs(tree, Verify(t.Context(), in))
	in.Now = caEnd.AddDate(0, 1, 0)

	v := Verify(t.Context(), in)
	wantCode(t, v, "verified")
	if len(v.Notes) != 1 || v.Notes[0].Code != diag.SignatureExpiredSince || v.Notes[0].Severity != diag.SeverityWarning {
		t.Errorf("notes %+v, want signature_expired_since", v.Notes)
	}
	fresh := in
	fresh.Locked = nil
	wantCode(t, Verify(t.Context(), fresh), "signature_cert_expired")
	resigned := in // same content and signer, but another bundle
	resigned.Bundle = mustSign(t, signer, "deploy", tree)
	wantCode(t, Verify(t.Context(), resigned), "signature_cert_expired")
	other := newTree(t, newFile("SKILL.md", "new", false))
	changed := input(t, in.Policies, other, mustSign(t, signer, "deploy", other))
	changed.Now, changed.Locked = in.Now, in.Locked
	wantCode(t, Verify(t.Context(), changed), "signature_cert_expired")

	enforce := in
	enforce.Policies = keySet(t, certPEM(ca.root), acmeSubject, `expiry = "enforce"`)
	wantCode(t, Verify(t.Context(), enforce), "signature_cert_expired")
	foreign := in // an expired certificate of a CA that nobody names stays foreign
	foreign.Policies = keySet(t, certPEM(newPrivateCA(t, "Acme CA").root), acmeSubject)
	wantCode(t, Verify(t.Context(), foreign), "signature_untrusted_root")
}

func TestKeyWindow(t *testing.T) {
	signer, _ := newSigner(t)
	tree := deployTree(t)
	set := keySet(t, signer.Public(), `key = { file = "acme.pub", not_before = "2026-01-01", not_after = 2026-12-31 }`)
	in := input(t, set, tree, mustSign(t, signer, "deploy", tree))
	day := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for now, want := range map[string]string{
		"2025-12-31T23:59:59Z": "signature_key_expired", "2026-01-01T00:00:00Z": "verified",
		"2026-12-31T23:59:59Z": "verified", "2027-01-01T00:00:00Z": "signature_key_expired",
	} {
		in.Now = day(now)
		v := Verify(t.Context(), in)
		wantCode(t, v, want)
		if v.Outcome == Refused && v.File != "acme.pub" {
			t.Errorf("at %q, want the key's file", v.File)
		}
	}
	in.Now = day("2026-06-01T00:00:00Z")
	in.Locked = lockedAs(tree, Verify(t.Context(), in))
	in.Now = day("2027-06-01T00:00:00Z")
	wantCode(t, Verify(t.Context(), in), "signature_key_expired") // a lock is no witness
}

func TestKeyOfAnother(t *testing.T) {
	signer, _ := newSigner(t)
	_, otherSet := newSigner(t)
	tree := deployTree(t)
	in := input(t, otherSet, tree, mustSign(t, signer, "deploy", tree))
	wantCode(t, Verify(t.Context(), in), "signature_key_unknown")
	in.Tree = newTree(t, newFile("SKILL.md", "evil", false))
	wantCode(t, Verify(t.Context(), in), "signature_content_changed")
	in.Policies, in.Tree = nil, tree
	v := Verify(t.Context(), in)
	wantCode(t, v, "unjudged")
	if v.State != StateDevelopment || v.Code != diag.SignatureKeyUnknown {
		t.Errorf("state %s, code %s", v.State, v.Code)
	}
	in.Policies = keySet(t, signer.Public(), `key = { file = "acme.pub", log = "required" }`)
	wantCode(t, Verify(t.Context(), in), "signature_log_missing")
}

func TestDenied(t *testing.T) {
	v := newVirtual(t)
	tree := deployTree(t)
	bundle := v.sign(t, release, "deploy", tree)
	in, err := Inspect(bundle, skill.Source{})
	if err != nil {
		t.Fatal(err)
	}
	project := rule(t, releaseRule)
	for name, deny := range map[string]string{
		"identity":    `identities = ["https://github.com/acme/**"]`,
		"fingerprint": `keys = ["` + in.KeyFingerprint + `"]`,
		"digest":      `digests = ["` + string(tree.Digest()) + `"]`,
	} {
		t.Run(name, func(t *testing.T) {
			system := mustPolicy(t, "[trust]\ndeny = { "+deny+" }\n", ScopeSystem)
			in := input(t, v.set(t, project, system), tree, bundle)
			wantCode(t, Verify(t.Context(), in), "signature_revoked")
			in.AllowUntrusted = true
			if got := Verify(t.Context(), in); got.OK() {
				t.Error("--allow-untrusted must not overrule a deny list")
			}
			in.Policies = v.set(t, system) // no rule, still denied
			wantCode(t, Verify(t.Context(), in), "signature_revoked")
		})
	}
	system := mustPolicy(t, "[trust.deny]\ndigests = [\""+string(tree.Digest())+"\"]\n", ScopeSystem)
	wantCode(t, Verify(t.Context(), input(t, v.set(t, system), tree, nil)), "signature_revoked")
}
