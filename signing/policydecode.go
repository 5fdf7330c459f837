package signing

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// maxPolicyBytes bounds a policy file. A thousand rules are some 200 KiB.
const maxPolicyBytes = 1 << 20

// decoder turns a tree into a Policy and collects every fault.
type decoder struct {
	policy *Policy
	faults diag.List
}

func (d *decoder) fault(n *node, format string, args ...any) *diag.Error {
	e := diag.New(diag.PolicyInvalid, format, args...).At(d.policy.File, n.line, n.col)
	d.faults = append(d.faults, e)
	return e
}

// fields calls read for every key of the table n and refuses the others.
func (d *decoder) fields(n *node, what string, read map[string]func(*node)) {
	if n.kind != unstable.InlineTable {
		d.fault(n, "%s is a table, found %s", what, kindName(n))
		return
	}
	for _, key := range n.keys {
		v := n.child(key)
		if f, ok := read[key]; ok {
			f(v)
			continue
		}
		known := make([]string, 0, len(read))
		for k := range read {
			known = append(known, k)
		}
		slices.Sort(known)
		e := d.fault(v, "%s has no key `%s`", what, quote(key)).WithHint("known here: %s", strings.Join(known, ", "))
		e.Line, e.Column = v.key.line, v.key.col
	}
}

func kindName(n *node) string {
	switch n.kind {
	case unstable.InlineTable:
		return "a table"
	case unstable.Array:
		return "an array"
	case unstable.Integer:
		return "an integer"
	}
	return "a " + strings.ToLower(n.kind.String())
}

func (d *decoder) str(n *node, what string) string {
	switch {
	case n.kind != unstable.String:
		d.fault(n, "%s is a string, found %s", what, kindName(n))
	case strings.TrimSpace(n.text) == "":
		d.fault(n, "%s is empty", what)
	default:
		return n.text
	}
	return ""
}

// each calls f for every element of an array.
func (d *decoder) each(n *node, what string, f func(*node)) {
	if n.kind != unstable.Array {
		d.fault(n, "%s is an array, found %s", what, kindName(n))
		return
	}
	for _, item := range n.items {
		f(item)
	}
}

// oneOf reads a string with fixed values.
func (d *decoder) oneOf(n *node, what string, values ...string) string {
	s := d.str(n, what)
	if s != "" && !slices.Contains(values, s) {
		d.fault(n, "%s is one of %s, found `%s`", what, strings.Join(values, ", "), s)
		return ""
	}
	return s
}

// path reads a file name, relative to the policy's file.
func (d *decoder) path(dst *string, what string) func(*node) {
	return func(n *node) {
		s := d.str(n, what)
		if s != "" && !filepath.IsAbs(s) && !path.IsAbs(s) {
			s = filepath.Join(filepath.Dir(d.policy.File), filepath.FromSlash(s))
		}
		*dst = s
	}
}

// pattern reads a glob and reports what compile says of it.
func (d *decoder) pattern(n *node, what string, compile func(string) (glob, error)) glob {
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
func (d *decoder) time(dst *time.Time, what string, endOfDay bool) func(*node) {
	return func(n *node) {
		switch n.kind {
		case unstable.String, unstable.LocalDate, unstable.DateTime:
		default:
			d.fault(n, "%s is a day such as 2027-01-01 or an instant, found %s", what, kindName(n))
			return
		}
		if t, err := time.Parse(time.DateOnly, n.text); err == nil {
			if *dst = t; endOfDay {
				*dst = t.Add(24*time.Hour - time.Second)
			}
			return
		}
		t, err := time.Parse(time.RFC3339, n.text)
		if err != nil {
			d.fault(n, "%s is a day such as 2027-01-01 or an instant such as 2027-01-01T12:00:00Z, found `%s`", what, n.text)
		}
		*dst = t
	}
}

func (d *decoder) age(n *node) {
	if n.kind == unstable.Integer && n.text == "0" {
		return
	}
	s := d.str(n, "min_age")
	if s == "" {
		return
	}
	age, err := ParseAge(s)
	if err != nil {
		d.fault(n, "%s", err)
	}
	d.policy.MinAge = age
}

// ParseAge reads an age such as "3d", "12h", "90m" or "2w"; "0" is none.
func ParseAge(s string) (time.Duration, error) {
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

func (d *decoder) trust(n *node) {
	p := d.policy
	d.fields(n, "[trust]", map[string]func(*node){
		"sources": func(n *node) {
			d.each(n, "sources", func(n *node) {
				if g := d.pattern(n, "sources", newSourceGlob); g.text != "" {
					p.Sources = append(p.Sources, n.text)
					p.sources = append(p.sources, g)
				}
			})
		},
		"min_age":      d.age,
		"trust_level":  func(n *node) { p.TrustLevel = d.oneOf(n, "trust_level", "local", "remote") },
		"trusted_root": func(n *node) { d.path(&p.TrustedRoot, "trusted_root")(n); p.rootAt = n },
		"deny":         d.deny,
		"rules": func(n *node) {
			d.each(n, "rules", func(n *node) { p.Rules = append(p.Rules, d.rule(n)) })
		},
	})
}

func (d *decoder) deny(n *node) {
	p := d.policy
	d.fields(n, "deny", map[string]func(*node){
		"identities": func(n *node) {
			d.each(n, "deny.identities", func(n *node) {
				if g := d.pattern(n, "deny.identities", newSignerGlob); g.text != "" {
					p.Deny.Identities = append(p.Deny.Identities, g.text)
					p.denied = append(p.denied, g)
				}
			})
		},
		"keys": func(n *node) {
			d.each(n, "deny.keys", func(n *node) {
				if s := d.str(n, "deny.keys"); s != "" {
					p.Deny.Keys = append(p.Deny.Keys, s)
				}
			})
		},
		"digests": func(n *node) {
			d.each(n, "deny.digests", func(n *node) {
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

func (d *decoder) rule(n *node) Rule {
	r := Rule{Mode: ModeOptional, Line: n.line}
	signers := 0
	d.fields(n, "a rule", map[string]func(*node){
		"match": func(n *node) { r.match = d.pattern(n, "match", newSourceGlob); r.Match = n.text },
		"mode": func(n *node) {
			r.Mode = Mode(d.oneOf(n, "mode", string(ModeRequired), string(ModeOptional), string(ModeOff)))
			if r.Mode == ModeOff && d.policy.Scope == ScopeProject {
				d.fault(n, "mode `off` is for system and user files only; a project cannot switch verification off")
			}
		},
		"any_of": func(n *node) {
			d.each(n, "any_of", func(n *node) {
				signers++
				r.AnyOf = append(r.AnyOf, d.signer(n))
			})
		},
		"expiry": func(n *node) { r.EnforceExpiry = d.oneOf(n, "expiry", "enforce", "warn") == "enforce" },
		"tolerate": func(n *node) {
			d.each(n, "tolerate", func(n *node) {
				if g := d.pattern(n, "tolerate", newSignerGlob); g.text != "" {
					r.Tolerate = append(r.Tolerate, g.text)
					r.tolerate = append(r.tolerate, g)
				}
			})
		},
	})
	if n.kind == unstable.InlineTable && n.child("match") == nil {
		d.fault(n, "a rule needs `match`, a pattern over sources such as github.com/acme/skills//**")
	}
	if r.Mode == ModeRequired && signers == 0 {
		d.fault(n, "a rule with mode `required` needs `any_of`: a signature alone proves nothing without a signer to expect")
	}
	return r
}
