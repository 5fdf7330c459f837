package parse

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/skillpm/skillpm/internal/diag"
	yaml "go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// maxDepth bounds the nesting of a frontmatter. Real ones reach 8; what is
// deeper is an attack on the reader's stack.
const maxDepth = 64

// maxFrontBytes bounds the frontmatter alone: a node costs a hundred times its
// text, so the file's own limit would not bound memory.
const maxFrontBytes = 256 << 10

// decode reads the frontmatter into nodes and applies the strict rules: one
// mapping, no duplicate keys, no anchors, aliases, merge keys or tags. A nil
// node without error is an empty frontmatter.
func decode(front []byte, line int) (*yaml.Node, *diag.Error) {
	if len(front) > maxFrontBytes {
		return nil, diag.New(diag.YamlInvalid, "the frontmatter has %d bytes; the limit is %d", len(front), maxFrontBytes).At("", line, 1)
	}
	root, err := load(front)
	if err != nil {
		return nil, yamlError(err, front, line)
	}
	if root == nil || root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if err := checkNode(root, line); err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, diag.New(diag.FrontmatterNotMapping, "the frontmatter is %s; expected `key: value` lines", kindWords(root)).
			At("", root.Line+line-1, root.Column)
	}
	return root, nil
}

// load returns the root node of the one document in text, nil for none.
func load(text []byte) (*yaml.Node, error) {
	if root, ok := plainNodes(text); ok {
		return root, nil
	}
	return loadYAML(text)
}

// loadYAML is load by the YAML library.
func loadYAML(text []byte) (*yaml.Node, error) {
	if blank(text) {
		return nil, nil
	}
	var doc yaml.Node
	err := yaml.Load(text, &doc, yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// blank reports whether text holds only blank and comment lines, which YAML
// reads as no document.
func blank(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// yamlError words what the YAML reader said, with the place in the file and the
// quoted form where a plain value is at fault.
func yamlError(err error, front []byte, line int) *diag.Error {
	message, at, column := err.Error(), 0, 0
	if le, ok := errors.AsType[*yaml.LoadError](err); ok {
		message, at, column = le.Message, le.Mark.Line, le.Mark.Column
		if le.ContextMsg != "" {
			message = le.ContextMsg + ": " + message
		}
	}
	message = strings.TrimPrefix(message, "yaml: ")
	out := diag.New(diag.YamlInvalid, "not YAML: %s", message)
	if at > 0 {
		out.At("", at+line-1, column)
	}
	if strings.HasPrefix(message, "expected single document") {
		out.Message = "not one YAML document: a line that begins with `---` or `...` ends the first"
		out.At("", documentLine(front)+line-1, 1)
	}
	if n := conflictLine(front); n > 0 {
		return out.At("", n+line-1, 1).WithHint("resolve the merge first: the lines <<<<<<<, ======= and >>>>>>> are git's")
	}
	if fixed, lines := quoteValues(front); len(lines) > 0 {
		if _, err := load(fixed); err == nil {
			q := lines[0]
			out.At("", q.line+line-1, q.column)
			out.Message = "the value of `" + q.key + "` is not plain YAML text (" + q.why + ")"
			out.WithHint("quote it: %s: %s", q.key, shorten(q.quoted, 200))
			if strings.ContainsAny(q.quoted[1:2], "[{") {
				out.WithHint("close every bracket and quote in it")
			}
		}
		return out
	}
	if at > 0 && hasTabIndent(front, at) {
		out.Message = "a tab in the indentation; YAML takes blanks only"
	}
	return out
}

// checkPrintable refuses the control characters that YAML does (1.2.2, 5.1) and
// the library lets pass: a stricter reader would not load the skill.
func checkPrintable(doc document) *diag.Error {
	for i := 0; i < len(doc.front); i++ {
		if doc.front[i] != 0xc2 || i+1 == len(doc.front) {
			continue // U+0080 to U+00BF begin so
		}
		if c := rune(doc.front[i+1]); c < 0xa0 && c != 0x85 {
			before := doc.front[:i]
			start := bytes.LastIndexByte(before, '\n') + 1
			return diag.New(diag.YamlInvalid, "not YAML: the control character U+%04X", c).
				At("", doc.frontLine+bytes.Count(before, []byte("\n")), 1+utf8.RuneCount(before[start:]))
		}
	}
	return nil
}

// conflictLine returns the line of a merge conflict's first marker, 0 for none.
func conflictLine(front []byte) int {
	for i, l := range strings.Split(string(front), "\n") {
		if strings.HasPrefix(l, "<<<<<<< ") {
			return i + 1
		}
	}
	return 0
}

// documentLine returns the line of the first document marker.
func documentLine(front []byte) int {
	for i, l := range strings.Split(string(front), "\n") {
		if strings.HasPrefix(l, "---") || strings.HasPrefix(l, "...") {
			return i + 1
		}
	}
	return 1
}

func hasTabIndent(front []byte, line int) bool {
	lines := strings.Split(string(front), "\n")
	if line > len(lines) {
		return false
	}
	text := lines[line-1]
	return strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t")
}

// checkNode returns the first violation below n: duplicate keys before anchors
// and aliases before tags.
func checkNode(n *yaml.Node, line int) *diag.Error {
	if err := walk(n, func(n *yaml.Node) *diag.Error { return ruleKeys(n, line) }); err != nil {
		return err
	}
	for _, rule := range []func(*yaml.Node) *diag.Error{ruleAliases, ruleTags} {
		if err := walk(n, rule); err != nil {
			err.Line += line - 1
			return err
		}
	}
	return nil
}

// walk calls rule on n and everything below it, in the file's order. It does
// not follow aliases, so it ends.
func walk(n *yaml.Node, rule func(*yaml.Node) *diag.Error) *diag.Error {
	if err := rule(n); err != nil {
		return err
	}
	for _, c := range n.Content {
		if err := walk(c, rule); err != nil {
			return err
		}
	}
	return nil
}

func ruleKeys(n *yaml.Node, line int) *diag.Error {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind == yaml.AliasNode:
			continue // ruleAliases names it
		case key.Kind != yaml.ScalarNode:
			return diag.New(diag.YamlInvalid, "%s stands where a key is expected", kindWords(key)).At("", key.Line+line-1, key.Column).
				WithHint("quote a value that begins with { or [")
		}
		if first, ok := seen[key.Value]; ok {
			return diag.New(diag.YamlDuplicateKey, "the key `%s` stands in lines %d and %d", key.Value, first.Line+line-1, key.Line+line-1).
				At("", key.Line+line-1, key.Column)
		}
		seen[key.Value] = key
	}
	return nil
}

func ruleAliases(n *yaml.Node) *diag.Error {
	switch {
	case n.Kind == yaml.AliasNode:
		return diag.New(diag.YamlAlias, "an alias `*%s`; write the value out", n.Value).At("", n.Line, n.Column)
	case n.Anchor != "":
		return diag.New(diag.YamlAnchor, "an anchor `&%s`; readers of the specification do not take it", n.Anchor).At("", n.Line, n.Column).
			WithHint("quote a value that begins with &")
	case n.Tag == "!!merge":
		return diag.New(diag.YamlAlias, "a merge key `<<`; write the values out").At("", n.Line, n.Column)
	}
	return nil
}

func ruleTags(n *yaml.Node) *diag.Error {
	if n.Style&yaml.TaggedStyle == 0 && (n.Tag == "" || strings.HasPrefix(n.Tag, "!!")) {
		return nil
	}
	return diag.New(diag.YamlTag, "an explicit tag `%s` changes what the value is", n.Tag).At("", n.Line, n.Column).
		WithHint("quote a value that begins with !")
}

func kindWords(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!timestamp":
		return "a date"
	}
	if isPlain(n) && yaml11Bool(n.Value) {
		return "a boolean in YAML 1.1"
	}
	return "text"
}

func isPlain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// isText reports whether every YAML reader takes n as text.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!str" && !(isPlain(n) && yaml11Bool(n.Value))
}

// yaml11Bool lists the plain words that readers of YAML 1.1, such as PyYAML,
// turn into booleans (yaml.org/type/bool.html, without the single letters that
// no reader implements).
func yaml11Bool(s string) bool {
	switch strings.ToLower(s) {
	case "yes", "no", "on", "off":
		return s == strings.ToLower(s) || s == strings.ToUpper(s) || s[1:] == strings.ToLower(s[1:])
	}
	return false
}

// nodeText returns a value as text: a scalar's source text ("" for null), list
// elements joined by ", ", a mapping in flow form.
func nodeText(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		if isNull(n) {
			return ""
		}
		return n.Value
	case yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, c := range n.Content {
			parts[i] = flowText(c)
		}
		return strings.Join(parts, ", ")
	}
	return flowText(n)
}

func flowText(n *yaml.Node) string {
	parts := make([]string, 0, len(n.Content))
	switch n.Kind {
	case yaml.SequenceNode:
		for _, c := range n.Content {
			parts = append(parts, flowText(c))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+": "+flowText(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return nodeText(n)
}

// nodeData returns n as what JSON can write, every scalar as its source text.
func nodeData(n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = nodeData(c)
		}
		return list
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = nodeData(n.Content[i+1])
		}
		return m
	}
	return nodeText(n)
}

func position(n *yaml.Node, line int) Position {
	return Position{Line: n.Line + line - 1, Column: n.Column}
}

func runeCount(s string) int { return utf8.RuneCountInString(s) }
