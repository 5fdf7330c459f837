package signing

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// The functions here edit a policy's text in place, so that comments and order
// stay. Each reads its result back and refuses to return anything but the policy
// that was asked for.

// AddRule appends a [[trust.rules]] table; ruleText is TOML as Inspection.Rule
// writes it. first puts it before the file's other rules, where it decides
// before them.
func AddRule(file string, data []byte, scope Scope, ruleText string, first bool) ([]byte, error) {
	before, err := ParsePolicy(file, data, scope)
	if err != nil {
		return nil, err
	}
	at := len(data)
	if first && len(before.Rules) > 0 {
		headers := ruleHeaders(data)
		if len(headers) == 0 {
			return nil, notEditable(file, before.Rules[0].Line)
		}
		at = lineStart(data, commentsAbove(data, headers[0].line))
	}
	out := slices.Concat(data[:at], separate(data[:at]), []byte(ruleText))
	if at < len(data) {
		out = append(append(out, '\n'), data[at:]...)
	}
	return checkEdit(file, out, scope, func(p *Policy) bool { return len(p.Rules) == len(before.Rules)+1 })
}

// separate is what ends the text before a new table.
func separate(before []byte) []byte {
	switch {
	case len(bytes.TrimSpace(before)) == 0:
		return nil
	case !bytes.HasSuffix(before, []byte("\n")):
		return []byte("\n\n")
	case !bytes.HasSuffix(before, []byte("\n\n")):
		return []byte("\n")
	}
	return nil
}

// RemoveRule removes the rules with this match, as written. It returns how many
// there were.
func RemoveRule(file string, data []byte, scope Scope, match string) ([]byte, int, error) {
	before, err := ParsePolicy(file, data, scope)
	if err != nil {
		return nil, 0, err
	}
	headers := ruleHeaders(data)
	out, removed := data, 0
	for i := len(before.Rules) - 1; i >= 0; i-- {
		if before.Rules[i].Match != match {
			continue
		}
		if len(headers) != len(before.Rules) {
			return nil, 0, notEditable(file, before.Rules[i].Line)
		}
		h := headers[i]
		end := len(out)
		if h.next > 0 {
			end = lineStart(data, commentsAbove(data, h.next))
		}
		out = slices.Concat(out[:lineStart(data, h.line)], out[min(end, len(out)):])
		removed++
	}
	if removed == 0 {
		return data, 0, nil
	}
	out, err = checkEdit(file, out, scope, func(p *Policy) bool { return len(p.Rules) == len(before.Rules)-removed })
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

// AddDeny adds value to a deny list; unchanged if it is there already.
func AddDeny(file string, data []byte, scope Scope, kind DenyKind, value string) ([]byte, error) {
	before, err := ParsePolicy(file, data, scope)
	if err != nil {
		return nil, err
	}
	if before.Deny.has(kind, value) {
		return data, nil
	}
	tree, err := parseTree(file, data)
	if err != nil {
		return nil, err
	}
	out, ok := insertDeny(data, tree.child("trust"), kind, tomlString(value))
	if !ok {
		return nil, notEditable(file, 0)
	}
	return checkEdit(file, out, scope, func(p *Policy) bool { return p.Deny.has(kind, value) && len(p.Rules) == len(before.Rules) })
}

// insertDeny finds the shortest text that adds the value: into the list, into
// the table that lacks it, or a new table at the end.
func insertDeny(data []byte, trust *node, kind DenyKind, value string) ([]byte, bool) {
	var deny, list *node
	if trust != nil && trust.kind == unstable.InlineTable {
		deny = trust.child("deny")
	}
	if deny != nil {
		list = deny.child(string(kind))
	}
	field := string(kind) + " = [" + value + "]"
	switch {
	case list != nil:
		at, ok := opening(data, list.key.end, '[')
		if ok && len(list.items) > 0 {
			value += ", "
		}
		return splice(data, at, value), ok
	case deny == nil:
		return slices.Concat(data, separate(data), []byte("[trust.deny]\n"+field+"\n")), true
	case deny.key.end > 0: // an inline table
		at, ok := opening(data, deny.key.end, '{')
		if len(deny.keys) > 0 {
			field += ","
		}
		return splice(data, at, " "+field), ok
	}
	return splice(data, lineStart(data, deny.line+1), field+"\n"), true // [trust.deny]
}

// opening returns the offset after "= [" or "= {" behind a key.
func opening(data []byte, from int, want byte) (int, bool) {
	rest := data[min(from, len(data)):]
	i := len(rest) - len(bytes.TrimLeft(rest, " \t"))
	if i < len(rest) && rest[i] == '=' {
		i++
		i += len(rest[i:]) - len(bytes.TrimLeft(rest[i:], " \t"))
		if i < len(rest) && rest[i] == want {
			return from + i + 1, true
		}
	}
	return 0, false
}

func splice(data []byte, at int, text string) []byte {
	return slices.Concat(data[:at], []byte(text), data[at:])
}

// checkEdit reads the edited text back.
func checkEdit(file string, out []byte, scope Scope, want func(*Policy) bool) ([]byte, error) {
	p, err := ParsePolicy(file, out, scope)
	if err != nil {
		return nil, err
	}
	if !want(p) {
		return nil, notEditable(file, 0)
	}
	return out, nil
}

func notEditable(file string, line int) error {
	return diag.New(diag.PolicyInvalid, "this file's rules are written in a form that cannot be edited here").At(file, line, 0).
		WithHint("write each rule as its own [[trust.rules]] table, or edit the file by hand")
}

// header is the line of a [[trust.rules]] table and of the table after it.
type header struct{ line, next int }

// ruleHeaders lists the rules' headers in order. Tables below a rule belong to it.
func ruleHeaders(data []byte) []header {
	var list []header
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var path []string
		line := 0
		for it := e.Key(); it.Next(); {
			if line == 0 {
				line = p.Shape(it.Node().Raw).Start.Line
			}
			path = append(path, string(it.Node().Data))
		}
		name := strings.Join(path, "\x00")
		switch {
		case strings.HasPrefix(name, "trust\x00rules\x00"):
			continue
		case len(list) > 0 && list[len(list)-1].next == 0:
			list[len(list)-1].next = line
		}
		if e.Kind == unstable.ArrayTable && name == "trust\x00rules" {
			list = append(list, header{line: line})
		}
	}
	return list
}

// lineStart returns the offset of line n, counted from 1; the end if there is none.
func lineStart(data []byte, n int) int {
	at := 0
	for ; n > 1; n-- {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return len(data)
		}
		at += i + 1
	}
	return at
}

// commentsAbove returns the first of the comment lines that stand directly above
// line n and speak of it.
func commentsAbove(data []byte, n int) int {
	for n > 1 {
		start, end := lineStart(data, n-1), lineStart(data, n)
		if !bytes.HasPrefix(bytes.TrimSpace(data[start:end]), []byte("#")) {
			break
		}
		n--
	}
	return n
}

// FormatRule writes a rule for `trust add`. signer is one entry of any_of, such
// as FormatSigner writes; empty for none.
func FormatRule(match string, mode Mode, signer string) string {
	text := fmt.Sprintf("[[trust.rules]]\nmatch = %s\nmode = \"%s\"\n", tomlString(match), mode)
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
			parts = append(parts, pair[0]+" = "+tomlString(pair[1]))
		}
	}
	return string(kind) + " = { " + strings.Join(parts, ", ") + " }"
}
