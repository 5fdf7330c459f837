package oci

import (
	"bytes"
	"context"
	"fmt"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Want is an item that a lock needs.
type Want struct {
	Ref   Ref
	Label string
}

// Verify reads every wanted item and proves it byte by byte (presence only with
// opt.Quick). The error is as for Push; findings are in the report.
func (m *Mirror) Verify(ctx context.Context, wants []Want, opt RunOptions) (*Report, error) {
	items := make([]Item, len(wants))
	for i, w := range wants {
		items[i] = Item{Ref: w.Ref, Label: w.Label}
	}
	report := runAll(ctx, items, opt, func(ctx context.Context, it Item) Outcome { return m.verifyItem(ctx, it, opt.Quick) })
	return report, ctx.Err()
}

func (m *Mirror) verifyItem(ctx context.Context, it Item, quick bool) Outcome {
	out := Outcome{Ref: it.Ref, Label: it.Label, State: Present}
	var err error
	if out.Bytes, err = m.prove(ctx, it.Ref, quick); err == nil {
		return out
	}
	out.Err = m.sideError("mirror", it, err)
	switch diag.CodeOf(out.Err) {
	case diag.MirrorIncomplete:
		out.State = Missing
	case diag.MirrorInvalid, diag.TreeTooLarge:
		out.State = Invalid
	default:
		out.State = Failed
	}
	return out
}

// prove returns the number of content bytes it has proven.
func (m *Mirror) prove(ctx context.Context, ref Ref, quick bool) (int64, error) {
	if quick {
		ok, err := m.has(ctx, ref)
		if err == nil && !ok {
			err = ErrMiss
		}
		return 0, err
	}
	switch ref.Kind {
	case KindTree:
		return m.proveTree(ctx, ref)
	case KindBundle:
		if _, err := m.manifest(ctx, ref); err != nil { // presence is the tag
			return 0, err
		}
		b, err := m.Bundle(ctx, ref.Digest)
		return int64(len(b)), err
	case KindVersions:
		v, err := m.versions(ctx, ref)
		if err == nil && VersionsRef(v.Source) != ref {
			err = malformed("it is of the source %q", v.Source)
		}
		return 0, err
	}
	return 0, fmt.Errorf("unknown kind %q", ref.Kind)
}

// proveTree unpacks the layer and compares the config as well, which readers of
// single files use.
func (m *Mirror) proveTree(ctx context.Context, ref Ref) (int64, error) {
	manifest, err := m.manifest(ctx, ref)
	if err != nil {
		return 0, err
	}
	tree, err := m.unpack(ctx, manifest.Layers[0], ref.Digest, nil, func(skill.File, []byte) error { return nil })
	if err != nil {
		return 0, err
	}
	rc, err := m.fetchBlob(ctx, manifest.Config)
	if err != nil {
		return 0, err
	}
	want := tree.Manifest()
	config, err := readBody(rc, int64(len(want)))
	if err == nil && !bytes.Equal(config, want) {
		err = malformed("its config is not the tree manifest")
	}
	return tree.Size(), err
}
