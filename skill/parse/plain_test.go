package parse

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v4"
)

// seen is what the rules look at in a node.
type seen struct {
	Kind         yaml.Kind
	Style        yaml.Style
	Tag, Value   string
	Anchor       string
	Comment      string
	Line, Column int
	Content      []seen
}

func see(n *yaml.Node) seen {
	s := seen{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value, Anchor: n.Anchor, Comment: n.LineComment, Line: n.Line, Column: n.Column}
	for _, c := range n.Content {
		s.Content = append(s.Content, see(c))
	}
	return s
}

func FuzzPlainNodes(f *testing.F) {
	for _, text := range []string{
		"name: a\ndescription: b c\n", "a: \"x\"\nb: 'y'\n", "metadata:\n  a: \"1\"\n  b: c\n\nname: x", "a: b\n  c\n", "a:\nb: c", "a:\n", "a: x:\n",
		"a: x: y\n", "a: \"x\" y\n", "a: true\n", "true: a\n", "a:b\n", "a:  b  \n", "m:\n  a: b\n   c: d\n", "m:\n  a:\n    b: c\n", "a: é: b", "a: 'it''s'\n",
		"a: b\na: c\n", " a: b\n", "a: http://x\n", "a: x\u2028y\n", "a: \"\"\n", "y: n\n", "a: [b]\n", "a: b\n\n\nc: d\n\n", "a: ü\n", "a: b\r\n", "a-: b\n", "a.: b",
		"a: C# b\n", "a: b #c\n", "a: 'b # c'\n", "a: \"b # c\"\n", "a: 'x'''\n", "a: '''x'\n", "a: ''''\n", "a: 'x'' 'y'\n",
		"a: \u00a0x\u00a0\n", "a: \uff01\n", "a: x\u0085y\n", "a: ''\n", "a: x \u00a0\n",
	} {
		f.Add([]byte(text))
	}
	files, _ := filepath.Glob("testdata/validate/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for part := range bytes.SplitSeq(data, []byte("---\n")) {
			f.Add(part)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxFrontBytes || checkText(text) != nil {
			t.Skip() // the caller refuses it before
		}
		quick, ok := plainNodes(text)
		if !ok {
			return
		}
		full, err := loadYAML(text)
		if err != nil || full == nil {
			t.Fatalf("%q: read without the library, which says %v", text, err)
		}
		if diff := cmp.Diff(see(full), see(quick)); diff != "" {
			t.Fatalf("%q: nodes differ (-library +quick):\n%s", text, diff)
		}
	})
}
