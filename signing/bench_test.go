package signing

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// BenchmarkVerify200 is the work of an install of 200 signed skills: half by a
// private CA (a real published bundle), half keyless with log, timestamp and
// certificate log. Goal: at most 1.5 s an operation on two cores.
func BenchmarkVerify200(b *testing.B) {
	base := filepath.Join(fixtures(b), "data")
	nvidia, sigstore := filepath.Join(base, "nvidia-mcore-split-pr"), filepath.Join(base, "oms-v1.1.0-sigstore")
	policy := mustPolicy(b, fmt.Sprintf(`[[trust.rules]]
match = "example.com/a/b"
mode = "required"
any_of = [ { x509 = { roots = %q, subject = "NVIDIA Agent Skills Signing *" } } ]
[[trust.rules]]
match = "**"
mode = "required"
tolerate = ["ignore-me"]
any_of = [ { keyless = { issuer = "https://sigstore.verify.ibm.com/oauth2", identity = "stefanb@us.ibm.com" } } ]
`, filepath.Join(fixtures(b), "roots", "nvidia-agent-capabilities-ca.pem")), ScopeUser)
	set, err := NewSet(SetOptions{}, policy)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	inputs := []Input{
		{Source: mustSource(b, "example.com/a/b//x"), Tree: dirTree(b, nvidia, "skill.oms.sig"), Bundle: readFile(b, filepath.Join(nvidia, "skill.oms.sig")), Policies: set, Now: now},
		{Source: mustSource(b, "example.com/c/d//y"), Tree: dirTree(b, sigstore, "model.sig"), Bundle: readFile(b, filepath.Join(sigstore, "model.sig")), Policies: set, Now: now},
	}
	b.ReportAllocs()
	for b.Loop() {
		var work sync.WaitGroup
		for worker := range 2 {
			work.Go(func() {
				for i := range 100 {
					if v := Verify(b.Context(), inputs[(i+worker)%2]); v.Outcome != Verified {
						b.Errorf("%+v", v)
					}
				}
			})
		}
		work.Wait()
	}
}

func BenchmarkCacheKey(b *testing.B) {
	in := input(b, nil, deployTree(b), []byte("{}"))
	for b.Loop() {
		CacheKey(in)
	}
}
