package manifest

import (
	"errors"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/tomledit"
	"github.com/skillpm/skillpm/skill"
)

// Edit changes a skills.toml in memory. Any number of changes cost one reading,
// one writing, and for each what it touches; Bytes ends them. An Edit may be used
// by one goroutine at a time.
type Edit struct {
	doc     *tomledit.Document
	want    map[skill.Key]string // what entries must say in the end, "" if they are removed
	changed bool
}

// NewEdit begins an edit of a manifest's text. The error is manifest_invalid if
// that is not TOML.
func NewEdit(data []byte) (*Edit, error) {
	doc, err := tomledit.Parse(data)
	if err != nil {
		return nil, editFault(err)
	}
	return &Edit{doc: doc, want: map[skill.Key]string{}}, nil
}

// editFault gives an error of tomledit its code and place.
func editFault(err error) error {
	if e, ok := errors.AsType[*tomledit.SyntaxError](err); ok {
		return diag.New(diag.ManifestInvalid, "%s", diag.Escape(e.Message)).At(FileName, e.Line, e.Column)
	}
	if e, ok := errors.AsType[*tomledit.FormError](err); ok {
		return diag.New(diag.ManifestInvalid, "%s", diag.Escape(e.Message)).At(FileName, e.Line, e.Column)
	}
	return diag.New(diag.Internal, "%s: %s", FileName, err)
}

// Bytes returns the edited text. It reads it back: an edit that says something
// else than it should is our bug and must not reach the disk.
func (e *Edit) Bytes() ([]byte, error) {
	if !e.changed {
		return e.doc.Bytes(), nil
	}
	doc, err := e.doc.Apply()
	if err != nil {
		return nil, editFault(err)
	}
	r := &reader{file: FileName, doc: doc}
	have := map[skill.Key]string{}
	for _, s := range r.skills(doc.Root(), "skills") {
		have[s.Key] = s.Requirement.String()
	}
	for key, want := range e.want {
		if have[key] == want {
			continue
		}
		if len(r.list) > 0 {
			return nil, r.err()
		}
		return nil, diag.New(diag.Internal, "the edited manifest has `%s` for `%s`, not `%s`", have[key], key, want)
	}
	e.doc, e.changed = doc, false
	return doc.Bytes(), nil
}

func (e *Edit) set(v *tomledit.Value, path ...string) error {
	e.changed = true
	if err := e.doc.Set(v, path...); err != nil {
		return editFault(err)
	}
	return nil
}

func (e *Edit) remove(path ...string) bool {
	e.changed = true
	return e.doc.Remove(path...)
}

// Set makes key in [skills] demand r: where it stands and in the form it has
// there, else at the end of the table. Other fields of the entry, such as use
// and hold, stay.
func (e *Edit) Set(key skill.Key, r skill.Requirement) error {
	e.want[key] = r.String()
	path := []string{"skills", string(key)}
	at := e.doc.Root().Get(path...)
	if at == nil || at.Kind != tomledit.KindTable || at.Inline() && at.Len() == 0 {
		return e.set(tomledit.String(Spell(r)), path...)
	}
	text := map[string]string{}
	for _, f := range requirementFields(r) {
		text[f.name] = f.text
	}
	for _, name := range requirementNames {
		field := append(slices.Clone(path), name)
		if text[name] == "" {
			e.remove(field...)
		} else if err := e.set(tomledit.String(text[name]), field...); err != nil {
			return err
		}
	}
	return nil
}

// Remove takes key out of [skills], with the comments that belong to it, and
// reports whether it was there.
func (e *Edit) Remove(key skill.Key) bool {
	found := e.remove("skills", string(key))
	if found {
		e.want[key] = ""
	}
	return found
}

// SetUse sets the use of key in [skills], "required" or "optional"; an empty use
// removes it. An entry that is a string becomes an inline table for it.
func (e *Edit) SetUse(key skill.Key, use string) error {
	if use == "" {
		return e.setField(key, "use", nil)
	}
	return e.setField(key, "use", tomledit.String(use))
}

// setField sets a field beside the requirement; nil removes it.
func (e *Edit) setField(key skill.Key, name string, v *tomledit.Value) error {
	path := []string{"skills", string(key)}
	at := e.doc.Root().Get(path...)
	switch {
	case at == nil:
		return diag.New(diag.SkillNotFound, "%s has no skill `%s`", FileName, key)
	case v == nil:
		e.remove(append(path, name)...)
		return nil
	case at.Kind != tomledit.KindString:
		return e.set(v, append(path, name)...)
	}
	r, err := skill.ParseRequirement(at.Text, nil)
	if err != nil {
		return err
	}
	var pairs []tomledit.Pair
	for _, f := range requirementFields(r) {
		pairs = append(pairs, tomledit.Pair{Key: f.name, Value: tomledit.String(f.text)})
	}
	return e.set(tomledit.Inline(append(pairs, tomledit.Pair{Key: name, Value: v})...), path...)
}

// SetAgents replaces [install] agents.
func (e *Edit) SetAgents(agents []string) error { return e.setList(agents, "install", "agents") }

// SetTargets replaces [install] targets.
func (e *Edit) SetTargets(targets []string) error { return e.setList(targets, "install", "targets") }

func (e *Edit) setList(list []string, path ...string) error {
	e.changed = true
	if err := e.doc.SetStrings(list, path...); err != nil {
		return editFault(err)
	}
	return nil
}

// AddTrustSource adds a glob of repositories to [trust] sources if it is not
// there already.
func (e *Edit) AddTrustSource(source string) error {
	path := []string{"trust", "sources"}
	if at := e.doc.Root().Get(path...); at != nil {
		if at.Kind != tomledit.KindArray {
			p := e.doc.Place(at.Start)
			return diag.New(diag.ManifestInvalid, "`sources` must be an array of strings").At(FileName, p.Line, p.Column)
		}
		if slices.ContainsFunc(at.Items, func(v *tomledit.Value) bool { return v.Text == source }) {
			return nil
		}
	}
	e.changed = true
	if err := e.doc.Append(tomledit.String(source), path...); err != nil {
		return editFault(err)
	}
	return nil
}

// TrustSection returns data with everything outside [trust] blanked, line ends
// kept, so that positions in it are positions in the file; nil if there is none.
func TrustSection(data []byte) []byte { return tomledit.Section(data, "trust") }
