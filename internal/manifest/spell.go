package manifest

import (
	"strings"

	"github.com/skillpm/skillpm/internal/tomledit"
	"github.com/skillpm/skillpm/skill"
)

// requirementNames are the fields of the table form that say what is demanded.
var requirementNames = []string{"source", "path", "version", "ref", "digest"}

type requirementField struct{ name, text string }

// requirementFields returns the fields of the table form that are not empty, in
// the order in which they are written.
func requirementFields(r skill.Requirement) []requirementField {
	var list []requirementField
	add := func(name, text string) {
		if text != "" {
			list = append(list, requirementField{name, text})
		}
	}
	switch r.Source.Kind() {
	case 0:
	case skill.SourcePath:
		add("path", relative(r.Source.Path()))
	default:
		add("source", r.Source.Spelling())
	}
	if r.Range != "*" {
		add("version", r.Range)
	}
	add("ref", r.Ref)
	add("digest", string(r.Digest))
	return list
}

// relative spells a path so that it is seen to be one.
func relative(p string) string {
	if p == "." || p == ".." || len(p) > 0 && p[0] == '/' || len(p) > 2 && p[:3] == "../" || len(p) > 1 && p[1] == ':' {
		return p
	}
	return "./" + p
}

// Spell returns a requirement as it is written into skills.toml: as in the lock,
// but the source keeps the protocol it was spelled with, a path begins with ./,
// and a lone `*` before a source or digest is left out.
func Spell(r skill.Requirement) string {
	rest := r
	rest.Source, rest.Range = skill.Source{}, ""
	text := ""
	if r.Range != "*" || r.Source.IsZero() && r.Ref == "" && r.Digest == "" {
		text = r.Range
	}
	switch r.Source.Kind() {
	case 0:
	case skill.SourcePath:
		text = join(text, relative(r.Source.Path()))
	default:
		text = join(text, r.Source.Spelling())
	}
	if r.Ref != "" {
		text = join(text, "ref:"+r.Ref)
	}
	if r.Digest != "" {
		text = join(text, string(r.Digest))
	}
	if r.Delegate != "" {
		text = join(text, "delegate:"+r.Delegate)
	}
	return text
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

// Template returns the skills.toml that `init` writes for agents, whose ids are
// checked by the caller, and target directories.
func Template(agents, targets []string) []byte {
	var b strings.Builder
	b.WriteString("# Skills of this project: https://agentskills.io\n")
	b.WriteString("# `skillpm add owner/repo//path` writes here, `skillpm install` makes disk equal skills.lock.\n\n")
	b.WriteString("[skills]\n")
	if len(agents)+len(targets) > 0 {
		b.WriteString("\n[install]\n")
	}
	if len(agents) > 0 {
		b.WriteString("agents = " + tomledit.Strings(agents...).String() + "\n")
	}
	if len(targets) > 0 {
		b.WriteString("targets = " + tomledit.Strings(targets...).String() + "\n")
	}
	return []byte(b.String())
}
