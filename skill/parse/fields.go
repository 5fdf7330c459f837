package parse

import (
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	yaml "go.yaml.in/yaml/v4"
)

// Limits of the specification, in code points after trimming.
const (
	maxDescription   = 1024
	maxCompatibility = 500
	maxMetadata      = 32 // entries that one loader keeps
)

// fieldReader judges the frontmatter's fields and fills a Skill. The rules are
// those of one table, in its order; within a field only the first that fails is
// reported, different fields are all reported.
type fieldReader struct {
	findings
	opt   fieldOptions
	line  int // of the frontmatter's first line
	skill *Skill
	// places holds where each top-level value stands.
	places map[string]Position
}

// fieldOptions is what the rules depend on besides the text.
type fieldOptions struct {
	dir          string // the directory's name, "" leaves the rule out
	local        bool   // path: and file:// requirements are allowed
	fetched      bool   // they are refused
	resolving    bool   // what resolution would refuse is of interest
	unicodeNames bool
	bytes        bool // lengths that pass in characters are noted in bytes
}

// field is one entry of a mapping.
type field struct {
	key   *yaml.Node
	value *yaml.Node
}

func fieldsOf(n *yaml.Node) []field {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	list := make([]field, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		list = append(list, field{n.Content[i], n.Content[i+1]})
	}
	return list
}

func (r *fieldReader) at(n *yaml.Node) Position { return position(n, r.line) }

// read judges every field of root, which is nil for an empty frontmatter.
func (r *fieldReader) read(root *yaml.Node) {
	byKey := map[string]field{}
	r.places = map[string]Position{}
	for _, f := range fieldsOf(root) {
		byKey[f.key.Value] = f
		r.places[f.key.Value] = r.at(f.value)
	}
	open := Position{Line: max(r.line-1, 1), Column: 1}
	r.yamlStyle(root)
	if f, ok := byKey["name"]; ok {
		r.name(f)
	} else {
		r.problem(diag.NameMissing, open, "the field `name` is missing").WithHint("the name is the directory's own name, in a-z, 0-9 and hyphens")
	}
	if f, ok := byKey["description"]; ok {
		r.description(f)
	} else {
		r.problem(diag.DescriptionMissing, open, "the field `description` is missing").WithHint("say what the skill does and when to use it; agents choose by it")
	}
	for _, rule := range []struct {
		key   string
		judge func(field)
	}{
		{"license", r.license}, {"compatibility", r.compatibility}, {"metadata", r.metadata}, {"allowed-tools", r.allowedTools},
	} {
		if f, ok := byKey[rule.key]; ok {
			rule.judge(f)
		}
	}
	for _, f := range fieldsOf(root) {
		r.unknown(f)
	}
}

// yamlStyle notes what is YAML but not read alike everywhere.
func (r *fieldReader) yamlStyle(root *yaml.Node) {
	if root == nil {
		return
	}
	var first *yaml.Node
	_ = walk(root, func(n *yaml.Node) *diag.Error {
		if first == nil && n.Style&yaml.FlowStyle != 0 {
			first = n
		}
		return nil
	})
	if first != nil {
		r.note(diag.YamlFlow, r.at(first), "%s in flow style ([…] or {…}); the reference reader does not take it", kindWords(first))
	}
}

// scalarNote notes a number, boolean or null where text is wanted.
func (r *fieldReader) scalarNote(f field) {
	switch {
	case f.value.Kind != yaml.ScalarNode || isText(f.value):
	case isNull(f.value):
		r.note(diag.ScalarNotString, r.at(f.key), "`%s` holds nothing", f.key.Value).WithHint("leave the field out")
	default:
		r.note(diag.ScalarNotString, r.at(f.value), "`%s` is read as %s, not as text", f.key.Value, kindWords(f.value)).
			WithHint("quote it: %s: %q", f.key.Value, nodeText(f.value))
	}
}

// cutNote notes a plain value that YAML ends at a comment.
func (r *fieldReader) cutNote(f field) {
	if f.value.Kind == yaml.ScalarNode && isPlain(f.value) && f.value.LineComment != "" && !isNull(f.value) {
		r.note(diag.ValueCut, r.at(f.value), "the value of `%s` ends before `%s`: a blank and # begin a comment", f.key.Value, shorten(f.value.LineComment, 40)).
			WithHint("quote the value if the rest belongs to it")
	}
}

// findMarkup returns the first <tag>, </tag> or <!…> in text, or "".
func findMarkup(text string) string {
	for at := strings.IndexByte(text, '<'); at >= 0; {
		rest := text[at+1:]
		end := strings.IndexAny(rest, "<>")
		if end > 0 && rest[end] == '>' && (rest[0] == '/' || rest[0] == '!' || rest[0]|0x20 >= 'a' && rest[0]|0x20 <= 'z') {
			return text[at : at+1+end+1]
		}
		next := strings.IndexByte(rest, '<')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return ""
}

func (r *fieldReader) description(f field) {
	text := strings.TrimSpace(nodeText(f.value))
	at := r.at(f.value)
	if f.value.Kind == yaml.ScalarNode {
		r.skill.Description = text
	}
	n := runeCount(text)
	switch {
	case f.value.Kind != yaml.ScalarNode:
		r.skill.Description = text
		r.problem(diag.DescriptionNotString, at, "the description is %s; expected text", kindWords(f.value))
		return
	case text == "":
		r.problem(diag.DescriptionEmpty, at, "the description is empty; expected 1 to %d characters", maxDescription)
		return
	case n > maxDescription:
		r.problem(diag.DescriptionTooLong, at, "the description has %d characters; at most %d are allowed", n, maxDescription)
		return
	}
	if !isPlain(f.value) && f.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		r.note(diag.YamlBlockScalar, at, "the description is a YAML block; a reader that goes line by line takes its marker for the value").
			WithHint("write it on one line, quoted")
	}
	r.scalarNote(f)
	r.cutNote(f)
	if tag := findMarkup(text); tag != "" {
		r.note(diag.DescriptionMarkup, at, "the description holds markup `%s`; one host refuses it, others put it into the prompt as it is", shorten(tag, 40))
	}
	r.bytesNote("description", text, maxDescription, at)
}

// bytesNote serves hosts that count bytes where the specification counts
// characters.
func (r *fieldReader) bytesNote(field, text string, limit int, at Position) {
	if r.opt.bytes && len(text) > limit {
		r.note(diag.LengthBytesOver, at, "the %s has %d characters but %d bytes; a host that counts bytes allows %d", field, runeCount(text), len(text), limit)
	}
}

func (r *fieldReader) license(f field) {
	if f.value.Kind != yaml.ScalarNode {
		r.skill.License = nodeText(f.value)
		r.note(diag.LicenseNotString, r.at(f.value), "the license is %s; expected text", kindWords(f.value))
		return
	}
	r.skill.License = strings.TrimSpace(nodeText(f.value))
	r.scalarNote(f)
	r.cutNote(f)
}

func (r *fieldReader) compatibility(f field) {
	text := strings.TrimSpace(nodeText(f.value))
	r.skill.Compatibility = text
	n := runeCount(text)
	switch {
	case f.value.Kind != yaml.ScalarNode:
		r.problem(diag.CompatibilityNotString, r.at(f.value), "the compatibility is %s; expected text", kindWords(f.value)).
			WithHint("write one sentence: compatibility: %q", "Needs "+shorten(text, 80))
		return
	case text == "":
		r.problem(diag.CompatibilityEmpty, r.at(f.value), "the compatibility is empty; expected 1 to %d characters", maxCompatibility).
			WithHint("leave the field out where there is nothing to say")
		return
	case n > maxCompatibility:
		r.problem(diag.CompatibilityTooLong, r.at(f.value), "the compatibility has %d characters; at most %d are allowed", n, maxCompatibility)
		return
	}
	r.scalarNote(f)
	r.cutNote(f)
	r.bytesNote("compatibility", text, maxCompatibility, r.at(f.value))
}

func (r *fieldReader) allowedTools(f field) {
	text := nodeText(f.value)
	if f.value.Kind == yaml.ScalarNode {
		text = strings.TrimSpace(text)
	}
	r.skill.AllowedTools = text
	switch {
	case f.value.Kind != yaml.ScalarNode:
		r.note(diag.AllowedToolsShape, r.at(f.value), "allowed-tools is %s; expected one string, the tools separated by blanks", kindWords(f.value)).
			WithHint("write allowed-tools: %s", shorten(strings.Join(splitTools(text), " "), 120))
	case hasOuterComma(text):
		r.note(diag.AllowedToolsShape, r.at(f.value), "allowed-tools is separated by commas; expected blanks, elsewhere a comma is read as part of a tool's name").
			WithHint("write allowed-tools: %s", shorten(strings.Join(splitTools(text), " "), 120))
	default:
		r.scalarNote(f)
	}
}

// hasOuterComma reports a comma outside parentheses: in Bash(a:*, b:*) it
// belongs to the tool's pattern.
func hasOuterComma(s string) bool { return len(splitOutside(s, false)) > 1 }

// splitTools splits at commas outside parentheses.
func splitTools(s string) []string {
	var tools []string
	for _, part := range splitOutside(s, true) {
		if part = strings.TrimSpace(part); part != "" {
			tools = append(tools, part)
		}
	}
	return tools
}

func splitOutside(s string, all bool) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		case ',':
			if depth > 0 {
				continue
			}
			parts = append(parts, s[start:i])
			start = i + 1
			if !all {
				return append(parts, s[start:])
			}
		}
	}
	return append(parts, s[start:])
}

func (r *fieldReader) unknown(f field) {
	key := f.key.Value
	for _, known := range specFields {
		if key == known {
			return
		}
	}
	r.skill.Unknown = append(r.skill.Unknown, r.pair(f))
	if key == "version" && r.skill.DeclaredVersion == "" {
		r.skill.DeclaredVersion = strings.TrimSpace(nodeText(f.value))
	}
	if client := clientFields[key]; client != "" && key != "toolhive.requires" {
		r.note(diag.FieldClientExtension, r.at(f.key), "`%s` is a field of %s, not of the specification; others ignore it, validators refuse it", key, client)
		return
	}
	e := r.note(diag.FieldUnknown, r.at(f.key), "`%s` is no field of the specification", key)
	switch near := nearestField(key); {
	case dependencyFields[key]:
		e.Message += "; skillpm never resolves it"
		e.WithHint("a skill that this one needs is declared under metadata: skillpm.requires.NAME: \"^1.2\"")
	case near != "":
		e.WithHint("did you mean `%s`", near)
	case metadataFields[key]:
		e.WithHint("put it under metadata: %s: %q", key, shorten(nodeText(f.value), 60))
	}
}

func (r *fieldReader) pair(f field) Pair {
	return Pair{Key: f.key.Value, Text: nodeText(f.value), Data: nodeData(f.value), IsString: isText(f.value), Position: r.at(f.key), Value: r.at(f.value)}
}
