package lockfile

import "maps"

// KeepUnknown copies the fields that this version does not know from old, the
// lock that l replaces: those of the file and its root always, those of an
// entry as long as its digest is the same, for they may speak of the content.
func (l *Lock) KeepUnknown(old *Lock) {
	if old == nil {
		return
	}
	l.Unknown = maps.Clone(old.Unknown)
	l.Root.Unknown = maps.Clone(old.Root.Unknown)
	before := make(map[string]*Entry, len(old.Skills))
	for _, e := range old.Skills {
		before[e.Key] = e
	}
	for _, e := range l.Skills {
		if o := before[e.Key]; o != nil && o.Digest == e.Digest && o.Source.Type == e.Source.Type {
			e.keepUnknown(o)
		}
	}
}

func (e *Entry) keepUnknown(old *Entry) {
	e.Unknown = maps.Clone(old.Unknown)
	e.Source.Unknown = maps.Clone(old.Source.Unknown)
	e.Size.Unknown = maps.Clone(old.Size.Unknown)
	if e.Signature != nil && old.Signature != nil && e.Signature.Bundle == old.Signature.Bundle {
		e.Signature.Unknown = maps.Clone(old.Signature.Unknown)
	}
	if e.Chain != nil && old.Chain != nil {
		e.Chain.Unknown = maps.Clone(old.Chain.Unknown)
		e.Chain.Policy.Unknown = maps.Clone(old.Chain.Policy.Unknown)
	}
	if e.Training != nil && old.Training != nil {
		e.Training.keepUnknown(old.Training)
	}
}

func (t *Training) keepUnknown(old *Training) {
	t.Unknown = maps.Clone(old.Unknown)
	if t.Suites == nil || old.Suites == nil {
		return
	}
	t.Suites.Unknown = maps.Clone(old.Suites.Unknown)
	t.Suites.Train.Unknown = maps.Clone(old.Suites.Train.Unknown)
	t.Suites.Validation.Unknown = maps.Clone(old.Suites.Validation.Unknown)
	t.Suites.Test.Unknown = maps.Clone(old.Suites.Test.Unknown)
}
