package oci

import (
	"context"

	"github.com/skillpm/skillpm/skill"
)

// Copy stores wants, or all that src holds if wants is nil, in dst, verifying on
// the way. A failing item says in its error which side failed.
func Copy(ctx context.Context, src, dst *Mirror, wants []Want, opt RunOptions) (*Report, error) {
	if wants == nil {
		err := src.List(ctx, func(e Entry) error {
			wants = append(wants, Want{e.Ref, e.Ref.String()})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	items := make([]Item, len(wants))
	for i, w := range wants {
		items[i] = Item{Ref: w.Ref, Label: w.Label, put: copier(src, w.Ref), merge: w.Ref.Kind == KindVersions}
	}
	return dst.Push(ctx, items, opt)
}

func copier(src *Mirror, ref Ref) func(context.Context, *Mirror, bool) (moved, error) {
	return func(ctx context.Context, dst *Mirror, replace bool) (moved, error) {
		switch ref.Kind {
		case KindTree:
			return copyTree(ctx, src, dst, ref, replace)
		case KindBundle:
			b, err := src.Bundle(ctx, ref.Digest)
			if err != nil {
				return moved{}, sourceError{err}
			}
			return dst.putBundle(ctx, b, replace)
		}
		v, err := src.versions(ctx, ref)
		if err != nil {
			return moved{}, sourceError{src.explain(ref, err)}
		}
		return dst.putVersions(ctx, v)
	}
}

// copyTree moves the layer as it is packed, and only once it is proven to hold
// the tree.
func copyTree(ctx context.Context, src, dst *Mirror, ref Ref, replace bool) (moved, error) {
	manifest, err := src.manifest(ctx, ref)
	if err != nil {
		return moved{}, sourceError{src.explain(ref, err)}
	}
	layer := newSpool(dst.opt.TempDir)
	defer layer.close()
	tree, err := src.unpack(ctx, manifest.Layers[0], ref.Digest, layer, func(skill.File, []byte) error { return nil })
	if err != nil {
		return moved{}, sourceError{src.explain(ref, err)}
	}
	return dst.putLayer(ctx, tree, layer, replace)
}
