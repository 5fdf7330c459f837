package signing

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
)

// Every file is evaluated alone and all must pass.
func TestFilesAreJoined(t *testing.T) {
	v := newVirtual(t)
	tree := deployTree(t)
	bundle := v.sign(t, release, "deploy", tree)
	const match = "[[trust.rules]]\nmatch = \"github.com/acme/skills//**\"\n"
	const stranger = `any_of = [ { keyless = { issuer = "https://other.example", identity = "x@y.z" } } ]` + "\n"
	good := "any_of = [ { " + releaseRule + " } ]\n"
	for _, tt := range []struct {
		name                  string
		system, user, project string
		signed, unsigned      string
	}{
		{"no rules", "", "", "", "unjudged", "unsigned"},
		{"required by the system", match + "mode = \"required\"\n" + good, "", "", "verified", "signature_missing"},
		{"project loosens a system rule", match + "mode = \"required\"\n" + stranger, "", match + "mode = \"optional\"\n" + good, "signature_issuer_mismatch", "signature_missing"},
		{"user switches off what the system requires", match + "mode = \"required\"\n" + good, match + "mode = \"off\"\n", "", "verified", "signature_missing"},
		{"any_of and any_of", match + good, "", match + stranger, "signature_issuer_mismatch", "unsigned"},
		{"optional with a signer refuses others", "", match + stranger, "", "signature_issuer_mismatch", "unsigned"},
		{"off everywhere", match + "mode = \"off\"\n" + stranger, "", "", "unjudged", "unsigned"},
		{"rule for another source", strings.Replace(match, "acme", "other", 1) + "mode = \"required\"\n" + stranger, "", "", "unjudged", "unsigned"},
		{"first rule of a file decides", "", match + good + match + "mode = \"required\"\n" + stranger, "", "verified", "unsigned"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := v.set(t, mustPolicy(t, tt.project, ScopeProject), mustPolicy(t, tt.user, ScopeUser), mustPolicy(t, tt.system, ScopeSystem))
			wantCode(t, Verify(t.Context(), input(t, set, tree, bundle)), tt.signed)
			wantCode(t, Verify(t.Context(), input(t, set, tree, nil)), tt.unsigned)
		})
	}
}

// The project's own skills are exempt from rules.
func TestPathSkillsAreExempt(t *testing.T) {
	set, err := NewSet(SetOptions{}, mustPolicy(t, "[[trust.rules]]\nmatch = \"**\"\nmode = \"required\"\nany_of = [ { "+releaseRule+" } ]\n", ScopeSystem))
	if err != nil {
		t.Fatal(err)
	}
	in := input(t, set, deployTree(t), nil)
	wantCode(t, Verify(t.Context(), in), "signature_missing")
	in.Source = mustSource(t, "path:./house")
	wantCode(t, Verify(t.Context(), in), "unsigned")
}

// Of several signers, one is enough; if none fits, the nearest refusal is told.
func TestAnyOf(t *testing.T) {
	signer, _ := newSigner(t)
	tree := deployTree(t)
	set := keySet(t, signer.Public(), releaseRule+` }, { key = { file = "acme.pub" }`)
	v := Verify(t.Context(), input(t, set, tree, mustSign(t, signer, "deploy", tree)))
	wantCode(t, v, "verified")
	if v.Rules[0].Signer != 2 || v.Rules[0].Line != 1 {
		t.Errorf("rule %+v, want the second signer", v.Rules[0])
	}
	stranger, _ := newSigner(t)
	v = Verify(t.Context(), input(t, set, tree, mustSign(t, stranger, "deploy", tree)))
	wantCode(t, v, "signature_key_unknown")
	if !strings.Contains(strings.Join(v.Details, ""), "2 signers") {
		t.Errorf("details %q", v.Details)
	}
}

func TestSources(t *testing.T) {
	system := mustPolicy(t, "[trust]\nsources = [\"github.com/acme/**\", \"github.com/partner/skills\"]\nmin_age = \"1d\"\n", ScopeSystem)
	project := mustPolicy(t, "[trust]\nsources = [\"**\", \"http://git.local/**\"]\nmin_age = \"2h\"\n", ScopeProject)
	set, err := NewSet(SetOptions{}, nil, project, system)
	if err != nil {
		t.Fatal(err)
	}
	if set.MinAge() != 24*time.Hour {
		t.Errorf("min_age %s, want the longest", set.MinAge())
	}
	for source, want := range map[string]struct {
		approved bool
		code     diag.Code
	}{
		"github.com/acme/skills//deploy":        {true, ""},
		"github.com/partner/skills//x":          {true, ""},
		"github.com/evil/skills//deploy":        {true, diag.SourceNotAllowed},
		"http://github.com/acme/skills//deploy": {false, diag.SourceNotAllowed},
		"http://git.local/x//y":                 {true, diag.SourceNotAllowed},
		"path:./house":                          {true, ""},
	} {
		src := mustSource(t, source)
		if got := set.SourceApproved(src); got != want.approved {
			t.Errorf("approved(%s) = %t", source, got)
		}
		if got := diag.CodeOf(set.CheckSource(src)); got != want.code {
			t.Errorf("check(%s) = %q, want %q", source, got, want.code)
		}
	}
	local, err := NewSet(SetOptions{}, mustPolicy(t, "[trust]\ntrust_level = \"local\"\n", ScopeProject))
	if err != nil {
		t.Fatal(err)
	}
	if got := diag.CodeOf(local.CheckSource(mustSource(t, "github.com/acme/skills//deploy"))); got != diag.TrustLevelRefused {
		t.Errorf("got %q", got)
	}
	if err := local.CheckSource(mustSource(t, "path:./house")); err != nil {
		t.Error(err)
	}
}

// A cached verdict must not survive a change of anything it was made from.
func TestCacheKey(t *testing.T) {
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "acme.pub")
	a, _ := newSigner(t)
	b, _ := newSigner(t)
	writeKey := func(s *Signer) {
		if err := os.WriteFile(keyFile, s.Public(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	load := func(text string, opt SetOptions) *Set {
		p, err := ParsePolicy(filepath.Join(dir, "trust.toml"), []byte(text), ScopeUser)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSet(opt, p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const text = "[[trust.rules]]\nmatch = \"**\"\nmode = \"required\"\nany_of = [ { key = { file = \"acme.pub\" } } ]\n"
	writeKey(a)
	tree := deployTree(t)
	in := input(t, load(text, SetOptions{}), tree, mustSign(t, a, "deploy", tree))
	base := CacheKey(in)
	seen := map[string]string{string(base): "the first"}
	differ := func(what string, change func(in *Input)) {
		t.Helper()
		other := in
		change(&other)
		key := string(CacheKey(other))
		if old, ok := seen[key]; ok {
			t.Errorf("%s has the cache key of %s", what, old)
		}
		seen[key] = what
	}
	differ("another tree", func(in *Input) { in.Tree = newTree(t, newFile("SKILL.md", "x", false)) })
	differ("another bundle", func(in *Input) { in.Bundle = append([]byte{}, append(in.Bundle, ' ')...) })
	differ("no bundle", func(in *Input) { in.Bundle = nil })
	differ("an empty bundle", func(in *Input) { in.Bundle = []byte{} })
	differ("another source", func(in *Input) { in.Source = mustSource(t, "github.com/b/c//d") })
	differ("another name", func(in *Input) { in.Name = "x" })
	differ("no policy", func(in *Input) { in.Policies = nil })
	differ("another policy", func(in *Input) { in.Policies = load(text+"tolerate = [\"x\"]\n", SetOptions{}) })
	differ("a lock", func(in *Input) { in.Locked = &Locked{Digest: tree.Digest()} })
	differ("a lock with signer", func(in *Input) { in.Locked = &Locked{Digest: tree.Digest(), Signature: &Facts{Kind: KindKey}} })
	differ("allowed", func(in *Input) { in.AllowUntrusted = true })
	older := filepath.Join(fixtures(t), "roots", "sigstore-prod-older.json")
	differ("another root", func(in *Input) { in.Policies = load(text, SetOptions{RefreshedRoot: older}) })
	differ("another root by file", func(in *Input) { in.Policies = load("[trust]\ntrusted_root = '"+older+"'\n"+text, SetOptions{}) })
	writeKey(b)
	differ("another key in the same file", func(in *Input) { in.Policies = load(text, SetOptions{}) })
	later := in
	later.Now = in.Now.Add(time.Hour)
	if CacheKey(later) != base {
		t.Error("the clock changes the cache key; ValidAt is for that")
	}
}

func TestRoots(t *testing.T) {
	set, err := NewSet(SetOptions{RefreshedRoot: filepath.Join(t.TempDir(), "none")})
	if err != nil {
		t.Fatal(err)
	}
	info, err := set.Root("")
	if err != nil || info.Origin != "embedded" || info.Logs < 2 || info.CAs < 2 || info.Stamps < 1 || info.AsOf.Year() < 2026 {
		t.Errorf("embedded root: %+v", info)
	}
	if age := info.Age(info.AsOf.Add(49 * time.Hour)); !strings.Contains(age, "2 days ago") {
		t.Errorf("age %q", age)
	}
	older := filepath.Join(fixtures(t), "roots", "sigstore-prod-older.json")
	if set, err = NewSet(SetOptions{RefreshedRoot: older}); err != nil {
		t.Fatal(err)
	}
	if info, err := set.Root(""); err != nil || info.Origin != older {
		t.Errorf("%+v, %v", info, err)
	}
	for name, text := range map[string]string{"empty": "", "rubbish": "x", "other type": `{"mediaType":"x"}`, "null parts": `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1","tlogs":[{}]}`} {
		file := filepath.Join(t.TempDir(), "root.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		set, err := NewSet(SetOptions{RefreshedRoot: file})
		if err != nil {
			t.Fatal(err)
		}
		_, err = set.Root("")
		faults := diag.All(err)
		if len(faults) != 1 || faults[0].Code != diag.TrustRootInvalid || faults[0].File != file {
			t.Errorf("%s: got %v", name, err)
		}
		keyless := filepath.Join(fixtures(t), "data", "oms-v1.1.0-sigstore", "model.sig")
		v := Verify(t.Context(), input(t, set, deployTree(t), readFile(t, keyless)))
		wantCode(t, v, "trust_root_invalid")
		if v.File != file {
			t.Errorf("%s: at %q", name, v.File)
		}
	}
}

func TestCancelledVerification(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, Verify(ctx, input(t, nil, deployTree(t), nil)), "interrupted")
}
