package lockfile

import (
	"fmt"
	"strconv"

	"github.com/skillpm/skillpm/skill"
)

// object takes the known fields out of a JSON object one by one; rest returns
// what nobody took. Every method reports faults to the decoder and returns the
// zero value then.
type object struct {
	d    *decoder
	n    *node
	what string // for messages
}

func (d *decoder) object(n *node, what string) *object {
	if n.kind != kindObject {
		d.fault(n.at, "%s must be an object, found %s", what, article(n.kind))
		return nil
	}
	return &object{d: d, n: n, what: what}
}

func article(k kind) string {
	switch k {
	case kindNull:
		return "null"
	case kindObject, kindArray:
		return "an " + string(k)
	}
	return "a " + string(k)
}

func (o *object) take(name string) *field {
	for i := range o.n.fields {
		if o.n.fields[i].name == name {
			o.n.fields[i].taken = true
			return &o.n.fields[i]
		}
	}
	return nil
}

// at returns the place of a field, or of the object if it has none.
func (o *object) at(name string) int {
	for i := range o.n.fields {
		if o.n.fields[i].name == name {
			return o.n.fields[i].value.at
		}
	}
	return o.n.at
}

// value takes a field of the wanted kind; nil if it is absent or of another.
func (o *object) value(name string, want kind, required bool) *node {
	f := o.take(name)
	switch {
	case f == nil && required:
		o.d.fault(o.n.at, "`%s` is missing in %s", name, o.what)
	case f == nil:
	case f.value.kind != want:
		o.d.fault(f.value.at, "`%s` must be %s, found %s", name, article(want), article(f.value.kind))
	default:
		return f.value
	}
	return nil
}

func (o *object) child(name string, required bool) *object {
	if n := o.value(name, kindObject, required); n != nil {
		return o.d.object(n, "`"+name+"`")
	}
	return nil
}

// str takes a string; check may be nil and is asked only about one that is not
// empty. An empty string is as good as none.
func (o *object) str(name string, required bool, check func(string) error) string {
	n := o.value(name, kindString, required)
	if n == nil {
		return ""
	}
	if n.text == "" && required {
		o.d.fault(n.at, "`%s` is empty", name)
		return ""
	}
	o.check(n, name, check)
	return n.text
}

func (o *object) check(n *node, name string, check func(string) error) {
	if check == nil || n.text == "" {
		return
	}
	err := check(n.text)
	if err == nil {
		return
	}
	if skill.CodeOf(err) == "target_unsafe" {
		o.d.add(n.at, &skill.Error{Code: "target_unsafe", Message: err.Error()})
		return
	}
	o.d.fault(n.at, "`%s`: %s", name, err.Error())
}

func (o *object) strings(name string, required bool, check func(string) error) []string {
	n := o.value(name, kindArray, required)
	if n == nil {
		return nil
	}
	var list []string
	for _, item := range n.items {
		if item.kind != kindString || item.text == "" {
			o.d.fault(item.at, "`%s` holds strings that are not empty, found %s", name, article(item.kind))
			continue
		}
		o.check(item, name, check)
		list = append(list, item.text)
	}
	return list
}

// number takes an integer that is not negative.
func (o *object) number(name string, required bool) int64 {
	n := o.value(name, kindNumber, required)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v < 0 {
		o.d.fault(n.at, "`%s` must be a whole number from 0, found %s", name, n.text)
		return 0
	}
	return v
}

func (o *object) boolean(name string) bool {
	n := o.value(name, kindBool, true)
	return n != nil && n.text == "true"
}

// requirements takes a map of keys to requirements, nil if it is absent.
func (o *object) requirements(name string, required bool) map[string]string {
	n := o.value(name, kindObject, required)
	if n == nil {
		return nil
	}
	m := make(map[string]string, len(n.fields))
	for _, f := range n.fields {
		if _, err := skill.ParseKey(f.name); err != nil {
			o.d.fault(f.at, "%s", err.Error())
		}
		if f.value.kind != kindString {
			o.d.fault(f.value.at, "the requirement `%s` must be a string, found %s", f.name, article(f.value.kind))
			continue
		}
		if _, err := skill.ParseRequirement(f.value.text, nil); err != nil {
			o.d.fault(f.value.at, "the requirement `%s`: %s", f.name, err.Error())
		}
		m[f.name] = f.value.text
	}
	if len(m) == 0 && !required {
		return nil
	}
	return m
}

// rest returns the fields that nobody took, nil if there are none.
func (o *object) rest() Unknown {
	var u Unknown
	for _, f := range o.n.fields {
		if f.taken {
			continue
		}
		if u == nil {
			u = Unknown{}
		}
		u[f.name] = f.value.compact()
	}
	return u
}

// forbid refuses known fields that do not belong to this kind of object.
func (o *object) forbid(names ...string) {
	for _, name := range names {
		if f := o.take(name); f != nil {
			o.d.fault(f.at, "%s has no `%s`", o.what, name)
		}
	}
}

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		for _, w := range words {
			if s == w {
				return nil
			}
		}
		return fmt.Errorf("expected one of %q, found `%s`", words, s)
	}
}
