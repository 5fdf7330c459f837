package interop

import (
	"errors"
	"strings"

	yaml "go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// parseYAML reads one YAML document strictly: no duplicate keys, anchors,
// aliases or merge keys. Scalars keep their spelling, so that 1.10 stays 1.10.
func parseYAML(f file) (*node, error) {
	if strings.TrimSpace(string(f.data)) == "" {
		return nil, f.unreadable(1, 1, "the file is empty")
	}
	var doc yaml.Node
	if err := yaml.Load(f.data, &doc, yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth)))); err != nil {
		line, column, message := 0, 0, err.Error()
		if le, ok := errors.AsType[*yaml.LoadError](err); ok {
			line, column, message = le.Mark.Line, le.Mark.Column, le.Message
		}
		return nil, f.unreadable(line, column, "not YAML: %s", strings.TrimPrefix(message, "yaml: "))
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, f.unreadable(1, 1, "the file holds no YAML document")
	}
	r := yamlReader{file: f}
	return r.value(doc.Content[0], 0)
}

type yamlReader struct {
	file  file
	nodes int
}

func (r *yamlReader) value(y *yaml.Node, depth int) (*node, error) {
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		return nil, r.file.unreadable(y.Line, y.Column, "more than %d values, or nested deeper than %d", maxNodes, maxDepth)
	}
	if y.Kind == yaml.AliasNode || y.Anchor != "" {
		return nil, r.file.unreadable(y.Line, y.Column, "an anchor or alias; write the value out")
	}
	n := &node{line: y.Line, column: y.Column}
	switch y.Kind {
	case yaml.MappingNode:
		n.shape = shapeTable
		return n, r.table(n, y, depth)
	case yaml.SequenceNode:
		n.shape = shapeList
		for _, c := range y.Content {
			v, err := r.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
		}
		return n, nil
	}
	n.text = y.Value
	switch y.Tag {
	case "!!null":
		n.shape, n.text = shapeNull, ""
	case "!!bool":
		n.shape = shapeBool
	case "!!int", "!!float":
		n.shape = shapeNumber
	default:
		n.shape = shapeText
	}
	return n, nil
}

func (r *yamlReader) table(n *node, y *yaml.Node, depth int) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return r.file.unreadable(k.Line, k.Column, "a key that is no plain word")
		}
		if seen[k.Value] {
			return r.file.unreadable(k.Line, k.Column, "the key %q stands twice", k.Value)
		}
		seen[k.Value] = true
		v, err := r.value(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		v.line, v.column = k.Line, k.Column
		n.fields = append(n.fields, field{k.Value, v})
	}
	return nil
}
