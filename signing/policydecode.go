package signing

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/tomledit"
	"github.com/skillpm/skillpm/skill"
)

// maxPolicyBytes bounds a policy file. A thousand rules are some 200 KiB.
const maxPolicyBytes = 1 << 20

// decoder turns a tree into a Policy and collects every fault.
type decoder struct {
	doc    *tomledit.Document
	policy *Policy
	faults diag.List
}

// place is where a finding about n points: into an inline table, not at its brace.
func (d *decoder) place(n *tomledit.Value) tomledit.Place {
	if n.Kind == tomledit.KindTable && n.Inline() && len(n.Fields) > 0 {
		return d.doc.Place(n.Fields[0].At)
	}
	return d.doc.Place(n.Start)
}

func (d *decoder) fault(n *tomledit.Value, format string, args ...any) *diag.Error {
	at := d.place(n)
	e := diag.New(diag.PolicyInvalid, format, args...).At(d.policy.File, at.Line, at.Column)
	d.faults = append(d.faults, e)
	return e
}

// fields calls read for every key of the table n and refuses the others.
func (d *decoder) fields(n *tomledit.Value, what string, read map[string]func(*tomledit.Value)) {
	if n.Kind != tomledit.KindTable {
		d.fault(n, "%s is a table, found %s", what, n.Kind)
		return
	}
	for _, field := range n.Fields {
		if f, ok := read[field.Name]; ok {
			f(field.Value)
			continue
		}
		known := make([]string, 0, len(read))
		for k := range read {
			known = append(known, k)
		}
		slices.Sort(known)
		e := d.fault(n, "%s has no key `%s`", what, quote(field.Name)).WithHint("known here: %s", strings.Join(known, ", "))
		at := d.doc.Place(field.At)
		e.Line, e.Column = at.Line, at.Column
	}
}

func (d *decoder) str(n *tomledit.Value, what string) string {
	switch {
	case n.Kind != tomledit.KindString:
		d.fault(n, "%s is a string, found %s", what, n.Kind)
	case strings.TrimSpace(n.Text) == "":
		d.fault(n, "%s is empty", what)
	default:
		return n.Text
	}
	return ""
}

// each calls f for every element of an array.
func (d *decoder) each(n *tomledit.Value, what string, f func(*tomledit.Value)) {
	if n.Kind != tomledit.KindArray {
		d.fault(n, "%s is an array, found %s", what, n.Kind)
		return
	}
	for _, item := range n.Items {
		f(item)
	}
}

// oneOf reads a string with fixed values.
func (d *decoder) oneOf(n *tomledit.Value, what string, values ...string) string {
	s := d.str(n, what)
	if s != "" && !slices.Contains(values, s) {
		d.fault(n, "%s is one of %s, found `%s`", what, strings.Join(values, ", "), s)
		return ""
	}
	return s
}

// path reads a file name, relative to the policy's file.
func (d *decoder) path(dst *string, what string) func(*tomledit.Value) {
	return func(n *tomledit.Value) {
		s := d.str(n, what)
		if s != "" && !filepath.IsAbs(s) && !path.IsAbs(s) {
			s = filepath.Join(filepath.Dir(d.policy.File), filepath.FromSlash(s))
		}
		*dst = s
	}
}

// pattern reads a glob and reports what compile says of it.
func (d *decoder) pattern(n *tomledit.Value, what string, compile func(string) (glob, error)) glob {
	s := d.str(n, what)
	if s == "" {
		return glob{}
	}
	g, err := compile(s)
	if err != nil {
		d.fault(n, "%s: %s", what, err)
	}
	return g
}

// time reads a day or an instant; endOfDay makes a bare day mean its last second.
func (d *decoder) time(dst *time.Time, what string, endOfDay bool) func(*tomledit.Value) {
	return func(n *tomledit.Value) {
		if n.Kind != tomledit.KindString && n.Kind != tomledit.KindTime {
			d.fault(n, "%s is a day such as 2027-01-01 or an instant, found %s", what, n.Kind)
			return
		}
		if t, err := time.Parse(time.DateOnly, n.Text); err == nil {
			if *dst = t; endOfDay {
				*dst = t.Add(24*time.Hour - time.Second)
			}
			return
		}
		t, err := time.Parse(time.RFC3339, n.Text)
		if err != nil {
			d.fault(n, "%s is a day such as 2027-01-01 or an instant such as 2027-01-01T12:00:00Z, found `%s`", what, n.Text)
		}
		*dst = t
	}
}

func (d *decoder) age(n *tomledit.Value) {
	if n.Kind == tomledit.KindInteger && n.Text == "0" {
		return
	}
	s := d.str(n, "min_age")
	if s == "" {
		return
	}
	age, err := parseAge(s)
	if err != nil {
		d.fault(n, "%s", err)
	}
	d.policy.MinAge = age
}

// parseAge reads an age such as "3d", "12h", "90m" or "2w"; "0" is none.
func parseAge(s string) (time.Duration, error) {
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if s == "0" {
		return 0, nil
	}
	if len(s) > 1 {
		n, err := strconv.ParseUint(s[:len(s)-1], 10, 16)
		if unit := units[s[len(s)-1]]; err == nil && unit != 0 {
			return time.Duration(n) * unit, nil
		}
	}
	return 0, fmt.Errorf("an age is a number and one of m, h, d, w, such as 3d; found `%s`", s)
}

func (d *decoder) trust(n *tomledit.Value) {
	p := d.policy
	d.fields(n, "[trust]", map[string]func(*tomledit.Value){
		"sources": func(n *tomledit.Value) {
			d.each(n, "sources", func(n *tomledit.Value) {
				if g := d.pattern(n, "sources", newSourceGlob); g.text != "" {
					p.Sources = append(p.Sources, n.Text)
					p.sources = append(p.sources, g)
				}
			})
		},
		"min_age":      d.age,
		"trust_level":  func(n *tomledit.Value) { p.TrustLevel = d.oneOf(n, "trust_level", "local", "remote") },
		"trusted_root": func(n *tomledit.Value) { d.path(&p.TrustedRoot, "trusted_root")(n); p.rootAt = d.place(n) },
		"deny":         d.deny,
		"rules": func(n *tomledit.Value) {
			d.each(n, "rules", func(n *tomledit.Value) { p.Rules = append(p.Rules, d.rule(n)) })
		},
	})
}

func (d *decoder) deny(n *tomledit.Value) {
	p := d.policy
	d.fields(n, "deny", map[string]func(*tomledit.Value){
		"identities": func(n *tomledit.Value) {
			d.each(n, "deny.identities", func(n *tomledit.Value) {
				if g := d.pattern(n, "deny.identities", newSignerGlob); g.text != "" {
					p.Deny.Identities = append(p.Deny.Identities, g.text)
					p.denied = append(p.denied, g)
				}
			})
		},
		"keys": func(n *tomledit.Value) {
			d.each(n, "deny.keys", func(n *tomledit.Value) {
				s := d.str(n, "deny.keys")
				if s != "" && !isKeyHash(s) {
					e := notKeyHash(s)
					d.fault(n, "deny.keys: %s", e.Message).Hint = e.Hint
				}
				if s != "" {
					p.Deny.Keys = append(p.Deny.Keys, s)
				}
			})
		},
		"digests": func(n *tomledit.Value) {
			d.each(n, "deny.digests", func(n *tomledit.Value) {
				s := d.str(n, "deny.digests")
				if s == "" {
					return
				}
				digest, err := skill.ParseDigest(s)
				if err != nil {
					d.fault(n, "deny.digests: %s", err)
				}
				p.Deny.Digests = append(p.Deny.Digests, digest)
			})
		},
	})
}

func (d *decoder) rule(n *tomledit.Value) Rule {
	r := Rule{Mode: ModeOptional, Line: d.place(n).Line}
	signers := 0
	d.fields(n, "a rule", map[string]func(*tomledit.Value){
		"match": func(n *tomledit.Value) { r.match = d.pattern(n, "match", newSourceGlob); r.Match = n.Text },
		"mode": func(n *tomledit.Value) {
			r.Mode = Mode(d.oneOf(n, "mode", string(ModeRequired), string(ModeOptional), string(ModeOff)))
			if r.Mode == ModeOff && d.policy.Scope == ScopeProject {
				d.fault(n, "mode `off` is for system and user files only; a project cannot switch verification off")
			}
		},
		"any_of": func(n *tomledit.Value) {
			d.each(n, "any_of", func(n *tomledit.Value) {
				signers++
				r.AnyOf = append(r.AnyOf, d.signer(n))
			})
		},
		"expiry": func(n *tomledit.Value) { r.EnforceExpiry = d.oneOf(n, "expiry", "enforce", "warn") == "enforce" },
		"tolerate": func(n *tomledit.Value) {
			d.each(n, "tolerate", func(n *tomledit.Value) {
				if g := d.pattern(n, "tolerate", newSignerGlob); g.text != "" {
					r.Tolerate = append(r.Tolerate, g.text)
					r.tolerate = append(r.tolerate, g)
				}
			})
		},
	})
	if n.Kind == tomledit.KindTable && n.Get("match") == nil {
		d.fault(n, "a rule needs `match`, a pattern over sources such as github.com/acme/skills//**")
	}
	if r.Mode == ModeRequired && signers == 0 {
		d.fault(n, "a rule with mode `required` needs `any_of`: a signature alone proves nothing without a signer to expect")
	}
	return r
}
