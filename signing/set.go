package signing

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/internal/tomledit"
	"github.com/skillpm/skillpm/skill"
)

// SetOptions say how a Set reads what its policies name.
type SetOptions struct {
	// ReadFile reads key, CA and root files; nil means the disk, with a limit.
	ReadFile func(name string) ([]byte, error)
	// RefreshedRoot is the path of the trusted root that `trust update` keeps;
	// empty or absent means the embedded one.
	RefreshedRoot string
}

// Set is the policies of one machine and project: each is evaluated alone and
// all must pass, the strictest mode wins, deny lists add up. It is immutable and
// safe for concurrent use.
type Set struct {
	policies []*Policy
	root     *rootFile
	keys     []*publicKey // all that rules name, each once
}

// NewSet joins policies (nil ones are skipped) and reads the keys, CAs and
// trusted roots they name. Errors carry policy_invalid or trust_root_invalid and
// the place of the entry that names the file; a refreshed root that holds rubbish
// shows when a signature needs it.
func NewSet(opt SetOptions, policies ...*Policy) (*Set, error) {
	if opt.ReadFile == nil {
		opt.ReadFile = readBounded
	}
	s := &Set{}
	var err error
	if s.root, err = opt.defaultRoot(); err != nil {
		return nil, err
	}
	var faults diag.List
	for _, p := range policies {
		if p == nil {
			continue
		}
		loaded, list := p.load(opt.ReadFile)
		faults = append(faults, list...)
		s.policies = append(s.policies, loaded)
	}
	slices.SortStableFunc(s.policies, func(a, b *Policy) int { return int(a.Scope) - int(b.Scope) })
	if err := faults.Err(); err != nil {
		return nil, err
	}
	s.collectKeys()
	return s, nil
}

func (s *Set) collectKeys() {
	for _, p := range s.policies {
		for _, r := range p.Rules {
			for _, signer := range r.AnyOf {
				if k := signer.Key; k != nil && !slices.ContainsFunc(s.keys, k.key.same) {
					s.keys = append(s.keys, k.key)
				}
			}
		}
	}
}

// identify finds the key of a bare-key bundle: of all keys that rules name, for
// whatever source, the one that its signature verifies with. The hint only says
// which to try first.
func (s *Set) identify(b *bundle) {
	if b.facts.Kind != KindKey || b.payload == nil {
		return
	}
	message := pae(b.payloadType, b.payload)
	for _, hinted := range []bool{true, false} {
		for _, key := range s.keys {
			if key.hasHint(b.facts.Hint) == hinted && key.verify(message, b.sig) {
				b.key, b.facts.Key = key, key.fingerprint()
				return
			}
		}
	}
}

// Facts returns what the lock records of a bundle. Only rules of the set can name
// the key of a bare-key signature. Errors are those of Inspect.
func (s *Set) Facts(bundle []byte) (Facts, error) {
	b, f := parseBundle(bundle)
	if f != nil {
		return Facts{}, f.err()
	}
	s.identify(b)
	return b.facts, nil
}

// noRules is the set of a machine without policies.
func noRules() *Set { return &Set{root: embedded()} }

func readBounded(name string) ([]byte, error) {
	return regular.Read(name, maxKeyBytes)
}

func (opt SetOptions) defaultRoot() (*rootFile, error) {
	if opt.RefreshedRoot == "" {
		return embedded(), nil
	}
	data, err := opt.ReadFile(opt.RefreshedRoot)
	if errors.Is(err, fs.ErrNotExist) {
		return embedded(), nil
	}
	if err != nil {
		return nil, diag.New(diag.TrustRootInvalid, "the trusted root cannot be read").At(opt.RefreshedRoot, 0, 0).WithCause(err)
	}
	return newRootFile(opt.RefreshedRoot, data), nil
}

// load returns a copy of p with all its files read, and every file's fault.
func (p *Policy) load(read func(string) ([]byte, error)) (*Policy, diag.List) {
	l := *p
	l.seal = slices.Clone(p.seal)
	l.Rules = slices.Clone(p.Rules)
	var faults diag.List
	file := func(name string, at tomledit.Place, code diag.Code, what string, use func([]byte) error) {
		data, err := read(name)
		if err == nil {
			l.seal = append(l.seal, skill.DigestOf(data))
			err = use(data)
		}
		if err == nil {
			return
		}
		why := err.Error()
		if e, ok := errors.AsType[*diag.Error](err); ok {
			why = e.Message
		}
		if _, ok := errors.AsType[*fs.PathError](err); !ok {
			why = name + ": " + why
		}
		faults = append(faults, diag.New(code, "%s cannot be used: %s", what, quote(why)).At(p.File, at.Line, at.Column))
	}
	if p.TrustedRoot != "" {
		file(p.TrustedRoot, p.rootAt, diag.TrustRootInvalid, "the trusted root", func(data []byte) (err error) {
			l.root, err = parseRoot(p.TrustedRoot, data)
			return err
		})
	}
	for i := range l.Rules {
		l.Rules[i].AnyOf = slices.Clone(l.Rules[i].AnyOf)
		for j := range l.Rules[i].AnyOf {
			l.Rules[i].AnyOf[j].load(file)
		}
	}
	return &l, faults
}

func (s *SignerRule) load(file func(string, tomledit.Place, diag.Code, string, func([]byte) error)) {
	switch {
	case s.Key != nil:
		k := *s.Key
		s.Key = &k
		file(k.File, k.at, diag.PolicyInvalid, "the public key", func(data []byte) (err error) {
			s.Key.key, err = parsePublicKey(data)
			return err
		})
	case s.X509 != nil:
		x := *s.X509
		s.X509 = &x
		file(x.Roots, x.at, diag.PolicyInvalid, "the CA file", func(data []byte) error {
			certs, err := parseCertificates(data)
			if err != nil {
				return err
			}
			s.X509.roots, s.X509.paths = x509.NewCertPool(), &sync.Map{}
			for _, c := range certs {
				s.X509.roots.AddCert(c)
			}
			return nil
		})
	}
}

// rule returns the first rule of p that matches the source, nil if none does.
// The project's own skills are exempt: they are being edited.
func (p *Policy) rule(src skill.Source) *Rule {
	if src.Kind() == skill.SourcePath {
		return nil
	}
	identity := src.Identity()
	for i := range p.Rules {
		if p.Rules[i].match.match(identity) {
			return &p.Rules[i]
		}
	}
	return nil
}

// rootFor is the root that judges under p.
func (s *Set) rootFor(p *Policy) (*trustedRoot, error) {
	if p != nil && p.root != nil {
		return p.root, nil
	}
	return s.root.get()
}

// Match returns the rule of each file that decides about src.
func (s *Set) Match(src skill.Source) []RuleRef {
	var refs []RuleRef
	for _, p := range s.policies {
		if r := p.rule(src); r != nil {
			refs = append(refs, RuleRef{File: p.File, Line: r.Line, Match: r.Match, Mode: r.Mode})
		}
	}
	return refs
}

// MinAge returns the longest min_age of the set.
func (s *Set) MinAge() time.Duration {
	var most time.Duration
	for _, p := range s.policies {
		most = max(most, p.MinAge)
	}
	return most
}

// SourceApproved reports whether a `sources` list names the repository of src:
// consent to contact it. A list's pattern without a scheme never covers http:,
// git: or file: sources.
func (s *Set) SourceApproved(src skill.Source) bool {
	return slices.ContainsFunc(s.policies, func(p *Policy) bool { return p.names(src) })
}

func (p *Policy) names(src skill.Source) bool {
	identity := src.Identity()
	plain := strings.Contains(identity, "://") && !strings.HasPrefix(identity, "https://")
	return slices.ContainsFunc(p.sources, func(g glob) bool {
		return g.match(identity) && (!plain || strings.Contains(g.text, "://"))
	})
}

// CheckSource refuses (source_not_allowed) a source that a system or user file's
// `sources` leaves out, and (trust_level_refused) one that arrives from farther
// than trust_level allows. The project's own skills always pass.
func (s *Set) CheckSource(src skill.Source) error {
	if src.Kind() == skill.SourcePath {
		return nil
	}
	for _, p := range s.policies {
		if p.TrustLevel == "local" {
			return diag.New(diag.TrustLevelRefused, "`%s` would arrive from a remote, and trust_level is `local`", quote(src.Identity())).At(p.File, 0, 0)
		}
		if p.Scope != ScopeProject && len(p.sources) > 0 && !p.names(src) {
			return diag.New(diag.SourceNotAllowed, "`%s` is not among the sources this machine allows", quote(src.Identity())).At(p.File, 0, 0).
				WithHint("allowed: %s", strings.Join(p.Sources, ", "))
		}
	}
	return nil
}

// Root describes the trusted root that judges keyless signatures under the
// policy file named, or where no file names one. The error carries
// trust_root_invalid.
func (s *Set) Root(file string) (RootInfo, error) {
	var policy *Policy
	for _, p := range s.policies {
		if p.File == file {
			policy = p
		}
	}
	root, err := s.rootFor(policy)
	if err != nil {
		return RootInfo{}, err
	}
	return root.info, nil
}

// Policies returns the set's policies, system first. They must not be changed.
func (s *Set) Policies() []*Policy { return s.policies }

// Fingerprint is a hash of everything the set was read from.
func (s *Set) Fingerprint() skill.Digest {
	b := []byte(s.root.digest)
	for _, p := range s.policies {
		b = fmt.Appendf(b, "\n%d %q %q", p.Scope, p.File, p.seal)
	}
	return skill.DigestOf(b)
}
