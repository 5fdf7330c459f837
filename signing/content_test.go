package signing

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/skill"
)

// newSigner makes a bare key and the rule that accepts it.
func newSigner(t testing.TB) (*Signer, *Set) {
	t.Helper()
	private, public, err := GenerateKey(rand.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSigner("acme", private, nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, keySet(t, public, `key = { file = "acme.pub" }`)
}

// keySet is a set with one required rule whose files all hold data.
func keySet(t testing.TB, data []byte, signers string, more ...string) *Set {
	t.Helper()
	set, err := NewSet(SetOptions{ReadFile: func(string) ([]byte, error) { return data, nil }}, rule(t, signers, more...))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func mustSign(t testing.TB, s *Signer, name string, tree *skill.Tree) []byte {
	t.Helper()
	bundle, err := s.Sign(name, tree)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// Threats to a signed directory, with our own signatures.
func TestContent(t *testing.T) {
	signer, set := newSigner(t)
	md, run := newFile("SKILL.md", "---\nname: deploy\n---\n", false), newFile("scripts/run.sh", "#!/bin/sh\n", true)
	bundle := mustSign(t, signer, "deploy", newTree(t, md, run))
	renamed, flipped := run, run
	renamed.Path = "scripts/ran.sh"
	flipped.Exec = false
	for _, tt := range []struct {
		name  string
		files []skill.File
		want  string
		names string // what the message or a detail must name
	}{
		{"as signed", []skill.File{md, run}, "verified", ""},
		{"added file", []skill.File{md, run, newFile("scripts/evil.sh", "id\n", true)}, "signature_content_unsigned", "scripts/evil.sh"},
		{"added git file that the statement does not list", []skill.File{md, run, newFile(".gitattributes", "* text\n", false)}, "signature_content_unsigned", ".gitattributes"},
		{"removed file", []skill.File{md}, "signature_content_missing", "scripts/run.sh"},
		{"changed file", []skill.File{newFile("SKILL.md", "x", false), run}, "signature_content_changed", "SKILL.md"},
		{"renamed file", []skill.File{md, renamed}, "signature_content_missing", "scripts/ran.sh"},
		{"renamed in case only", []skill.File{newFile("skill.md", "---\nname: deploy\n---\n", false), run}, "signature_content_missing", "skill.md"},
		{"flipped mode", []skill.File{md, flipped}, "signature_digest_mismatch", "scripts/run.sh"},
		{"link in place of a file", []skill.File{md, newFile("scripts/run.sh", "---\nname: deploy\n---\n", false)}, "signature_content_changed", "scripts/run.sh"},
		{"nothing left", nil, "signature_content_missing", "SKILL.md"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Verify(t.Context(), input(t, set, newTree(t, tt.files...), bundle))
			wantCode(t, v, tt.want)
			if said := v.Message + strings.Join(v.Details, "\n"); !strings.Contains(said, tt.names) {
				t.Errorf("%q does not name %s", said, tt.names)
			}
		})
	}
}

func TestSignatureOfAnotherSkill(t *testing.T) {
	signer, set := newSigner(t)
	tree := deployTree(t)
	wantCode(t, Verify(t.Context(), input(t, set, tree, mustSign(t, signer, "vault", tree))), "signature_name_mismatch")
	other := newTree(t, newFile("SKILL.md", "---\nname: vault\n---\n", false))
	wantCode(t, Verify(t.Context(), input(t, set, tree, mustSign(t, signer, "vault", other))), "signature_name_mismatch")
}

func TestStrippedSignature(t *testing.T) {
	_, set := newSigner(t)
	v := Verify(t.Context(), input(t, set, deployTree(t), nil))
	wantCode(t, v, "signature_missing")
	if v.File != "trust.toml" || v.Line == 0 {
		t.Errorf("at %s:%d, want the rule's place", v.File, v.Line)
	}
	wantCode(t, Verify(t.Context(), input(t, nil, deployTree(t), nil)), "unsigned")
}

// An unsigned file may stand beside signed ones only where the rule says so, and
// a root git file only where the statement names it.
func TestTolerated(t *testing.T) {
	signer, _ := newSigner(t)
	tolerant := keySet(t, signer.Public(), `key = { file = "acme.pub" }`, `tolerate = ["notes/*"]`)
	tree := deployTree(t)
	bundle := mustSign(t, signer, "deploy", tree)
	with := func(path string) *skill.Tree { return newTree(t, append(tree.Files(), newFile(path, "x", false))...) }
	wantCode(t, Verify(t.Context(), input(t, tolerant, with("notes/a.md"), bundle)), "verified")
	wantCode(t, Verify(t.Context(), input(t, tolerant, with("notes/deep/a.md"), bundle)), "signature_content_unsigned")
	wantCode(t, Verify(t.Context(), input(t, tolerant, with("more.md"), bundle)), "signature_content_unsigned")

	s := newStatement("deploy", tree)
	s.Predicate.Serialization.IgnorePaths = []string{".gitignore", ".github", "evil", ""}
	for path, want := range map[string]bool{".gitignore": true, ".github/x/y": true, ".gitattributes": false, "evil": false, "sub/.gitignore": false, ".gitignore2": false} {
		if got := s.tolerated(path, nil); got != want {
			t.Errorf("tolerated(%s) = %t, want %t", path, got, want)
		}
	}
}

// resign signs an altered statement with the signer's own key: what a careless
// or hostile publisher could write.
func resign(t *testing.T, s *Signer, tree *skill.Tree, change func(*statement)) []byte {
	t.Helper()
	st := newStatement("deploy", tree)
	change(st)
	payload, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	return resignPayload(t, s, payload)
}

func resignPayload(t *testing.T, s *Signer, payload []byte) []byte {
	t.Helper()
	sig, err := s.signBytes(pae(payloadType, payload))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(jsonBundle{MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", Material: s.material(),
		Envelope: jsonEnvelope{payload, payloadType, []jsonSignature{{Sig: sig}}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestHostileStatements(t *testing.T) {
	signer, set := newSigner(t)
	tree := deployTree(t)
	for _, tt := range []struct {
		name   string
		change func(*statement)
		want   string
	}{
		{"another predicate", func(s *statement) { s.PredicateType = "https://slsa.dev/provenance/v1" }, "signature_statement_type"},
		{"another statement", func(s *statement) { s.Type = "https://in-toto.io/Statement/v0.1" }, "signature_statement_type"},
		{"no subject", func(s *statement) { s.Subject = nil }, "signature_statement_type"},
		{"two subjects", func(s *statement) { s.Subject = append(s.Subject, s.Subject[0]) }, "signature_statement_type"},
		{"subject of other files", func(s *statement) { s.Subject[0].Digest["sha256"] = strings.Repeat("0", 64) }, "signature_digest_mismatch"},
		{"no files", func(s *statement) { s.Predicate.Resources = nil }, "signature_malformed"},
		{"a file twice", func(s *statement) {
			s.Predicate.Resources = append(s.Predicate.Resources, s.Predicate.Resources[0])
		}, "signature_malformed"},
		{"a path that climbs", func(s *statement) { s.Predicate.Resources[0].Name = "../SKILL.md" }, "signature_malformed"},
		{"a weak hash", func(s *statement) { s.Predicate.Resources[0].Algorithm = "md5" }, "signature_unsupported"},
		{"shards", func(s *statement) { s.Predicate.Serialization.Method = "shards" }, "signature_unsupported"},
		{"a digest of odd length", func(s *statement) { s.Predicate.Resources[0].Digest = "abc" }, "signature_malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantCode(t, Verify(t.Context(), input(t, set, tree, resign(t, signer, tree, tt.change))), tt.want)
		})
	}
}

// The payload is JSON too: a key that one reader takes first and another last.
func TestStatementWithDuplicateKey(t *testing.T) {
	signer, set := newSigner(t)
	tree := deployTree(t)
	payload, err := json.Marshal(newStatement("deploy", tree))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"predicate", "Predicate", "PREDICATE"} {
		twice := strings.Replace(string(payload), `"subject"`, `"`+key+`":{},"subject"`, 1)
		wantCode(t, Verify(t.Context(), input(t, set, tree, resignPayload(t, signer, []byte(twice)))), "signature_malformed")
	}
}

func TestTamperedEnvelope(t *testing.T) {
	signer, set := newSigner(t)
	tree := deployTree(t)
	payload, err := json.Marshal(newStatement("deploy", tree))
	if err != nil {
		t.Fatal(err)
	}
	bundle := string(mustSign(t, signer, "deploy", tree))
	other := strings.Replace(string(payload), "deploy", "deplox", 1)
	bad := strings.Replace(bundle, base64.StdEncoding.EncodeToString(payload), base64.StdEncoding.EncodeToString([]byte(other)), 1)
	wantCode(t, Verify(t.Context(), input(t, set, tree, []byte(bad))), "signature_invalid")
}
