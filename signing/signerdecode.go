package signing

import "github.com/pelletier/go-toml/v2/unstable"

// signer reads one entry of any_of.
func (d *decoder) signer(n *node) SignerRule {
	s := SignerRule{}
	d.fields(n, "an entry of any_of", map[string]func(*node){
		"keyless": func(n *node) { s.Keyless = d.keyless(n) },
		"key":     func(n *node) { s.Key = d.key(n) },
		"x509":    func(n *node) { s.X509 = d.x509(n) },
	})
	if n.kind == unstable.InlineTable && len(n.keys) != 1 {
		d.fault(n, "an entry of any_of is exactly one of keyless, key and x509, found %d keys", len(n.keys))
	}
	return s
}

func (d *decoder) keyless(n *node) *KeylessRule {
	r := &KeylessRule{}
	glob := func(dst *string, to *glob, what string) func(*node) {
		return func(n *node) { *to = d.pattern(n, what, newSignerGlob); *dst = to.text }
	}
	d.fields(n, "keyless", map[string]func(*node){
		"issuer":   glob(&r.Issuer, &r.issuer, "issuer"),
		"identity": glob(&r.Identity, &r.identity, "identity"),
		"identity_regexp": func(n *node) {
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
		"timestamp": func(n *node) {
			r.SignedTimestamp = d.oneOf(n, "timestamp", "required", "none") == "required"
		},
	})
	if n.kind != unstable.InlineTable {
		return r
	}
	if n.child("issuer") == nil {
		d.fault(n, "keyless needs `issuer`, such as https://token.actions.githubusercontent.com")
	}
	if (n.child("identity") == nil) == (n.child("identity_regexp") == nil) {
		d.fault(n, "keyless needs exactly one of `identity` and `identity_regexp`")
	}
	return r
}

func (d *decoder) key(n *node) *KeyRule {
	r := &KeyRule{}
	d.fields(n, "key", map[string]func(*node){
		"file":       func(n *node) { d.path(&r.File, "file")(n); r.at = n },
		"not_before": d.time(&r.NotBefore, "not_before", false),
		"not_after":  d.time(&r.NotAfter, "not_after", true),
		"log":        d.log(&r.LogRequired),
	})
	if n.kind == unstable.InlineTable && n.child("file") == nil {
		d.fault(n, "key needs `file`, a public key in PEM")
	}
	if !r.NotAfter.IsZero() && r.NotAfter.Before(r.NotBefore) {
		d.fault(n, "not_after lies before not_before: the key would never be valid")
	}
	return r
}

func (d *decoder) x509(n *node) *X509Rule {
	r := &X509Rule{}
	d.fields(n, "x509", map[string]func(*node){
		"roots":   func(n *node) { d.path(&r.Roots, "roots")(n); r.at = n },
		"subject": func(n *node) { r.subject = d.pattern(n, "subject", newGlob); r.Subject = r.subject.text },
		"log":     d.log(&r.LogRequired),
	})
	if n.kind == unstable.InlineTable && n.child("roots") == nil {
		d.fault(n, "x509 needs `roots`, a PEM file with the CA certificates to trust")
	}
	return r
}

func (d *decoder) log(dst *bool) func(*node) {
	return func(n *node) { *dst = d.oneOf(n, "log", "required", "none") == "required" }
}
