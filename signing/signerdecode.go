package signing

import "github.com/skillpm/skillpm/internal/tomledit"

// signer reads one entry of any_of.
func (d *decoder) signer(n *tomledit.Value) SignerRule {
	s := SignerRule{}
	d.fields(n, "an entry of any_of", map[string]func(*tomledit.Value){
		"keyless": func(n *tomledit.Value) { s.Keyless = d.keyless(n) },
		"key":     func(n *tomledit.Value) { s.Key = d.key(n) },
		"x509":    func(n *tomledit.Value) { s.X509 = d.x509(n) },
	})
	if n.Kind == tomledit.KindTable && n.Len() != 1 {
		d.fault(n, "an entry of any_of is exactly one of keyless, key and x509, found %d keys", n.Len())
	}
	return s
}

func (d *decoder) keyless(n *tomledit.Value) *KeylessRule {
	r := &KeylessRule{}
	glob := func(dst *string, to *glob, what string) func(*tomledit.Value) {
		return func(n *tomledit.Value) { *to = d.pattern(n, what, newSignerGlob); *dst = to.text }
	}
	d.fields(n, "keyless", map[string]func(*tomledit.Value){
		"issuer":   glob(&r.Issuer, &r.issuer, "issuer"),
		"identity": glob(&r.Identity, &r.identity, "identity"),
		"identity_regexp": func(n *tomledit.Value) {
			if r.IdentityRegexp = d.str(n, "identity_regexp"); r.IdentityRegexp == "" {
				return
			}
			var err error
			if r.regexp, err = newIdentityRegexp(r.IdentityRegexp); err != nil {
				d.fault(n, "identity_regexp: %s", err)
			}
		},
		"source_repository": glob(&r.SourceRepository, &r.repository, "source_repository"),
		"ref":               glob(&r.Ref, &r.ref, "ref"),
		"runner":            glob(&r.Runner, &r.runner, "runner"),
		"timestamp": func(n *tomledit.Value) {
			r.SignedTimestamp = d.oneOf(n, "timestamp", "required", "none") == "required"
		},
	})
	if n.Kind != tomledit.KindTable {
		return r
	}
	if n.Get("issuer") == nil {
		d.fault(n, "keyless needs `issuer`, such as https://token.actions.githubusercontent.com")
	}
	if (n.Get("identity") == nil) == (n.Get("identity_regexp") == nil) {
		d.fault(n, "keyless needs exactly one of `identity` and `identity_regexp`")
	}
	return r
}

func (d *decoder) key(n *tomledit.Value) *KeyRule {
	r := &KeyRule{}
	d.fields(n, "key", map[string]func(*tomledit.Value){
		"file":       func(n *tomledit.Value) { d.path(&r.File, "file")(n); r.at = d.place(n) },
		"not_before": d.time(&r.NotBefore, "not_before", false),
		"not_after":  d.time(&r.NotAfter, "not_after", true),
		"log":        d.log(&r.LogRequired),
	})
	if n.Kind == tomledit.KindTable && n.Get("file") == nil {
		d.fault(n, "key needs `file`, a public key in PEM")
	}
	if !r.NotAfter.IsZero() && r.NotAfter.Before(r.NotBefore) {
		d.fault(n, "not_after lies before not_before: the key would never be valid")
	}
	return r
}

func (d *decoder) x509(n *tomledit.Value) *X509Rule {
	r := &X509Rule{}
	d.fields(n, "x509", map[string]func(*tomledit.Value){
		"roots":   func(n *tomledit.Value) { d.path(&r.Roots, "roots")(n); r.at = d.place(n) },
		"subject": func(n *tomledit.Value) { r.subject = d.pattern(n, "subject", newGlob); r.Subject = r.subject.text },
		"log":     d.log(&r.LogRequired),
	})
	if n.Kind == tomledit.KindTable && n.Get("roots") == nil {
		d.fault(n, "x509 needs `roots`, a PEM file with the CA certificates to trust")
	}
	return r
}

func (d *decoder) log(dst *bool) func(*tomledit.Value) {
	return func(n *tomledit.Value) { *dst = d.oneOf(n, "log", "required", "none") == "required" }
}
