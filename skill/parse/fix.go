package parse

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	yaml "go.yaml.in/yaml/v4"
)

// Fix is what `validate --fix` would do to one skill. It is computed, not done:
// this package writes nothing.
type Fix struct {
	// Dir is the skill's absolute directory, Label the skill as the user named it.
	Dir, Label string
	// From and To are the skill file's name before and after.
	From, To string
	// Before and After are the file's whole text; equal where only the name
	// changes.
	Before, After []byte
	// What says in words what each edit does, in the file's order.
	What []string

	edits []edit
}

// edit replaces lines[at : at+drop] of the file by with.
type edit struct {
	at, drop int // from 0
	with     []string
	what     string
}

// Fixes returns what can be repaired without guessing, with the report before
// it: a plain value that is not YAML text is quoted, the skill file is renamed
// to SKILL.md, a chain list becomes the comma string that every reader takes.
// Every fix was read back: nothing else in the frontmatter changes its meaning.
func Fixes(ctx context.Context, paths []string, opt ValidateOptions) ([]Fix, *Report, error) {
	v, err := validateAll(ctx, paths, opt)
	if err != nil {
		return nil, nil, err
	}
	var fixes []Fix
	for _, s := range v.skills {
		if f, ok := s.fix(); ok {
			fixes = append(fixes, f)
		}
	}
	slices.SortFunc(fixes, func(a, b Fix) int { return strings.Compare(a.Label, b.Label) })
	return fixes, v.report(), nil
}

// fix returns the repair of one skill, if there is anything to repair.
func (r *skillChecker) fix() (Fix, bool) {
	if r.fault != nil || r.fileName == "" || r.fileIsLink() {
		return Fix{}, false
	}
	root, err := r.openRoot()
	if err != nil {
		return Fix{}, false
	}
	defer r.close()
	data, err := readBounded(root, r.fileName)
	if err != nil {
		return Fix{}, false
	}
	f := Fix{Dir: r.dir, Label: r.label, From: r.fileName, To: FileName, Before: data, After: data}
	if f.From != f.To {
		f.What = append(f.What, fmt.Sprintf("rename %s to %s", f.From, f.To))
	}
	f.edits = fixText(data)
	f.After = applyEdits(data, f.edits)
	for _, e := range f.edits {
		f.What = append(f.What, e.what)
	}
	return f, len(f.What) > 0
}

// fileIsLink reports a skill file that is a link: writing would replace it, or
// change what others share.
func (r *skillChecker) fileIsLink() bool {
	return slices.ContainsFunc(r.tree.files, func(f entry) bool { return f.path == r.fileName && f.link != "" })
}

// fixText returns the edits that make data better, empty where there are none
// or where reading them back shows another meaning.
func fixText(data []byte) []edit {
	doc, err := splitStrict(data)
	if err != nil {
		return nil
	}
	var edits []edit
	text := data
	if _, err := decode(doc.front, doc.frontLine); err != nil {
		if err.Code != diag.YamlInvalid {
			return nil
		}
		edits = quoteEdits(doc)
		text = applyEdits(data, edits)
		if len(edits) == 0 || !readable(text) {
			return nil
		}
		return edits // one kind of edit a run: line numbers have moved
	}
	edits = styleEdits(data, doc)
	if !sameMeaning(data, applyEdits(data, edits)) {
		return nil
	}
	return edits
}

func readable(data []byte) bool {
	doc, err := splitStrict(data)
	if err != nil {
		return false
	}
	_, err = decode(doc.front, doc.frontLine)
	return err == nil
}

// quoteEdits puts the plain values that break the YAML in quotes.
func quoteEdits(doc document) []edit {
	fixed, values := repair(doc.front)
	if values == nil {
		return nil
	}
	lines := strings.Split(string(fixed), "\n")
	var edits []edit
	for _, v := range values {
		edits = append(edits, edit{
			at: doc.frontLine - 1 + v.line - 1, drop: v.end - v.line + 1,
			with: []string{lines[v.line-1]}, what: "quote the value of " + v.key,
		})
	}
	return edits
}

// styleEdits quotes scalars that are no text to a YAML reader, and writes a
// chain list as a string.
func styleEdits(data []byte, doc document) []edit {
	root, err := decode(doc.front, doc.frontLine)
	if err != nil {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	var edits []edit
	for _, f := range fieldsOf(root) {
		switch f.key.Value {
		case "name", "description", "license", "compatibility", "allowed-tools":
			edits = appendQuote(edits, lines, doc, f, f.key.Value)
		case "metadata":
			for _, m := range fieldsOf(f.value) {
				if m.key.Value == "chain" && m.value.Kind == yaml.SequenceNode {
					edits = appendChain(edits, lines, doc, m)
					continue
				}
				edits = appendQuote(edits, lines, doc, m, "metadata."+m.key.Value)
			}
		}
	}
	return edits
}

func appendQuote(edits []edit, lines []string, doc document, f field, name string) []edit {
	n := f.value
	if n.Kind != yaml.ScalarNode || isText(n) || n.Value == "" || isNull(n) {
		return edits
	}
	at := doc.frontLine - 1 + n.Line - 1
	before, after, ok := cutAtColumn(lines[at], n.Column)
	if !ok || !strings.HasPrefix(after, n.Value) {
		return edits
	}
	line := before + `"` + n.Value + `"` + after[len(n.Value):]
	return append(edits, edit{at: at, drop: 1, with: []string{strings.TrimSuffix(line, "\r")}, what: "quote the value of " + name})
}

// cutAtColumn cuts a line before the character at column, from 1.
func cutAtColumn(line string, column int) (before, after string, ok bool) {
	for i := range line {
		if column--; column == 0 {
			return line[:i], line[i:], true
		}
	}
	return "", "", false
}

// appendChain writes a chain list as one string. A list with comments in it is
// left alone.
func appendChain(edits []edit, lines []string, doc document, f field) []edit {
	first, last := f.key.Line, f.key.Line
	for _, c := range f.value.Content {
		if c.Kind != yaml.ScalarNode || !isPlain(c) && strings.Contains(c.Value, ",") {
			return edits
		}
		last = max(last, c.Line)
	}
	from, to := doc.frontLine-1+first-1, doc.frontLine-1+last
	for _, l := range lines[from:to] {
		if strings.Contains(l, "#") {
			return edits
		}
	}
	before, _, ok := cutAtColumn(lines[from], f.key.Column)
	if !ok || strings.TrimSpace(before) != "" {
		return edits
	}
	line := before + `chain: "` + nodeText(f.value) + `"`
	return append(edits, edit{at: from, drop: to - from, with: []string{line}, what: "write the chain as one string"})
}

// applyEdits returns data with the edits made. Other bytes, line ends among
// them, stay as they are.
func applyEdits(data []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return data
	}
	lines := strings.Split(string(data), "\n")
	var out []string
	at := 0
	for _, e := range edits {
		out = append(out, lines[at:e.at]...)
		for _, l := range e.with {
			if strings.HasSuffix(lines[e.at], "\r") {
				l += "\r"
			}
			out = append(out, l)
		}
		at = e.at + e.drop
	}
	return []byte(strings.Join(append(out, lines[at:]...), "\n"))
}

// sameMeaning reports whether both texts declare the same, style apart.
func sameMeaning(a, b []byte) bool {
	x, _ := Read(a, Options{Local: true})
	y, _ := Read(b, Options{Local: true})
	if x == nil || y == nil || !bytes.Equal(a[x.BodyOffset:], b[y.BodyOffset:]) {
		return false
	}
	if x.Name != y.Name || x.Description != y.Description || x.License != y.License ||
		x.Compatibility != y.Compatibility || x.AllowedTools != y.AllowedTools || len(x.Metadata) != len(y.Metadata) {
		return false
	}
	for i := range x.Metadata {
		if x.Metadata[i].Key != y.Metadata[i].Key || x.Metadata[i].Text != y.Metadata[i].Text {
			return false
		}
	}
	return slices.EqualFunc(x.Unknown, y.Unknown, func(p, q Pair) bool { return p.Key == q.Key && p.Text == q.Text })
}

// contextLines are shown around each change of a diff.
const contextLines = 2

// Diff shows the fix as a unified diff.
func (f *Fix) Diff() string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", path.Join(f.Label, f.From), path.Join(f.Label, f.To))
	lines := strings.Split(string(f.Before), "\n")
	shift := 0
	for rest := f.edits; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].at-rest[n-1].at-rest[n-1].drop <= 2*contextLines {
			n++
		}
		shift += writeHunk(&b, lines, rest[:n], shift)
		rest = rest[n:]
	}
	return b.String()
}

// writeHunk writes edits that lie close together. It returns by how many lines
// they make the file longer.
func writeHunk(b *strings.Builder, lines []string, edits []edit, shift int) (added int) {
	last := edits[len(edits)-1]
	from, to := max(edits[0].at-contextLines, 0), min(last.at+last.drop+contextLines, len(lines))
	for _, e := range edits {
		added += len(e.with) - e.drop
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", from+1, to-from, from+1+shift, to-from+added)
	at := from
	for _, e := range edits {
		writeLines(b, " ", lines[at:e.at])
		writeLines(b, "-", lines[e.at:e.at+e.drop])
		writeLines(b, "+", e.with)
		at = e.at + e.drop
	}
	writeLines(b, " ", lines[at:to])
	return added
}

func writeLines(b *strings.Builder, mark string, lines []string) {
	for _, l := range lines {
		b.WriteString(mark + diag.Escape(strings.TrimSuffix(l, "\r")) + "\n")
	}
}
