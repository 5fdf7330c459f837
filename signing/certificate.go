package signing

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/skillpm/skillpm/internal/diag"
)

// fulcio is the stages "certificate" and "certificate log" of keyless: at every
// trusted time the leaf was valid and led to a Fulcio root, and a certificate
// log of the root has promised to list it.
func (a *attempt) fulcio() *fault {
	leaf := withoutKnownExtension(a.b.leaf)
	var chains [][]*x509.Certificate
	for _, t := range a.times {
		if t.Before(leaf.NotBefore) || t.After(leaf.NotAfter) {
			return newFault(stageCertificate, diag.SignatureCertNotValidAtSigning, "signed at %s, but the certificate was valid from %s to %s",
				stamp(t), stamp(leaf.NotBefore), stamp(leaf.NotAfter))
		}
		if chains = a.root.chains(leaf, t); len(chains) == 0 {
			break
		}
	}
	if len(chains) == 0 {
		if len(a.times) > 0 {
			f := newFault(stageCertificate, diag.SignatureUntrustedRoot, "the certificate of %s was not issued by an authority that is trusted here", quote(a.b.facts.Who()))
			return a.remember(f.hint("%s", a.root.newerHint("that authority", a.now)).asAnchor())
		}
		return nil // without a time there is no chain to check; an anchor has failed already
	}
	if err := checkSCT(chains, a.root); err != nil {
		return newFault(stageSCT, diag.SignatureSctUnverified, "no trusted certificate log vouches for the certificate: %s", quote(err.Error()))
	}
	return nil
}

func checkSCT(chains [][]*x509.Certificate, r *trustedRoot) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the certificate's log promises cannot be read")
		}
	}()
	return verify.VerifySignedCertificateTimestamp(chains, 1, r)
}

// withoutKnownExtension tells crypto/x509 that Fulcio's critical subject
// alternative names of type otherName are understood (readNames reads them).
func withoutKnownExtension(cert *x509.Certificate) *x509.Certificate {
	leaf := *cert
	leaf.UnhandledCriticalExtensions = nil
	for _, oid := range cert.UnhandledCriticalExtensions {
		if !oid.Equal([]int{2, 5, 29, 17}) {
			leaf.UnhandledCriticalExtensions = append(leaf.UnhandledCriticalExtensions, oid)
		}
	}
	return &leaf
}

// x509 is log, time and certificate of a private CA.
func (a *attempt) x509() *fault {
	if a.rule.X509 != nil && a.rule.X509.LogRequired {
		if f := a.logged(a.b.key); f != nil {
			return f
		}
	} else {
		a.times = a.b.signedTimes(a.root, a.b.key)
	}
	if len(a.times) > 0 {
		for _, t := range a.times {
			if f := a.chainAt(t); f != nil {
				return f
			}
		}
		return nil
	}
	return a.chainNow()
}

// chainAt checks the chain at a trusted time.
func (a *attempt) chainAt(t time.Time) *fault {
	for _, c := range a.certificates() {
		if t.Before(c.NotBefore) || t.After(c.NotAfter) {
			return newFault(stageCertificate, diag.SignatureCertNotValidAtSigning, "signed at %s, but the certificate of `%s` is valid from %s to %s",
				stamp(t), quote(distinguished(c.Subject)), stamp(c.NotBefore), stamp(c.NotAfter))
		}
	}
	return a.chain(t)
}

// chainNow checks the chain by the clock: nothing else says when it was signed.
func (a *attempt) chainNow() *fault {
	at := a.now
	for _, c := range a.certificates() {
		a.clock.change(c.NotBefore)
		a.clock.changeAfter(c.NotAfter)
		if a.now.Before(c.NotBefore) {
			return newFault(stageCertificate, diag.SignatureCertNotYetValid, "the certificate of `%s` is valid from %s, and this is %s",
				quote(distinguished(c.Subject)), stamp(c.NotBefore), stamp(a.now)).hint("check this machine's clock")
		}
		if a.now.After(c.NotAfter) {
			f := newFault(stageCertificate, diag.SignatureCertExpired, "the certificate of `%s` ended on %s, and nothing says that the signature is older",
				quote(distinguished(c.Subject)), stamp(c.NotAfter))
			if f = a.expired(f); f != nil {
				return f
			}
			if c.NotAfter.Before(at) {
				at = c.NotAfter
			}
		}
	}
	return a.chain(at)
}

// certificates are the leaf and what the bundle gives between it and a root.
func (a *attempt) certificates() []*x509.Certificate {
	certs := []*x509.Certificate{a.b.leaf}
	for _, c := range a.b.chain {
		if !bytes.Equal(c.RawSubject, c.RawIssuer) {
			certs = append(certs, c)
		}
	}
	return certs
}

// chain builds a path from the leaf to a root of the rule. Roots in the bundle
// are the signer's own word and never count.
func (a *attempt) chain(at time.Time) *fault {
	if a.b.leaf.KeyUsage != 0 && a.b.leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return newFault(stageCertificate, diag.SignatureUntrustedRoot, "the certificate of `%s` is not for signatures", quote(a.b.facts.Subject))
	}
	if a.rule.X509 == nil {
		return a.remember(newFault(stageCertificate, diag.SignatureUntrustedRoot, "the certificate of %s leads to no CA that a rule names", quote(a.b.facts.Who())).asAnchor())
	}
	err := a.rule.X509.path(a.certificates(), at)
	if err == nil {
		return nil
	}
	top := a.certificates()
	ca := distinguished(top[len(top)-1].Issuer)
	f := newFault(stageCertificate, diag.SignatureUntrustedRoot, "`%s` was certified by CA `%s`, which is not among the rule's roots",
		quote(a.b.facts.Subject), quote(ca)).at(a.rule.X509.Roots)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown {
		f.message = "the certificate chain of `" + quote(a.b.facts.Subject) + "` does not hold: " + quote(err.Error())
		return f
	}
	return a.remember(f.hint("if that CA is to be trusted, get its certificate from its owner and add it to the file").asAnchor())
}

// path builds a path from the leaf to one of the rule's roots. Publishers sign
// hundreds of skills with one certificate, and a path costs three times what the
// signature does, so each is built once a run.
func (x *X509Rule) path(certs []*x509.Certificate, at time.Time) error {
	h := sha256.New()
	for _, c := range certs {
		h.Write(c.Raw) // DER tells its own length
	}
	key := pathKey{[sha256.Size]byte(h.Sum(nil)), at.UnixNano()}
	if known, ok := x.paths.Load(key); ok {
		return known.(pathResult).err
	}
	between := x509.NewCertPool()
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	_, err := certs[0].Verify(x509.VerifyOptions{
		Roots: x.roots, Intermediates: between, CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	x.paths.Store(key, pathResult{err})
	return err
}

// pathKey is all that a path depends on but the roots; time.Time holds too much.
type pathKey struct {
	certs [sha256.Size]byte
	at    int64
}

type pathResult struct{ err error }

// identity is the stage "identity": the names in the certificate.
func (a *attempt) identity() *fault {
	if k := a.rule.Keyless; k != nil {
		return k.identityFault(a.b)
	}
	if x := a.rule.X509; x != nil && !x.accepts(a.b.leaf) {
		return newFault(stageIdentity, diag.SignatureIdentityMismatch, "signed by `%s`, the rule expects `%s`", quote(a.b.facts.Subject), quote(x.Subject))
	}
	return nil
}

func (x *X509Rule) accepts(leaf *x509.Certificate) bool {
	return x.Subject == "" || x.subject.match(distinguished(leaf.Subject)) || x.subject.match(leaf.Subject.String())
}

func (k *KeylessRule) identityFault(b *bundle) *fault {
	if !k.issuer.match(b.facts.Issuer) {
		return newFault(stageIdentity, diag.SignatureIssuerMismatch, "the identity was vouched for by `%s`, the rule expects `%s`", quote(b.facts.Issuer), quote(k.Issuer))
	}
	if k.regexp != nil && !k.regexp.MatchString(b.facts.Identity) || k.regexp == nil && !k.identity.match(b.facts.Identity) {
		return newFault(stageIdentity, diag.SignatureIdentityMismatch, "signed by `%s`, the rule expects `%s`", quote(b.facts.Identity), quote(k.Identity+k.IdentityRegexp))
	}
	ext := b.fulcio.Extensions
	for _, want := range []struct {
		name, pattern string
		glob          glob
		values        []string
	}{
		{"source_repository", k.SourceRepository, k.repository, sourceRepository(ext)},
		{"ref", k.Ref, k.ref, []string{ext.SourceRepositoryRef, ext.GithubWorkflowRef}},
		{"runner", k.Runner, k.runner, []string{ext.RunnerEnvironment}},
	} {
		value := firstNonEmpty(want.values)
		if want.pattern != "" && !want.glob.match(value) {
			return newFault(stageIdentity, diag.SignatureExtensionMismatch, "the certificate says %s `%s`, the rule expects `%s`", want.name, quote(value), quote(want.pattern))
		}
	}
	return nil
}

// sourceRepository prefers the present extension; the older one holds owner/name.
func sourceRepository(ext certificate.Extensions) []string {
	old := ext.GithubWorkflowRepository
	if old != "" {
		old = "https://github.com/" + old
	}
	return []string{ext.SourceRepositoryURI, old}
}

func firstNonEmpty(values []string) string {
	if i := slices.IndexFunc(values, func(s string) bool { return s != "" }); i >= 0 {
		return values[i]
	}
	return ""
}
