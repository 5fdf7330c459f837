package lockfile

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/skill"
)

var update = flag.Bool("update", false, "write the golden files")

func digestOf(s string) skill.Digest { return skill.DigestOf([]byte(s)) }

// fullLock has every field of the format at least once.
func fullLock() *Lock {
	chain := &Chain{Mode: ModeSequential, Steps: []string{"deploy", "zeta", "deploy"}, Unresolved: []string{"gone"}, Depth: 2, Policy: DefaultPolicy()}
	inner := &Chain{Mode: ModeParallel, Steps: []string{"vault"}, Depth: 1, Policy: DefaultPolicy()}
	inner.Policy.RaceMode, inner.Policy.Timeout, inner.Policy.EarlyExitOn = true, 30, "critical"
	git := func(path, tag string) Source {
		return Source{Type: TypeGit, URL: "https://github.com/acme/skills", Path: path, Tag: tag, Commit: hex40, Tree: strings.Repeat("c4", 20)}
	}
	l := &Lock{
		Root: Root{
			Requires: map[string]string{
				"zeta": "github.com/acme/zeta// ref:main", "release": "^1.0 github.com/acme/skills//skills/release", "house": "* path:skills/house",
			},
			Overrides: map[string]string{"vault": "1.0.0"},
		},
		Skills: []*Entry{
			{Key: "vault", Version: "1.0.0", DeclaredName: "secret-vault", Description: "Reads secrets.", Source: git("skills/vault", "vault-v1.0.0"), Digest: digestOf("vault"),
				Size: Size{Body: 10, Files: 1}, Retracted: "leaks; use 1.0.1"},
			{Key: "site", Version: "3.0.0", Description: "From a discovery index.", Source: Source{Type: TypeIndex, URL: "https://skills.example", Artifact: "https://skills.example/site.tar.gz", SHA256: hex64},
				Digest: digestOf("site"), Size: Size{Body: 1, Resources: 2, Files: 2}, Signature: &Signature{Kind: SignatureKey, Hint: "a1b2c3", Key: string(digestOf("k")), Bundle: digestOf("b")}},
			{Key: "deploy", Version: "2.1.0", Description: "Deploys to <staging> & \"production\".\nUse when asked … \u2028end", Source: git("skills/deploy", "v2.1.0"), Digest: digestOf("deploy"),
				Requires: map[string]string{"vault": "1.0.0 sha256:" + hex64, "site": "*"}, Dependencies: []string{"vault", "site"}, AllowedTools: "Bash(git:*) Read",
				Size: Size{Body: 4812, Resources: 21034, Files: 7}, Signature: &Signature{Kind: SignatureKeyless, Issuer: "https://token.actions.githubusercontent.com", Identity: "https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/v2.1.0", Bundle: digestOf("k")},
				Use: "required", Chain: inner},
			{Key: "zeta", Version: "0.0.0-0.20260102030405-" + hex40[:12], Description: "Untagged.", Source: Source{Type: TypeGit, URL: "git@git.example:acme/zeta", Ref: "refs/heads/main", Commit: hex40}, Digest: digestOf("zeta"),
				Size: Size{Body: 5, Resources: 9, Files: 3}, Signature: &Signature{Kind: SignatureX509, Issuer: "CN=Acme CA", Subject: "CN=Acme Skills", Bundle: digestOf("x")},
				Training: &Training{Mode: "hybrid", SHA256: hex64, Suites: &Suites{Train: Suite{Path: "t/train.json", SHA256: hex64}, Validation: Suite{Path: "t/val.json", SHA256: hex64}, Test: Suite{Path: "t/test.json", SHA256: hex64}}}},
			{Key: "release", Version: "1.0.0", Description: "Runs the others.", Source: git("skills/release", "v1.0.0"), Digest: digestOf("release"), Dependencies: []string{"deploy", "zeta"}, Size: Size{Body: 3, Files: 1}, Chain: chain},
			{Key: "house", Version: "0.1.0", Source: Source{Type: TypePath, Path: "skills/house"}, Requires: map[string]string{"site": "^3 index:https://skills.example"}, Dependencies: []string{"site"}, Use: "optional"},
		},
		Targets: []string{".agents/skills", ".claude/skills"},
		Unknown: Unknown{"later": json.RawMessage(`{"big":12345678901234567890,"list":[]}`)},
	}
	l.Sort(nil)
	return l
}

func TestGoldenIsCurrent(t *testing.T) {
	const file = "../testdata/lock/full.lock"
	got := fullLock().Bytes()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run with -update if this is meant:\n%s", diff)
	}
}
