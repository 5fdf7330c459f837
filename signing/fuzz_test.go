package signing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// seeds adds the shared cases' files of one pattern.
func seeds(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(fixtures(f), filepath.FromSlash(pattern)))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			f.Add(readFile(f, file))
		}
	}
}

// FuzzBundle: no bundle makes verification panic or pass under a rule whose
// signer did not sign it.
func FuzzBundle(f *testing.F) {
	seeds(f, "data/*/bundle.sigstore.json", "data/*/model.sig", "data/*/skill.oms.sig")
	_, set := newSigner(f)
	tree := deployTree(f)
	source := mustSource(f, "github.com/acme/skills//skills/deploy")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, policies := range []*Set{set, nil} {
			v := Verify(t.Context(), Input{Name: "deploy", Source: source, Tree: tree, Bundle: data, Policies: policies, Now: time.Unix(1.8e9, 0)})
			if v.Outcome == Verified || v.Outcome == Unsigned || v.Outcome == Refused && (v.Code == "" || v.Stage == "" || v.Message == "") {
				t.Errorf("%+v", v)
			}
		}
		if _, err := Inspect(data, source); err != nil && diag.CodeOf(err) == diag.Internal {
			t.Error(err)
		}
	})
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(fullPolicy))
	f.Add([]byte("[trust]\ndeny.keys = [\"a\"]\n[[trust.rules]]\nmatch='a/b'\n[[trust.rules.any_of]]\n[trust.rules.any_of.keyless]\nissuer='i'\nidentity='x'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, scope := range []Scope{ScopeSystem, ScopeProject} {
			p, err := ParsePolicy("trust.toml", data, scope)
			if err == nil && p == nil {
				t.Fatal("neither policy nor error")
			}
			for _, e := range diag.All(err) {
				if e.Code != diag.PolicyInvalid || e.File != "trust.toml" {
					t.Errorf("%+v", e)
				}
			}
			if err == nil {
				for _, r := range p.Rules {
					if r.Mode == ModeRequired && len(r.AnyOf) == 0 {
						t.Error("a required rule without signers")
					}
				}
			}
		}
	})
}

func FuzzRoot(f *testing.F) {
	seeds(f, "roots/*.json", "data/*/trusted_root.json")
	bundle := readFile(f, filepath.Join(fixtures(f), "data", "oms-v1.1.0-sigstore", "model.sig"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := parseRoot("root.json", data)
		if err != nil {
			if diag.CodeOf(err) != diag.TrustRootInvalid {
				t.Error(err)
			}
			return
		}
		Verify(t.Context(), Input{Tree: deployTree(t), Bundle: bundle, Policies: &Set{root: &rootFile{root.info.Digest, func() (*trustedRoot, error) { return root, nil }}}, Now: time.Unix(1.8e9, 0)})
	})
}

func FuzzKey(f *testing.F) {
	seeds(f, "roots/*.pub", "roots/*.pem")
	files, err := filepath.Glob(filepath.Join("..", "testdata", "signing", "*.pem"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		// One derivation round: the fuzzer is to try parsers, not to hash.
		f.Add([]byte(strings.TrimSpace(string(data))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parsePublicKey(data); err == nil {
			p.verify([]byte("x"), []byte("y"))
			if _, err := parsePublicKey(p.pem()); err != nil {
				t.Error(err)
			}
		}
		_, _ = parseCertificates(data)
		if !strings.Contains(string(data), "ENCRYPTED") {
			_, _ = NewSigner("key.pem", data, nil, "cert.pem", nil)
		}
	})
}

// FuzzEncryptedKey tries the PBES2 reader on DER. Costly derivations are refused
// by limits that are too high for a fuzzer, so the passphrase is empty there.
func FuzzEncryptedKey(f *testing.F) {
	f.Add([]byte{0x30, 0x00})
	f.Fuzz(func(t *testing.T, der []byte) {
		var key encryptedKey
		var params pbes2Params
		if unmarshal(der, &key) == nil {
			_ = unmarshal(key.Algorithm.Parameters.FullBytes, &params)
		}
		_, _ = decryptCBC(make([]byte, 16), make([]byte, 16), der)
	})
}

func FuzzGlob(f *testing.F) {
	f.Add("github.com/acme/**", "github.com/acme/skills//x")
	f.Add("a*b**c", "axbyyc")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if g, err := newGlob(pattern); err == nil && !strings.Contains(pattern, "*") && g.match(text) != (pattern == text) {
			t.Errorf("%q matches %q", pattern, text)
		}
		if _, err := newSourceGlob(pattern); err == nil {
			_, _ = skill.ParseSource(text)
		}
	})
}
