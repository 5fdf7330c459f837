package project

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// trustFile is the name of the system's and the user's trust policy.
const trustFile = "trust.toml"

// readPolicies reads the three policies that all must pass. A fetched
// repository never contributes one.
func (p *Project) readPolicies(manifestData []byte) (*signing.Set, error) {
	var list []*signing.Policy
	files := []struct {
		path  string
		scope signing.Scope
	}{
		{filepath.Join(p.opt.SystemDir, trustFile), signing.ScopeSystem},
		{filepath.Join(p.opt.ConfigDir, trustFile), signing.ScopeUser},
	}
	for _, f := range files {
		data, err := readBounded(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		policy, err := signing.ParsePolicy(f.path, data, f.scope)
		if err != nil {
			return nil, err
		}
		list = append(list, policy)
	}
	// Only [trust] is decoded: thousands of skills are no business of a policy.
	if section := manifest.TrustSection(manifestData); section != nil {
		policy, err := signing.ParsePolicy(p.manifestPath(), section, signing.ScopeProject)
		if err != nil {
			return nil, err
		}
		list = append(list, policy)
	}
	return signing.NewSet(signing.SetOptions{RefreshedRoot: p.refreshedRoot()}, list...)
}

// refreshedRoot is where `trust update` keeps the trusted root.
func (p *Project) refreshedRoot() string { return filepath.Join(p.opt.ConfigDir, "trusted_root.json") }

// Policies returns the machine's and the project's trust rules.
func (p *Project) Policies() *signing.Set { return p.policies }

func (p *Project) minAge() time.Duration {
	if p.opt.MinAge != nil {
		return *p.opt.MinAge
	}
	return p.policies.MinAge()
}

// TrustOptions are the one-time permissions of a run.
type TrustOptions struct {
	// AllowUntrusted names skills whose refusal by policy is overruled.
	AllowUntrusted []string
	// AcceptSignerChange and AcceptDowngrade permit what their names say.
	AcceptSignerChange, AcceptDowngrade bool
}

func (o TrustOptions) allows(key string) bool {
	for _, k := range o.AllowUntrusted {
		if k == key {
			return true
		}
	}
	return false
}

// judge verifies one entry's signature over its staged tree.
func (p *Project) judge(ctx context.Context, e *lockfile.Entry, tree *skill.Tree, old *lockfile.Entry, opt TrustOptions) (signing.Verdict, error) {
	src, ok := entrySource(e)
	if !ok {
		return signing.Verdict{}, diag.New(diag.LockCorrupt, "the source of `%s` is not readable", e.Key)
	}
	if err := p.policies.CheckSource(src); err != nil {
		return signing.Verdict{}, err
	}
	in := signing.Input{
		Key: skill.Key(e.Key), Name: e.Name(), Source: src, Tree: tree, Policies: p.policies, Now: p.opt.Now(),
		AllowUntrusted: opt.allows(e.Key), AcceptSignerChange: opt.AcceptSignerChange, AcceptDowngrade: opt.AcceptDowngrade,
	}
	if e.Signature != nil {
		data, err := p.cache.Bundle(e.Signature.Bundle)
		if err != nil {
			return signing.Verdict{}, diag.New(diag.SignatureMissing, "the signature of `%s` is not in the cache", e.Key).WithCause(err)
		}
		in.Bundle = data
	}
	if old != nil && old.Source.Type != lockfile.TypePath {
		in.Locked = &signing.Locked{Digest: old.Digest, Signature: factsOf(old.Signature)}
	}
	return p.verdict(ctx, in), nil
}

// verdict verifies, and names the file of the rule as people write it: policies
// know it in full, since the keys they name lie beside it.
func (p *Project) verdict(ctx context.Context, in signing.Input) signing.Verdict {
	v := p.fullVerdict(ctx, in)
	v.File = p.display(v.File)
	return v
}

// fullVerdict verifies, or takes a verdict of an earlier run over the same facts.
func (p *Project) fullVerdict(ctx context.Context, in signing.Input) signing.Verdict {
	if in.Bundle == nil {
		return signing.Verify(ctx, in)
	}
	key := string(signing.CacheKey(in))
	if data, ok := p.cache.Get(bucketVerdicts, key); ok {
		var v signing.Verdict
		if json.Unmarshal(data, &v) == nil && v.Outcome != "" && v.ValidAt(in.Now) {
			return v
		}
	}
	v := signing.Verify(ctx, in)
	if data, err := json.Marshal(v); err == nil && ctx.Err() == nil {
		p.cache.Put(bucketVerdicts, key, data)
	}
	return v
}

func factsOf(s *lockfile.Signature) *signing.Facts {
	if s == nil {
		return nil
	}
	return &signing.Facts{Kind: signing.Kind(s.Kind), Issuer: s.Issuer, Identity: s.Identity, Subject: s.Subject, Hint: s.Hint, Bundle: s.Bundle}
}

func signatureOf(f signing.Facts) *lockfile.Signature {
	return &lockfile.Signature{Kind: string(f.Kind), Issuer: f.Issuer, Identity: f.Identity, Subject: f.Subject, Hint: f.Hint, Bundle: f.Bundle}
}

// reportVerdict passes a verdict's notes on. Those that many skills share are
// gathered and told once, by reportGathered.
func (p *Project) reportVerdict(key string, v signing.Verdict) {
	for _, n := range v.Notes {
		if n.Code == diag.Unsigned || n.Code == diag.SignerUnverified {
			p.gather(n.Code, key, nil)
			continue
		}
		e := diag.New(n.Code, "`%s`: %s", key, n.Message)
		e.Severity, e.Hint = n.Severity, n.Hint
		p.opt.Report(e)
	}
}
