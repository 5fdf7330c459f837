package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/signing"
)

// TrustFile is the name of the system's and the user's trust policy.
const TrustFile = "trust.toml"

// ReadPolicies reads the three policies that all must pass. A fetched
// repository never contributes one.
func (p *Project) ReadPolicies(manifestData []byte) (*signing.Set, error) {
	var list []*signing.Policy
	files := []struct {
		path  string
		scope signing.Scope
	}{
		{filepath.Join(p.Opt.SystemDir, TrustFile), signing.ScopeSystem},
		{filepath.Join(p.Opt.ConfigDir, TrustFile), signing.ScopeUser},
	}
	for _, f := range files {
		data, err := ReadBounded(f.path)
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
		policy, err := signing.ParsePolicy(p.ManifestPath(), section, signing.ScopeProject)
		if err != nil {
			return nil, err
		}
		list = append(list, policy)
	}
	return signing.NewSet(signing.SetOptions{RefreshedRoot: p.refreshedRoot()}, list...)
}

// refreshedRoot is where `trust update` keeps the trusted root.
func (p *Project) refreshedRoot() string { return filepath.Join(p.Opt.ConfigDir, "trusted_root.json") }

// MinAge is how old a version must be, 0 if that is not asked for.
func (p *Project) MinAge() time.Duration {
	if p.Opt.MinAge != nil {
		return *p.Opt.MinAge
	}
	return p.Policies.MinAge()
}

// FactsOf returns what the lock says of a signature, as package signing takes it.
func FactsOf(s *lockfile.Signature) *signing.Facts {
	if s == nil {
		return nil
	}
	return &signing.Facts{Kind: signing.Kind(s.Kind), Issuer: s.Issuer, Identity: s.Identity, Subject: s.Subject, Hint: s.Hint, Key: s.Key, Bundle: s.Bundle}
}

// SignatureOf is the reverse of FactsOf.
func SignatureOf(f signing.Facts) *lockfile.Signature {
	return &lockfile.Signature{Kind: string(f.Kind), Issuer: f.Issuer, Identity: f.Identity, Subject: f.Subject, Hint: f.Hint, Key: f.Key, Bundle: f.Bundle}
}
