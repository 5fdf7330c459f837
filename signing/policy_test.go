package signing

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// fullPolicy is the example of the documentation, with every key.
const fullPolicy = `
[trust]
sources = ["github.com/acme/**"]
min_age = "3d"
trust_level = "remote"
trusted_root = "root.json"
deny = { identities = ["https://github.com/mallory/**"], keys = ["sha256:0000000000000000000000000000000000000000000000000000000000000007"], digests = [] }

[[trust.rules]]
match = "github.com/acme/skills//**"
mode  = "required"
expiry = "enforce"
tolerate = ["notes/**"]
any_of = [
  { keyless = { issuer = "https://token.actions.githubusercontent.com", identity = "https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/**", source_repository = "https://github.com/acme/skills", ref = "refs/tags/**", runner = "github-hosted", timestamp = "required" } },
  { key  = { file = "keys/acme.pub", not_before = 2026-01-01T00:00:00Z, not_after = "2027-01-01", log = "required" } },
  { x509 = { roots = "/etc/acme-ca.pem", subject = "Acme Skills Signing *", log = "none" } },
]

[[trust.rules]]
match = "**"
`

func TestParsePolicy(t *testing.T) {
	p, err := ParsePolicy(filepath.FromSlash("/home/u/trust.toml"), []byte(fullPolicy), ScopeUser)
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := &Policy{File: "/home/u/trust.toml", Scope: ScopeUser, Sources: []string{"github.com/acme/**"}, MinAge: 72 * time.Hour,
		TrustLevel: "remote", TrustedRoot: "/home/u/root.json", Deny: Deny{Identities: []string{"https://github.com/mallory/**"}, Keys: []string{"sha256:0000000000000000000000000000000000000000000000000000000000000007"}},
		Rules: []Rule{
			{Match: "github.com/acme/skills//**", Mode: ModeRequired, EnforceExpiry: true, Tolerate: []string{"notes/**"}, Line: 9, AnyOf: []SignerRule{
				{Keyless: &KeylessRule{Issuer: "https://token.actions.githubusercontent.com", Identity: "https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/**",
					SourceRepository: "https://github.com/acme/skills", Ref: "refs/tags/**", Runner: "github-hosted", SignedTimestamp: true}},
				{Key: &KeyRule{File: "/home/u/keys/acme.pub", NotBefore: day, NotAfter: day.AddDate(1, 0, 1).Add(-time.Second), LogRequired: true}},
				{X509: &X509Rule{Roots: "/etc/acme-ca.pem", Subject: "Acme Skills Signing *"}},
			}},
			{Match: "**", Mode: ModeOptional, Line: 20},
		}}
	if diff := cmp.Diff(want, p, cmp.FilterPath(unexported, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
}

func unexported(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && f.Name()[0] >= 'a' && f.Name()[0] <= 'z'
}

// Every fault of a policy is told with its place, several at once.
func TestPolicyFaults(t *testing.T) {
	const rule = "[[trust.rules]]\nmatch = \"github.com/a/b//**\"\nmode = \"required\"\n"
	keyless := func(s string) string { return rule + "any_of = [ { keyless = { " + s + " } } ]\n" }
	for _, tt := range []struct {
		name, text string
		at, says   string
	}{
		{"syntax", "[trust\n", "1:", ""},
		{"a key twice", "[trust]\nmin_age = \"1d\"\nmin_age = \"2d\"\n", "3:1", ""},
		{"unknown table", "[trusted]\n", "1:2", "no key `trusted`"},
		{"unknown key", "[trust]\nsorces = 1\n", "2:1", "no key `sorces`"},
		{"unknown key in a rule", rule + "any_off = []\n", "4:1", "no key `any_off`"},
		{"unknown key in deny", "[trust]\ndeny = { names = [] }\n", "2:10", "no key `names`"},
		{"wrong type", "[trust]\nsources = \"github.com/acme/**\"\n", "2:11", "array, found a string"},
		{"wrong type inside", "[trust]\nsources = [1]\n", "2:12", "string, found an integer"},
		{"trust is no table", "trust = 1\n", "1:9", "table, found an integer"},
		{"age", "[trust]\nmin_age = \"soon\"\n", "2:11", "such as 3d"},
		{"age without unit", "[trust]\nmin_age = \"30\"\n", "2:11", "such as 3d"},
		{"level", "[trust]\ntrust_level = \"high\"\n", "2:15", "local, remote"},
		{"digest", "[trust]\ndeny = { digests = [\"sha256:1\"] }\n", "2:21", "64 hex"},
		{"a short hash of a key", "[trust]\ndeny = { keys = [\"sha256:1a2b3c4d5e6f\"] }\n", "2:18", "not the hash of a public key"},
		{"a name for a key", "[trust]\ndeny = { keys = [\"deploy\"] }\n", "2:18", "not the hash of a public key"},
		{"no match", "[[trust.rules]]\nmode = \"optional\"\n", "1:3", "needs `match`"},
		{"mode", "[[trust.rules]]\nmatch = \"a.b/**\"\nmode = \"strict\"\n", "3:8", "required, optional, off"},
		{"required without signers", rule, "1:3", "needs `any_of`"},
		{"required with none", rule + "any_of = []\n", "1:3", "needs `any_of`"},
		{"two kinds in one", rule + "any_of = [ { key = { file = \"a\" }, x509 = { roots = \"b\" } } ]\n", "4:14", "exactly one"},
		{"no kind", rule + "any_of = [ { } ]\n", "4:", "exactly one"},
		{"keyless without issuer", keyless(`identity = "a@b.c"`), "4:", "needs `issuer`"},
		{"keyless without identity", keyless(`issuer = "https://i"`), "4:", "exactly one of `identity`"},
		{"both identities", keyless(`issuer = "https://i", identity = "a", identity_regexp = "^a$"`), "4:", "exactly one of `identity`"},
		{"unanchored start", keyless(`issuer = "https://i", identity_regexp = "a$"`), "4:66", "not anchored"},
		{"unanchored end", keyless(`issuer = "https://i", identity_regexp = "^a"`), "4:66", "not anchored"},
		{"escaped end", keyless(`issuer = "https://i", identity_regexp = '^a\$'`), "4:66", "not anchored"},
		{"matches all", keyless(`issuer = "https://i", identity_regexp = "^.*$"`), "4:66", "every signer"},
		{"one branch matches all", keyless(`issuer = "https://i", identity_regexp = "^(acme|.*)$"`), "4:66", "every signer"},
		{"optional literal", keyless(`issuer = "https://i", identity_regexp = "^(acme)?.+$"`), "4:66", "every signer"},
		{"no RE2", keyless(`issuer = "https://i", identity_regexp = '^(?<=a)b$'`), "4:66", "RE2"},
		{"glob matches all", keyless(`issuer = "https://i", identity = "**"`), "4:59", "every signer"},
		{"key without file", rule + "any_of = [ { key = { log = \"none\" } } ]\n", "4:", "needs `file`"},
		{"window upside down", rule + "any_of = [ { key = { file = \"k\", not_before = \"2027-01-01\", not_after = \"2026-01-01\" } } ]\n", "4:", "never be valid"},
		{"no day", rule + "any_of = [ { key = { file = \"k\", not_after = \"2027-02-30\" } } ]\n", "4:46", "2027-02-30"},
		{"x509 without roots", rule + "any_of = [ { x509 = { subject = \"a\" } } ]\n", "4:", "needs `roots`"},
		{"log", rule + "any_of = [ { x509 = { roots = \"a\", log = \"maybe\" } } ]\n", "4:42", "required, none"},
		{"a credential in a pattern", "[trust]\nsources = [\"https://user@host/x\"]\n", "2:12", "no pattern"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParsePolicy("trust.toml", []byte(tt.text), ScopeSystem)
			faults := diag.All(err)
			if len(faults) == 0 || diag.CodeOf(err) != diag.PolicyInvalid {
				t.Fatalf("got %v, want policy_invalid", err)
			}
			for _, e := range faults {
				if e.File == "trust.toml" && strings.HasPrefix(fmt.Sprintf("%d:%d", e.Line, e.Column), tt.at) && strings.Contains(e.Message, tt.says) {
					return
				}
			}
			for _, e := range faults {
				t.Errorf("got %s:%d:%d %s, want %s %q", e.File, e.Line, e.Column, e.Message, tt.at, tt.says)
			}
		})
	}
}

func TestPolicyFaultsAllAtOnce(t *testing.T) {
	_, err := ParsePolicy("trust.toml", []byte("[trust]\na = 1\nmin_age = 3\nsources = [\"*\", 4]\n"), ScopeUser)
	if got := len(diag.All(err)); got != 3 {
		t.Errorf("%d faults, want 3: %v", got, err)
	}
	if _, err := ParsePolicy("trust.toml", make([]byte, maxPolicyBytes+1), ScopeUser); diag.CodeOf(err) != diag.PolicyInvalid {
		t.Errorf("a huge file: %v", err)
	}
}

// skills.toml holds other tables, which are not ours to judge.
func TestProjectPolicy(t *testing.T) {
	text := "[skills]\npdf = \"^1.0 github.com/acme/skills//pdf\"\n[trust]\nmin_age = \"1h\"\n"
	p, err := ParsePolicy("skills.toml", []byte(text), ScopeProject)
	if err != nil || p.MinAge != time.Hour {
		t.Fatal(p, err)
	}
	q, err := ParsePolicy("skills.toml", []byte(strings.Replace(text, "^1.0", "^2.0", 1)), ScopeProject)
	if err != nil {
		t.Fatal(err)
	}
	if fingerprint(t, p) != fingerprint(t, q) {
		t.Error("an edit outside [trust] changes the fingerprint")
	}
	off := "[trust]\n[[trust.rules]]\nmatch = \"**\"\nmode = \"off\"\n"
	if _, err := ParsePolicy("skills.toml", []byte(off), ScopeProject); diag.CodeOf(err) != diag.PolicyInvalid {
		t.Errorf("mode off in a project: %v", err)
	}
	for _, scope := range []Scope{ScopeUser, ScopeSystem} {
		if _, err := ParsePolicy("trust.toml", []byte(off), scope); err != nil {
			t.Error(err)
		}
	}
	if p, err := ParsePolicy("skills.toml", []byte("[skills]\n"), ScopeProject); err != nil || len(p.Rules) > 0 {
		t.Error(p, err)
	}
}

func fingerprint(t *testing.T, p *Policy) skill.Digest {
	t.Helper()
	s, err := NewSet(SetOptions{}, p)
	if err != nil {
		t.Fatal(err)
	}
	return s.Fingerprint()
}

func TestSourceMatching(t *testing.T) {
	for _, tt := range []struct {
		pattern, source string
		want            bool
	}{
		{"github.com/acme/skills//**", "github.com/acme/skills//deploy", true},
		{"github.com/acme/skills//**", "github.com/acme/skills//a/b", true},
		{"github.com/acme/skills//**", "github.com/acme/skills//", true},
		{"github.com/acme/skills//*", "github.com/acme/skills//a/b", false},
		{"github.com/Acme/Skills//**", "https://github.com/ACME/skills.git//deploy", true},
		{"https://github.com/acme/skills", "git@github.com:acme/skills//deploy", true},
		{"github.com/acme/skills", "ssh://git@github.com/acme/skills//deploy", true},
		{"github.com/acme/*", "github.com/acme/skills//deploy", true},
		{"github.com/acme/**", "github.com/acme/skills//deploy", true},
		{"**", "http://evil.example/x//y", true},
		{"Git.Example:8443/Acme/S//**", "git.example:8443/Acme/S//x", true},
		{"git.example/Acme/S//**", "git.example/acme/s//x", false},
		// Look-alikes and plaintext never match what was written for https.
		{"github.com/acme/skills//**", "http://github.com/acme/skills//deploy", false},
		{"github.com/acme/skills//**", "git://github.com/acme/skills//deploy", false},
		{"github.com/acme/skills//**", "github.com.evil.example/acme/skills//deploy", false},
		{"github.com/acme/skills//**", "evil.example/github.com/acme/skills//deploy", false},
		{"github.com/acme/skills//**", "github.com/acme/skills-evil//deploy", false},
		{"github.com/acme/skills//**", "github.com/acme-evil/skills//deploy", false},
		{"github.com/acme/skills//**", "github.com:8443/acme/skills//deploy", false},
		{"github.com/acme/*", "github.com/acme/deep/skills//deploy", false},
		{"http://git.local/acme/**", "http://git.local/acme/skills//x", true},
		{"http://git.local/acme/**", "git.local/acme/skills//x", false},
	} {
		g, err := newSourceGlob(tt.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := g.match(mustSource(t, tt.source).Identity()); got != tt.want {
			t.Errorf("%s against %s = %t, want %t", tt.pattern, tt.source, got, tt.want)
		}
	}
}

func TestIdentityRegexpMatchesWholly(t *testing.T) {
	re, err := newIdentityRegexp(`^https://github\.com/acme/[^@]+@refs/tags/v1|https://x$`)
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]bool{
		"https://github.com/acme/a@refs/tags/v1": true, "https://x": true,
		"https://github.com/acme/a@refs/tags/v1.evil": false, "evil https://x": false, "https://x\n": false,
	} {
		if re.MatchString(s) != want {
			t.Errorf("%q: got %t", s, !want)
		}
	}
}

// Keys, CAs and roots are read by NewSet; a fault names the entry's place and the
// file.
func TestSetFaults(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("bad.pem", "hello")
	write("root.json", `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`)
	private, _, err := GenerateKey(strings.NewReader(strings.Repeat("0123456789abcdef", 64)), nil)
	if err != nil {
		t.Fatal(err)
	}
	write("private.pem", string(private))
	for _, tt := range []struct {
		name, signer string
		code         diag.Code
		names        string
	}{
		{"missing key", `key = { file = "gone.pub" }`, diag.PolicyInvalid, "gone.pub"},
		{"no key", `key = { file = "bad.pem" }`, diag.PolicyInvalid, "bad.pem"},
		{"private key", `key = { file = "private.pem" }`, diag.PolicyInvalid, "private"},
		{"missing CA", `x509 = { roots = "gone.pem" }`, diag.PolicyInvalid, "gone.pem"},
		{"no CA", `x509 = { roots = "bad.pem" }`, diag.PolicyInvalid, "bad.pem"},
		{"empty root", `x509 = { roots = "bad.pem" } } ]` + "\n[trust]\ntrusted_root = \"root.json\"\n#", diag.TrustRootInvalid, "root.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "[[trust.rules]]\nmatch = \"**\"\nany_of = [ { " + tt.signer + " } ]\n"
			if tt.code == diag.TrustRootInvalid {
				text = "[trust]\ntrusted_root = \"root.json\"\n"
			}
			p, err := ParsePolicy(filepath.Join(dir, "trust.toml"), []byte(text), ScopeUser)
			if err != nil {
				t.Fatal(err)
			}
			_, err = NewSet(SetOptions{}, p)
			faults := diag.All(err)
			if len(faults) != 1 || faults[0].Code != tt.code || faults[0].Line == 0 || !strings.Contains(faults[0].Message, tt.names) {
				t.Errorf("got %v", err)
			}
		})
	}
}
