package lockfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillpm/skillpm/skill"
)

const (
	// maxLockBytes bounds a lock: 2,000 skills take about 3 MB.
	maxLockBytes = 64 << 20
	// maxFaults is how many faults of one lock are reported.
	maxFaults = 20
)

// Parse reads a lock strictly: JSON with nothing after it, no key twice, keys in
// exact case, every known field of its type and form. CRLF line ends are mapped
// to LF first. Fields it does not know are kept. The error is an Errors with
// every fault found, whose codes are lock_foreign (another tool's file),
// lock_version (written by a newer skillpm), target_unsafe (a target outside
// the project) or lock_corrupt.
//
// Skills are sorted by key: a reader without the manifest knows no other order.
func Parse(data []byte) (*Lock, error) {
	l, err := parse(data)
	if err != nil {
		return nil, err
	}
	l.Sort(nil)
	return l, nil
}

// parse is Parse with the skills in the order of the file.
func parse(data []byte) (*Lock, error) {
	if len(data) > maxLockBytes {
		return nil, Errors{{Fault: corrupt(fmt.Sprintf("the lock has %d bytes; the limit is %d", len(data), maxLockBytes))}}
	}
	text := string(unixLines(data))
	d := &decoder{text: text}
	if at := conflictAt(text); at >= 0 {
		d.add(at, &skill.Error{
			Code: "lock_corrupt", Offset: at, Message: "git's conflict markers in the lock",
			Hint: "`skillpm lock` takes both sides and resolves again",
		})
		return nil, d.errs
	}
	n, err := parseJSON(text)
	if tool := foreignTool(text, n); tool != "" {
		d.add(0, &skill.Error{
			Code: "lock_foreign", Offset: 0, Message: "this lock belongs to " + tool,
			Hint: "move it away; skillpm does not touch another tool's files",
		})
		return nil, d.errs
	}
	if err != nil {
		d.add(err.at, corrupt(err.message))
		return nil, d.errs
	}
	l := d.lock(n)
	if len(d.errs) > 0 {
		slices.SortStableFunc(d.errs, func(a, b *Error) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, d.errs[:min(len(d.errs), maxFaults)]
	}
	return l, nil
}

func unixLines(data []byte) []byte {
	if !bytes.Contains(data, []byte("\r\n")) {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

func corrupt(message string) *skill.Error {
	return &skill.Error{
		Code: "lock_corrupt", Offset: -1, Message: message,
		Hint: "restore the file from version control, or delete it and run `skillpm lock`",
	}
}

// decoder turns nodes into a Lock and collects faults.
type decoder struct {
	text string
	errs Errors
}

func (d *decoder) add(at int, fault *skill.Error) {
	fault.Offset = at
	before := d.text[:at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	d.errs = append(d.errs, &Error{Line: line, Column: column, Fault: fault})
}

func (d *decoder) fault(at int, format string, args ...any) {
	if len(d.errs) < maxFaults {
		d.add(at, corrupt(fmt.Sprintf(format, args...)))
	}
}

func (d *decoder) lock(n *node) *Lock {
	o := d.object(n, "the lock")
	if o == nil || !d.header(o) {
		return nil
	}
	l := &Lock{}
	if r := o.child("root", true); r != nil {
		l.Root = Root{Requires: map[string]string{}}
		if m := r.requirements("requires", true); m != nil {
			l.Root.Requires = m
		}
		l.Root.Overrides = r.requirements("overrides", false)
		l.Root.Unknown = r.rest()
	}
	if s := o.child("skills", true); s != nil {
		l.Skills = d.skills(s)
	}
	l.Targets = o.strings("targets", true, checkTarget)
	l.Unknown = o.rest()
	return l
}

// header checks format and version before anything else is looked at: a newer
// version may give every other field another shape.
func (d *decoder) header(o *object) bool {
	if format := o.str("format", true, nil); format != Format {
		if len(d.errs) == 0 {
			d.fault(o.at("format"), "`format` is `%s`; expected `%s`", format, Format)
		}
		return false
	}
	f := o.take("lockVersion")
	switch {
	case f == nil:
		d.fault(o.n.at, "`lockVersion` is missing")
		return false
	case f.value.kind != kindNumber:
		d.fault(f.value.at, "`lockVersion` must be a number, found %s", article(f.value.kind))
		return false
	case f.value.text != "1":
		d.add(f.value.at, &skill.Error{
			Code: "lock_version", Message: fmt.Sprintf("lockVersion %s; this skillpm reads %d", f.value.text, Version),
			Hint: "update skillpm",
		})
		return false
	}
	return true
}

func (d *decoder) skills(o *object) []*Entry {
	folds := map[string]string{}
	list := make([]*Entry, 0, len(o.n.fields))
	for _, f := range o.n.fields {
		key, err := skill.ParseKey(f.name)
		if err != nil {
			d.fault(f.at, "%s", err.Error())
			continue
		}
		if old, twice := folds[key.Fold()]; twice {
			d.fault(f.at, "the keys `%s` and `%s` are one directory on a case-insensitive disk", old, f.name)
		}
		folds[key.Fold()] = f.name
		if e := d.object(f.value, "the entry `"+f.name+"`"); e != nil {
			list = append(list, e.entry(f.name))
		}
	}
	return list
}

func checkTarget(s string) error {
	rest, _ := strings.CutPrefix(s, "~/")
	if err := relativePath(rest); err != nil || strings.HasPrefix(rest, "../") || rest == ".." {
		return &skill.Error{
			Code: "target_unsafe", Message: fmt.Sprintf("the target `%s` must be a clean slash path inside the project, or under ~/", s),
		}
	}
	return nil
}
