package manifest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// SetAgents returns data with [install] agents replaced.
func SetAgents(data []byte, agents []string) ([]byte, error) {
	return setValue(data, quoteList(agents), "install", "agents")
}

// SetTargets returns data with [install] targets replaced.
func SetTargets(data []byte, targets []string) ([]byte, error) {
	return setValue(data, quoteList(targets), "install", "targets")
}

// SetInstall returns data with a string field of [install] set.
func SetInstall(data []byte, field, value string) ([]byte, error) {
	return setValue(data, quote(value), "install", field)
}

// SetRegistry returns data with name = address in [registries].
func SetRegistry(data []byte, name, address string) ([]byte, error) {
	return setValue(data, quote(address), "registries", name)
}

func setValue(data []byte, text string, path ...string) ([]byte, error) {
	e, err := newEditor(data)
	if err != nil {
		return nil, err
	}
	if err := e.set(text, path...); err != nil {
		return nil, err
	}
	return e.data, nil
}

// AddTrustSource returns data with a glob of repositories added to [trust]
// sources, unchanged if it is there already.
func AddTrustSource(data []byte, source string) ([]byte, error) {
	e, err := newEditor(data)
	if err != nil {
		return nil, err
	}
	path := []string{"trust", "sources"}
	st := e.find(path...)
	if st == nil {
		if t := e.inlineAt(path[:1]); t != nil && t.val.field("sources") != nil {
			return nil, diag.New(diag.ManifestInvalid, "`trust` is an inline table").
				At(FileName, 0, 0).WithHint("write it as [trust], so that sources can be added")
		}
		return setValue(data, quoteList([]string{source}), path...)
	}
	if st.val == nil || st.val.kind != kindArray {
		line, column := place(data, st.start)
		return nil, diag.New(diag.ManifestInvalid, "`sources` must be an array of strings").At(FileName, line, column)
	}
	if slices.ContainsFunc(st.val.items, func(v *value) bool { return v.text == source }) {
		return data, nil
	}
	if err := e.appendItem(st.val, quote(source)); err != nil {
		return nil, err
	}
	return e.data, nil
}

// appendItem adds an element to an array, on a line of its own if the last one
// has one.
func (e *editor) appendItem(array *value, text string) error {
	if len(array.items) == 0 {
		return e.splice(array.start, array.end, "["+text+"]")
	}
	last := array.items[len(array.items)-1]
	start := e.lineStart(last.start)
	indent := string(e.data[start:last.start])
	if start <= array.start || strings.TrimLeft(indent, " \t") != "" || e.lineEnd(last.end) >= array.end {
		return e.splice(last.end, last.end, ", "+text)
	}
	// The comma and a comment behind the last element stay on its line.
	comma := ","
	if bytes.HasPrefix(bytes.TrimLeft(e.data[last.end:], " \t"), []byte(",")) {
		comma = ""
	}
	end := e.lineEnd(last.end)
	rest := string(e.data[last.end:end])
	return e.splice(last.end, end, comma+rest+indent+text+","+e.eol)
}

// TrustSection returns data with everything outside [trust] blanked, line ends
// kept, so that positions in it are positions in the file; nil if there is none.
func TrustSection(data []byte) []byte {
	list, fault := scan(data)
	if fault != nil {
		return nil
	}
	out := blank(data)
	found := false
	for i := range list {
		st := &list[i]
		if st.path()[0] == "trust" {
			found = true
			copy(out[st.start:st.end], data[st.start:st.end])
		}
	}
	if !found {
		return nil
	}
	return out
}

func blank(data []byte) []byte {
	out := bytes.Repeat([]byte{' '}, len(data))
	for i, c := range data {
		if c == '\n' || c == '\r' {
			out[i] = c
		}
	}
	return out
}

// Template returns the skills.toml that `init` writes for the agents, whose ids
// are checked by the caller.
func Template(agents []string) []byte {
	var b strings.Builder
	b.WriteString("# Skills of this project: https://agentskills.io\n")
	b.WriteString("# `skillpm add owner/repo//path` writes here, `skillpm install` makes disk equal skills.lock.\n\n")
	b.WriteString("[skills]\n")
	if len(agents) > 0 {
		b.WriteString("\n[install]\nagents = " + quoteList(agents) + "\n")
	}
	return []byte(b.String())
}
