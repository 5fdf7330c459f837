package signing

import (
	"bytes"
	"crypto/elliptic"
	"fmt"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

func TestHostileBundles(t *testing.T) {
	signer, set := newSigner(t)
	tree := deployTree(t)
	good := string(mustSign(t, signer, "deploy", tree))
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	for _, tt := range []struct{ name, bundle, want string }{
		{"as written", good, "verified"},
		{"more than a megabyte", good + strings.Repeat(" ", MaxBundleBytes), "signature_too_large"},
		{"empty", "", "signature_malformed"},
		{"no JSON", "-----BEGIN PGP SIGNATURE-----", "signature_malformed"},
		{"an array", "[]", "signature_malformed"},
		{"null", "null", "signature_malformed"},
		{"cut off", good[:len(good)/2], "signature_malformed"},
		{"data after it", good + "{}", "signature_malformed"},
		{"a key twice", replace(`"dsseEnvelope"`, `"dsseEnvelope":{},"dsseEnvelope"`), "signature_malformed"},
		{"a key in both spellings", replace(`"dsseEnvelope"`, `"dsse_envelope":{},"dsseEnvelope"`), "signature_malformed"},
		{"deep nesting", replace(`"dsseEnvelope"`, `"x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`,"dsseEnvelope"`), "signature_malformed"},
		{"an unknown key", replace(`"dsseEnvelope"`, `"x":1,"dsseEnvelope"`), "signature_malformed"},
		{"not UTF-8", replace(`"hint":"`, "\"hint\":\"\xff"), "signature_malformed"},
		{"a newer version", replace("v0.3", "v0.4"), "signature_unsupported"},
		{"another type", replace("dev.sigstore", "dev.other"), "signature_unsupported"},
		{"no type", replace(`"mediaType"`, `"mediatype"`), "signature_malformed"},
		{"two signatures", replace(`"signatures":[`, `"signatures":[{"sig":"AAAA","keyid":""},`), "signature_malformed"},
		{"no signature", good[:strings.Index(good, `"signatures":[`)] + `"signatures":[]}}`, "signature_malformed"},
		{"an empty signature", good[:strings.Index(good, `"sig":"`)] + `"sig":""}]}}`, "signature_malformed"},
		{"no signer", replace(`"publicKey":{"hint":"`+signer.public.hint()+`"},`, ""), "signature_malformed"},
		{"an empty chain", replace(`"publicKey":{"hint":"`+signer.public.hint()+`"}`, `"x509CertificateChain":{"certificates":[]}`), "signature_malformed"},
		{"a chain of rubbish", replace(`"publicKey":{"hint":"`+signer.public.hint()+`"}`, `"x509CertificateChain":{"certificates":[{"rawBytes":"AAAA"}]}`), "signature_malformed"},
		{"a null log entry", replace(`"tlogEntries":[]`, `"tlogEntries":[{}]`), "signature_malformed"},
		{"a log entry of rubbish", replace(`"tlogEntries":[]`, `"tlogEntries":[{"logId":{"keyId":"AA=="},"kindVersion":{"kind":"dsse","version":"0.0.1"},"canonicalizedBody":"e30="}]`), "signature_malformed"},
		{"a huge hint", replace(signer.public.hint(), strings.Repeat("a", maxSignerString+1)), "signature_malformed"},
		{"another hint", replace(signer.public.hint(), "1234"), "verified"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := input(t, set, tree, []byte(tt.bundle))
			v := Verify(t.Context(), in)
			wantCode(t, v, tt.want)
			if v.Outcome == Refused && v.File != skill.SignatureFile {
				t.Errorf("at %q, want the signature's file", v.File)
			}
		})
	}
}

// Names from a bundle reach the terminal only escaped.
func TestEscapeCodesInIdentities(t *testing.T) {
	v := newVirtual(t)
	tree := deployTree(t)
	w := release
	w.identity = "evil\x1b[2J@acme.example"
	bundle := v.sign(t, w, "deploy", tree)
	evil := newPrivateCA(t, "CA\u202e\x1b]0;x\a").signer(t, newECKey(t, elliptic.P256()), "Acme\x1b[2J\u202e")
	ca := newPrivateCA(t, "Acme CA")
	caSet := keySet(t, certPEM(ca.root), acmeSubject)
	for _, in := range []Input{
		input(t, v.set(t), tree, bundle), input(t, v.set(t, rule(t, releaseRule)), tree, bundle),
		input(t, nil, tree, signWithout(t, evil, tree)), input(t, caSet, tree, signWithout(t, evil, tree)),
	} {
		in.Now = caNow
		got := Verify(t.Context(), in)
		shown := got.Summary() + got.Message + strings.Join(got.Details, "") + fmt.Sprint(got.Notes)
		if strings.ContainsAny(shown, "\x1b\u202e\a") {
			t.Errorf("printed raw: %q", shown)
		}
	}
	in, err := Inspect(bundle, skill.Source{})
	if err == nil && strings.Contains(in.Rule, "\x1b") {
		t.Errorf("the rule to paste holds an escape code: %q", in.Rule)
	}
}

func TestInspect(t *testing.T) {
	v := newVirtual(t)
	tree := deployTree(t)
	src := mustSource(t, "github.com/acme/skills//skills/deploy")
	in, err := Inspect(v.sign(t, release, "deploy", tree), src)
	if err != nil {
		t.Fatal(err)
	}
	if in.Facts.Kind != KindKeyless || in.Facts.Identity != release.identity || in.Name != "deploy" || in.Files != 2 ||
		in.TreeDigest != tree.Digest().Hex() || len(in.Log) != 1 || len(in.Times) != 1 || in.Algorithm != "ECDSA P-256 with SHA-256" {
		t.Errorf("got %+v", in)
	}
	// What it suggests must be a rule that accepts the bundle.
	policy := mustPolicy(t, in.Rule, ScopeUser)
	wantCode(t, Verify(t.Context(), input(t, v.set(t, policy), tree, v.sign(t, release, "deploy", tree))), "verified")

	_, err = Inspect([]byte("{"), src)
	if diag.CodeOf(err) != diag.SignatureMalformed {
		t.Errorf("got %v, want signature_malformed", err)
	}
	if _, err := Inspect(bytes.Repeat([]byte("x"), MaxBundleBytes+1), src); diag.CodeOf(err) != diag.SignatureTooLarge {
		t.Errorf("got %v, want signature_too_large", err)
	}
}
