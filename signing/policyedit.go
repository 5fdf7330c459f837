package signing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/tomledit"
	"github.com/skillpm/skillpm/skill"
)

// The functions here edit a policy's text in place (package tomledit). Each reads
// its result back and refuses to return anything but the policy that was asked
// for.

// rulesPath is where the rules stand in a file.
var rulesPath = []string{"trust", "rules"}

// AddRule adds a [[trust.rules]] table; ruleText is TOML as Inspection.Rule
// writes it. first puts it before the file's other rules, where it decides
// before them, else it goes to the end of the file.
func AddRule(file string, data []byte, scope Scope, ruleText string, first bool) ([]byte, error) {
	before, err := ParsePolicy(file, data, scope)
	if err != nil {
		return nil, err
	}
	return edit(file, data, scope,
		func(doc *tomledit.Document) error { return doc.InsertTable(ruleText, first) },
		func(p *Policy) bool { return len(p.Rules) == len(before.Rules)+1 })
}

// RemoveRule removes the rules with this match, as written, and the comments that
// belong to them. It returns how many there were.
func RemoveRule(file string, data []byte, scope Scope, match string) ([]byte, int, error) {
	before, err := ParsePolicy(file, data, scope)
	if err != nil {
		return nil, 0, err
	}
	if !slices.ContainsFunc(before.Rules, func(r Rule) bool { return r.Match == match }) {
		return data, 0, nil
	}
	removed := 0
	out, err := edit(file, data, scope,
		func(doc *tomledit.Document) error {
			removed = doc.RemoveItems(func(rule *tomledit.Value) bool {
				v := rule.Get("match")
				return v != nil && v.Text == match
			}, rulesPath...)
			return nil
		},
		func(p *Policy) bool { return len(p.Rules) == len(before.Rules)-removed })
	return out, removed, err
}

// DenyKind is a list of [trust] deny.
type DenyKind string

// The lists.
const (
	DenyIdentity DenyKind = "identities"
	DenyKey      DenyKind = "keys"
	DenyDigest   DenyKind = "digests"
)

func (d Deny) has(kind DenyKind, value string) bool {
	switch kind {
	case DenyIdentity:
		return slices.Contains(d.Identities, value)
	case DenyKey:
		return slices.Contains(d.Keys, value)
	}
	return slices.ContainsFunc(d.Digests, func(x skill.Digest) bool { return string(x) == value })
}

// AddDeny adds value to a deny list; unchanged if it is there already. What could
// never match is policy_invalid.
func AddDeny(file string, data []byte, scope Scope, kind DenyKind, value string) ([]byte, error) {
	if kind == DenyKey && !isKeyHash(value) {
		return nil, notKeyHash(value)
	}
	before, err := ParsePolicy(file, data, scope)
	if err != nil {
		return nil, err
	}
	if before.Deny.has(kind, value) {
		return data, nil
	}
	return edit(file, data, scope,
		func(doc *tomledit.Document) error {
			return doc.Append(tomledit.String(value), "trust", "deny", string(kind))
		},
		func(p *Policy) bool { return p.Deny.has(kind, value) && len(p.Rules) == len(before.Rules) })
}

// edit changes a policy's text, reads the result back and checks it.
func edit(file string, data []byte, scope Scope, change func(*tomledit.Document) error, want func(*Policy) bool) ([]byte, error) {
	doc, err := parseTOML(file, data)
	if err != nil {
		return nil, err
	}
	if err := change(doc); err != nil {
		e, _ := errors.AsType[*tomledit.FormError](err)
		if e == nil { // the text of a rule, which has no place in the file
			return nil, diag.New(diag.PolicyInvalid, "%s", err).At(file, 0, 0)
		}
		return nil, notEditable(file, e.Line)
	}
	if doc, err = doc.Apply(); err != nil {
		return nil, notEditable(file, 0).WithCause(err)
	}
	p, err := ParsePolicy(file, doc.Bytes(), scope)
	if err != nil {
		return nil, err
	}
	if !want(p) {
		return nil, notEditable(file, 0)
	}
	return doc.Bytes(), nil
}

func notEditable(file string, line int) *diag.Error {
	return diag.New(diag.PolicyInvalid, "this file's rules are written in a form that cannot be edited here").At(file, line, 0).
		WithHint("write each rule as its own [[trust.rules]] table, or edit the file by hand")
}

// FormatRule writes a rule for `trust add`. signer is one entry of any_of, such
// as FormatSigner writes; empty for none.
func FormatRule(match string, mode Mode, signer string) string {
	text := fmt.Sprintf("[[trust.rules]]\nmatch = %s\nmode = \"%s\"\n", tomledit.Quote(match), mode)
	if signer != "" {
		text += "any_of = [ { " + signer + " } ]\n"
	}
	return text
}

// FormatSigner writes one entry of any_of from pairs of field and value; pairs
// without a value are left out.
func FormatSigner(kind Kind, fields ...string) string {
	var parts []string
	for pair := range slices.Chunk(fields, 2) {
		if len(pair) == 2 && pair[1] != "" {
			parts = append(parts, pair[0]+" = "+tomledit.Quote(pair[1]))
		}
	}
	return string(kind) + " = { " + strings.Join(parts, ", ") + " }"
}
