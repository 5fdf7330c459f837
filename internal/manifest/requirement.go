package manifest

import (
	"errors"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// requirement reads one entry of [skills] or [overrides] into s and reports
// whether it is without fault.
func (r *reader) requirement(s *Skill, f *field, table string) bool {
	before := len(r.list)
	switch f.val.kind {
	case kindString:
		s.Requirement = r.text(f.val, f.val.text)
	case kindTable:
		r.fields(s, f, table)
	default:
		r.wrong(f, "a string or a table")
	}
	if len(r.list) == before {
		r.sensible(s.Requirement, f.val.start)
	}
	return len(r.list) == before
}

// text reads a requirement and maps the place of its fault into the file.
func (r *reader) text(v *value, text string) skill.Requirement {
	req, err := skill.ParseRequirement(text, r.checkRange)
	if err == nil {
		return req
	}
	at := v.start
	if e, ok := errors.AsType[*skill.RequirementError](err); ok {
		at = r.inside(v, e.Offset)
	}
	r.syntax(at, err)
	return skill.Requirement{}
}

func (r *reader) syntax(at int, err error) {
	e := r.fault(diag.RequirementSyntax, at, "%s", diag.Escape(err.Error()))
	if s, ok := errors.AsType[*skill.Error](err); ok && s.Hint != "" {
		e.WithHint("%s", s.Hint)
	}
}

// inside returns the file offset of the byte at offset of a string's value.
// Escapes of a basic string take more bytes in the file than in the value.
func (r *reader) inside(v *value, offset int) int {
	raw := string(r.data[v.start:v.end])
	quotes := 1
	if strings.HasPrefix(raw, `"""`) || strings.HasPrefix(raw, "'''") {
		quotes = 3
	}
	at := quotes
	if quotes == 3 { // a line end right after the quotes is not part of the value
		at += len(raw[at:]) - len(strings.TrimPrefix(strings.TrimPrefix(raw[at:], "\r"), "\n"))
	}
	if raw[0] == '\'' {
		return v.start + min(at+offset, len(raw))
	}
	for i := 0; i < offset && at < len(raw); i++ {
		at += escapeWidth(raw[at:])
	}
	return v.start + min(at, len(raw))
}

// escapeWidth returns how many bytes the next byte of a value takes in the file.
// An escaped code point beyond ASCII takes several bytes in the value too; places
// are for people, so the common case is enough.
func escapeWidth(raw string) int {
	if raw[0] != '\\' || len(raw) < 2 {
		return 1
	}
	switch raw[1] {
	case 'x':
		return min(4, len(raw))
	case 'u':
		return min(6, len(raw))
	case 'U':
		return min(10, len(raw))
	}
	return 2
}

// fields reads the table form.
func (r *reader) fields(s *Skill, f *field, table string) {
	t, where := f.val, "`"+diag.Escape(f.name)+"`"
	names := []string{"source", "path", "version", "ref", "digest", "use", "hold"}
	if table == "overrides" {
		names = names[:5]
	}
	r.known(t, where, names...)
	if table != "overrides" {
		s.Use = r.choice(t, "use", "required", "optional")
		if hold := r.boolean(t, "hold"); hold != nil {
			s.Hold = *hold
		}
	}
	req := &s.Requirement
	if text, v := r.str(t, "source"); v != nil {
		src, err := skill.ParseSource(text)
		if err != nil {
			r.syntax(v.start+1, err)
		}
		req.Source = src
	}
	if text, v := r.str(t, "path"); v != nil {
		src, err := skill.ParseSource("path:" + text)
		switch {
		case err != nil:
			r.syntax(v.start+1, err)
		case t.field("source") != nil:
			r.fault(diag.RequirementSyntax, t.field("path").at, "`path` beside `source`; one of them is enough")
		}
		req.Source = src
	}
	req.Range = r.version(t)
	if text, v := r.str(t, "ref"); v != nil {
		if err := skill.CheckRef(text); err != nil {
			r.syntax(v.start+1, err)
		}
		if t.field("version") != nil {
			r.fault(diag.RequirementSyntax, t.field("ref").at, "`ref` beside `version`; one of them is enough")
		}
		req.Ref, req.Range = text, ""
	}
	if text, v := r.str(t, "digest"); v != nil {
		d, err := skill.ParseDigest(text)
		if err != nil {
			r.syntax(v.start+1, err)
		}
		req.Digest = d
	}
}

// version reads a range, "*" if there is none.
func (r *reader) version(t *value) string {
	text, v := r.str(t, "version")
	if v == nil {
		return "*"
	}
	before := len(r.list)
	req := r.text(v, text)
	if len(r.list) == before && (!req.Source.IsZero() || req.Ref != "" || req.Digest != "" || req.Delegate != "") {
		r.fault(diag.RequirementSyntax, v.start+1, "`version` is a range alone; source, ref and digest have fields of their own")
	}
	return req.Range
}

// sensible refuses what reads well but cannot be meant.
func (r *reader) sensible(req skill.Requirement, at int) {
	src := req.Source
	if src.Kind() == skill.SourcePath && (req.Ref != "" || req.Digest != "") {
		r.fault(diag.RequirementSyntax, at, "a path skill has neither ref nor digest: it is the directory as it stands")
	}
	if p := src.Path(); strings.HasPrefix(p, "/") || len(p) > 1 && p[1] == ':' {
		r.fault(diag.RequirementSyntax, at, "the path `%s` is that of one machine", diag.Escape(p)).
			WithHint("write it relative to %s, such as ./skills/name", FileName)
	}
	if _, password := src.Credentials(); password != "" {
		r.fault(diag.RequirementSyntax, at, "the source holds a password").
			WithHint("use a credential helper, netrc or ssh; nothing secret belongs into this file")
	}
}
