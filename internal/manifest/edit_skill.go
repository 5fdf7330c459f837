package manifest

import (
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Set returns data with key in [skills] demanding r, added at the end of the
// table or changed where it stands, in the form it has there. Other fields of
// the entry, such as use, stay. The result is checked to say what was asked.
func Set(data []byte, key skill.Key, r skill.Requirement) ([]byte, error) {
	e, err := newEditor(data)
	if err != nil {
		return nil, err
	}
	path := []string{"skills", string(key)}
	switch st := e.find(path...); {
	case e.fieldsAt(path) == nil:
		err = e.set(quote(Spell(r)), path...)
	case st != nil && !st.header && len(st.val.fields) == 0: // an empty inline table
		err = e.splice(st.val.start, st.val.end, quote(Spell(r)))
	default:
		err = e.setFields(path, r)
	}
	if err != nil {
		return nil, err
	}
	return e.data, e.expect(path, r)
}

// fieldsAt returns the table that stands at the path, nil if none does.
func (e *editor) fieldsAt(path []string) *value {
	at := tree(e.list)
	for _, name := range path {
		f := at.field(name)
		if f == nil {
			return nil
		}
		at = f.val
	}
	if at.kind != kindTable {
		return nil
	}
	return at
}

// setFields writes r into an entry that has the form of a table. An override of
// a form field by field keeps what the fields' lines carry beside them.
func (e *editor) setFields(path []string, r skill.Requirement) error {
	want := requirementFields(r)
	for _, name := range []string{"source", "path", "version", "ref", "digest"} {
		field := slices.Concat(path, []string{name})
		var err error
		if text := want[name]; text != "" {
			err = e.set(quote(text), field...)
		} else {
			err = e.remove(field)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// requirementFields returns the fields of the table form.
func requirementFields(r skill.Requirement) map[string]string {
	m := map[string]string{"ref": r.Ref, "digest": string(r.Digest)}
	if r.Range != "*" {
		m["version"] = r.Range
	}
	switch r.Source.Kind() {
	case 0:
	case skill.SourcePath:
		m["path"] = relative(r.Source.Path())
	default:
		m["source"] = r.Source.Spelling()
	}
	return m
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

// expect reads the entry back: an edit that says something else than it should
// is our bug and must not reach the disk.
func (e *editor) expect(path []string, r skill.Requirement) error {
	rd := &reader{file: FileName, data: e.data}
	for _, s := range rd.skills(tree(e.list), path[0]) {
		if string(s.Key) == path[1] && s.Requirement.String() == r.String() {
			return nil
		}
	}
	if len(rd.list) > 0 {
		return rd.err()
	}
	return diag.New(diag.Internal, "the edit of `%s` in %s did not take", path[1], FileName)
}

// SetUse returns data with the use of key in [skills] set ("required" or
// "optional"), or removed if use is empty. An entry that is a string becomes a
// table for it.
func SetUse(data []byte, key skill.Key, use string) ([]byte, error) {
	e, err := newEditor(data)
	if err != nil {
		return nil, err
	}
	path := []string{"skills", string(key)}
	field := append(slices.Clone(path), "use")
	st := e.find(path...)
	switch {
	case use == "":
		err = e.remove(field)
	case st != nil && !st.header && st.val.kind == kindString:
		req, parseErr := skill.ParseRequirement(st.val.text, nil)
		if parseErr != nil {
			return nil, parseErr
		}
		text := "{ "
		want := requirementFields(req)
		for _, name := range []string{"source", "path", "version", "ref", "digest"} {
			if want[name] != "" {
				text += name + " = " + quote(want[name]) + ", "
			}
		}
		err = e.splice(st.val.start, st.val.end, text+"use = "+quote(use)+" }")
	case e.fieldsAt(path) == nil:
		return nil, diag.New(diag.SkillNotFound, "%s has no skill `%s`", FileName, key)
	default:
		err = e.set(quote(use), field...)
	}
	return e.data, err
}

// Remove returns data without key in [skills], and whether it was there.
func Remove(data []byte, key skill.Key) (out []byte, found bool, err error) {
	e, err := newEditor(data)
	if err != nil {
		return nil, false, err
	}
	path := []string{"skills", string(key)}
	root := tree(e.list).field("skills")
	if root == nil || root.val.field(string(key)) == nil {
		return data, false, nil
	}
	if err := e.remove(path); err != nil {
		return nil, false, err
	}
	return e.data, true, nil
}

// remove deletes whatever defines the path or something below it, from the end
// of the file up, so that a key never loses its header first.
func (e *editor) remove(path []string) error {
	if st := e.inlineAt(path[:len(path)-1]); st != nil {
		return e.removeInline(st.val, path[len(path)-1])
	}
	for i := len(e.list) - 1; i >= 0; i-- {
		p := e.list[i].path()
		if len(p) < len(path) || !slices.Equal(p[:len(path)], path) {
			continue
		}
		if err := e.removeLines(&e.list[i]); err != nil {
			return err
		}
	}
	return nil
}
