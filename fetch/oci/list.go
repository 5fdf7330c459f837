package oci

import (
	"context"
	"errors"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
)

// Entry is an item found by List.
type Entry struct {
	Ref Ref
}

// List calls visit for every item, sorted by tag.
func (m *Mirror) List(ctx context.Context, visit func(Entry) error) error {
	var refs []Ref
	err := m.store.tags(ctx, func(tag string) error {
		if ref, ok := ParseTag(tag); ok {
			refs = append(refs, ref)
		}
		return nil
	})
	if err != nil {
		if isMissing(err) { // a repository that nothing was pushed to yet
			return nil
		}
		return m.explainRun("list", err)
	}
	slices.SortFunc(refs, compareRefs)
	for _, ref := range slices.Compact(refs) {
		if err := visit(Entry{ref}); err != nil {
			return err
		}
	}
	return nil
}

// Size returns the bytes that the item takes in the mirror, as its manifest
// says: one request of a registry.
func (m *Mirror) Size(ctx context.Context, ref Ref) (int64, error) {
	manifest, err := m.manifest(ctx, ref)
	if err != nil {
		return 0, m.explain(ref, err)
	}
	size := manifest.Config.Size
	for _, l := range manifest.Layers {
		size += l.Size
	}
	return size, nil
}

// explainRun is explain for an error that concerns no single item.
func (m *Mirror) explainRun(verb string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if list := diag.All(err); list[0].Code != diag.Internal {
		return err
	}
	code, hint := classify(err)
	e := diag.New(code, "mirror `%s`: could not %s", m, verb).WithCause(err)
	e.Hint = hint
	return e
}
