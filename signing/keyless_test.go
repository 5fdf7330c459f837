package signing

import (
	"strings"
	"testing"
	"time"
)

// Threats to keyless signatures, judged offline by a virtual Sigstore.
func TestKeylessIdentity(t *testing.T) {
	v := newVirtual(t)
	with := func(change func(w *workflow)) workflow {
		w := release
		change(&w)
		return w
	}
	for _, tt := range []struct {
		name   string
		signer workflow
		want   string
	}{
		{"the release workflow", release, "verified"},
		{"without a signed timestamp", with(func(w *workflow) { w.noStamp = true }), "verified"},
		{"wrong branch", with(func(w *workflow) { w.identity = strings.Replace(w.identity, "tags/v1.2.0", "heads/evil", 1) }), "signature_identity_mismatch"},
		{"wrong workflow", with(func(w *workflow) { w.identity = strings.Replace(w.identity, "release.yml", "pr.yml", 1) }), "signature_identity_mismatch"},
		{"fork runs the same workflow", with(func(w *workflow) { w.repo = "https://github.com/mallory/skills" }), "signature_extension_mismatch"},
		{"fork under its own name", with(func(w *workflow) { w.identity = strings.Replace(w.identity, "acme/", "mallory/", 1) }), "signature_identity_mismatch"},
		{"look-alike host", with(func(w *workflow) {
			w.identity = strings.Replace(w.identity, "github.com", "github.com.evil.example", 1)
		}), "signature_identity_mismatch"},
		{"identity with the right one inside", with(func(w *workflow) { w.identity = "https://evil.example/?" + w.identity }), "signature_identity_mismatch"},
		{"self-hosted runner", with(func(w *workflow) { w.runner = "self-hosted" }), "signature_extension_mismatch"},
		{"runner not said", with(func(w *workflow) { w.runner = "" }), "signature_extension_mismatch"},
		{"wrong issuer", with(func(w *workflow) { w.issuer = "https://accounts.example.com" }), "signature_issuer_mismatch"},
		{"look-alike issuer", with(func(w *workflow) { w.issuer += ".evil.example" }), "signature_issuer_mismatch"},
		{"no log entry", with(func(w *workflow) { w.noLog = true }), "signature_log_missing"},
		{"no certificate log promise", with(func(w *workflow) { w.noSCT = true }), "signature_sct_unverified"},
		{"logged after the certificate ended", with(func(w *workflow) { w.noStamp, w.signedAt = true, 30*time.Minute }), "signature_cert_not_valid_at_signing"},
		{"no inclusion proof", with(func(w *workflow) { w.noProof = true }), "signature_malformed"},
		{"a chain in the bundle", with(func(w *workflow) { w.chain = true }), "signature_malformed"},
		{"a second name", with(func(w *workflow) { w.also = "mallory@evil.example" }), "signature_malformed"},
		{"another payload type", with(func(w *workflow) { w.payloadType = "text/plain" }), "signature_statement_type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := v.set(t, rule(t, releaseRule))
			tree := deployTree(t)
			wantCode(t, Verify(t.Context(), input(t, set, tree, v.sign(t, tt.signer, "deploy", tree))), tt.want)
		})
	}
}

// A stranger's Sigstore: same names, other authority, log and clock.
func TestKeylessForeignAuthority(t *testing.T) {
	ours, theirs := newVirtual(t), newVirtual(t)
	tree := deployTree(t)
	bundle := theirs.sign(t, release, "deploy", tree)
	v := Verify(t.Context(), input(t, ours.set(t, rule(t, releaseRule)), tree, bundle))
	wantCode(t, v, "signature_log_unknown")
	if !strings.Contains(v.Hint, "trust update") || !strings.Contains(v.Hint, "days ago") {
		t.Errorf("hint %q: want the root's age and how to renew it", v.Hint)
	}

	mixed := *ours
	mixed.fulcio = theirs.fulcio // our log and time, a foreign authority
	mixed.key = theirs.key
	bundle = mixed.sign(t, release, "deploy", tree)
	wantCode(t, Verify(t.Context(), input(t, ours.set(t, rule(t, releaseRule)), tree, bundle)), "signature_untrusted_root")
}

// Without a rule a foreign authority is unjudged, but its content still counts.
func TestFailedAnchorWaitsForContent(t *testing.T) {
	ours, theirs := newVirtual(t), newVirtual(t)
	tree := deployTree(t)
	bundle := theirs.sign(t, release, "deploy", tree)
	changed := newTree(t, newFile("SKILL.md", "evil", false), newFile("scripts/run.sh", "#!/bin/sh\n", true))

	v := Verify(t.Context(), input(t, ours.set(t), tree, bundle))
	wantCode(t, v, "unjudged")
	if v.Code != "signature_log_unknown" || v.State != StateSelfReported || !strings.HasSuffix(v.Summary(), ", not verified") {
		t.Errorf("got code %s, state %s, summary %q", v.Code, v.State, v.Summary())
	}
	wantCode(t, Verify(t.Context(), input(t, ours.set(t), changed, bundle)), "signature_content_changed")
	wantCode(t, Verify(t.Context(), input(t, ours.set(t, rule(t, releaseRule)), changed, bundle)), "signature_content_changed")
}

func TestKeylessSignedTimestampDemanded(t *testing.T) {
	v := newVirtual(t)
	tree := deployTree(t)
	demand := strings.Replace(releaseRule, `runner = `, `timestamp = "required", runner = `, 1)
	set := v.set(t, rule(t, demand))
	wantCode(t, Verify(t.Context(), input(t, set, tree, v.sign(t, release, "deploy", tree))), "verified")
	w := release
	w.noStamp = true
	wantCode(t, Verify(t.Context(), input(t, set, tree, v.sign(t, w, "deploy", tree))), "signature_no_trusted_time")
}

func TestKeylessRefDemanded(t *testing.T) {
	v := newVirtual(t)
	tree := deployTree(t)
	set := v.set(t, rule(t, strings.Replace(releaseRule, `runner = `, `ref = "refs/tags/*", runner = `, 1)))
	wantCode(t, Verify(t.Context(), input(t, set, tree, v.sign(t, release, "deploy", tree))), "verified")
	w := release
	w.ref = "refs/heads/main"
	wantCode(t, Verify(t.Context(), input(t, set, tree, v.sign(t, w, "deploy", tree))), "signature_extension_mismatch")
}
