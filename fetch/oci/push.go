package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Item is one thing to push. Make it with TreeItem, BundleItem or VersionsItem.
type Item struct {
	Ref Ref
	// Label names the item for people, such as "deploy 2.1.0".
	Label string
	put   func(ctx context.Context, m *Mirror, replace bool) (moved, error)
	merge bool // is put even if something is present
}

// TreeItem is the tree with digest d. load is called once, and only when the
// mirror does not hold the tree; its tree must have digest d.
func TreeItem(label string, d skill.Digest, load func(ctx context.Context) (*skill.Tree, OpenFunc, error)) Item {
	put := func(ctx context.Context, m *Mirror, replace bool) (moved, error) {
		tree, open, err := load(ctx)
		if err != nil {
			return moved{}, sourceError{err}
		}
		if got := tree.Digest(); got != d {
			return moved{}, sourceError{diag.New(diag.DigestMismatch, "expected the tree %s, found %s", d.Short(), got.Short())}
		}
		return m.putTree(ctx, tree, func(path string) (io.ReadCloser, error) {
			rc, err := open(path)
			if err != nil {
				return nil, sourceError{err}
			}
			return rc, nil
		}, replace)
	}
	return Item{Ref: Ref{KindTree, d}, Label: label, put: put}
}

// BundleItem is the signature bundle with digest d.
func BundleItem(label string, d skill.Digest, load func(ctx context.Context) ([]byte, error)) Item {
	put := func(ctx context.Context, m *Mirror, replace bool) (moved, error) {
		b, err := load(ctx)
		if err != nil {
			return moved{}, sourceError{err}
		}
		if got := skill.DigestOf(b); got != d {
			return moved{}, sourceError{diag.New(diag.DigestMismatch, "expected the signature %s, found %s", d.Short(), got.Short())}
		}
		return m.putBundle(ctx, b, replace)
	}
	return Item{Ref: Ref{KindBundle, d}, Label: label, put: put}
}

// VersionsItem is what versions a source has; it is merged into what the mirror
// already says of that source.
func VersionsItem(v *Versions) Item {
	put := func(ctx context.Context, m *Mirror, _ bool) (moved, error) { return m.putVersions(ctx, v) }
	return Item{Ref: VersionsRef(v.Source), Label: "versions of " + v.Source, put: put, merge: true}
}

// sourceError marks a fault of the side that the bytes come from.
type sourceError struct{ error }

func (e sourceError) Unwrap() error { return e.error }

// RunOptions governs Push, Copy and Verify.
type RunOptions struct {
	// Parallel is how many items are worked on at once; 0 means 8.
	Parallel int
	// Replace stores items that are present again, to repair a damaged mirror.
	Replace bool
	// Quick makes Verify look at presence only.
	Quick bool
	// Progress is called after each item, one call at a time, in order of completion.
	Progress func(o Outcome, done, total int)
}

const defaultParallel = 8

// Push stores the items, several at once, and commits. An item that fails does
// not stop the others; the error is non-nil only where the run as a whole could
// not go on (context cancelled, index not writable), and even then the report
// says what was stored. A run that was killed is resumed by running it again.
func (m *Mirror) Push(ctx context.Context, items []Item, opt RunOptions) (*Report, error) {
	if err := m.writable(); err != nil {
		return nil, err
	}
	report := runAll(ctx, items, opt, func(ctx context.Context, it Item) Outcome { return m.pushItem(ctx, it, opt.Replace) })
	if err := ctx.Err(); err != nil {
		return report, err
	}
	err := m.Commit(ctx)
	report.Archive, report.Size = m.Archive()
	return report, err
}

func (m *Mirror) pushItem(ctx context.Context, it Item, replace bool) Outcome {
	out := Outcome{Ref: it.Ref, Label: it.Label, State: Present}
	present, err := false, error(nil)
	if !replace && !it.merge {
		present, err = m.present(ctx, it.Ref)
	}
	if err == nil && !present {
		var n moved
		n, err = it.put(ctx, m, replace)
		out.Blobs, out.Bytes = n.blobs, n.bytes
		if !it.merge || n.blobs > 0 {
			out.State = Done
		}
	}
	if err != nil {
		out.State, out.Err = Failed, m.sideError("destination", it, err)
	}
	return out
}

// present reports whether the item needs no put. In a folder that means its
// files have the right sizes; a registry vouches for what a tag names.
func (m *Mirror) present(ctx context.Context, ref Ref) (bool, error) {
	if f, ok := m.w.(interface {
		intact(context.Context, Ref) (bool, error)
	}); ok {
		return f.intact(ctx, ref)
	}
	return m.has(ctx, ref)
}

// sideError names the item and the side at fault.
func (m *Mirror) sideError(side string, it Item, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if e, ok := errors.AsType[sourceError](err); ok {
		return about(fmt.Sprintf("source: `%s` (%s)", it.Label, it.Ref), e.error)
	}
	subject := fmt.Sprintf("%s `%s`: `%s` (%s)", side, m, it.Label, it.Ref)
	if _, ok := errors.AsType[*diag.Error](err); ok {
		return about(subject, err)
	}
	code, hint := classify(err)
	verb := "could not be read"
	switch {
	case side == "destination":
		verb = "could not be stored"
	case code == diag.MirrorIncomplete:
		verb, err = "is missing", ErrMiss
	case code == diag.MirrorInvalid:
		verb, hint = "is not what it should be", "`skillpm mirror push --replace` stores it again"
	}
	e := diag.New(code, "%s %s", subject, verb).WithCause(err)
	e.Hint = hint
	return e
}

// about puts the subject before each finding's message.
func about(subject string, err error) error {
	var list diag.List
	for _, e := range diag.All(err) {
		said := *e
		said.Message = subject + ": " + said.Message
		list = append(list, &said)
	}
	return list.Err()
}

// runAll works on every distinct item once, opt.Parallel at a time. A repeated
// item gets the outcome of the first, counted as present. The report is in the
// items' order whatever finishes first.
func runAll(ctx context.Context, items []Item, opt RunOptions, work func(context.Context, Item) Outcome) *Report {
	report := &Report{Outcomes: make([]Outcome, len(items))}
	first := make(map[Ref]int, len(items))
	var mu sync.Mutex
	done := 0
	finish := func(i int, o Outcome) {
		mu.Lock()
		defer mu.Unlock()
		report.Outcomes[i] = o
		if done++; opt.Progress != nil {
			opt.Progress(o, done, len(items))
		}
	}
	var group errgroup.Group
	group.SetLimit(max(1, parallel(opt.Parallel)))
	var repeated []int
	for i, it := range items {
		if _, ok := first[it.Ref]; ok && !it.merge {
			repeated = append(repeated, i)
			continue
		}
		first[it.Ref] = i
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				finish(i, Outcome{Ref: it.Ref, Label: it.Label, State: Failed, Err: err})
				return nil
			}
			finish(i, work(ctx, it))
			return nil
		})
	}
	_ = group.Wait()
	for _, i := range repeated {
		o := report.Outcomes[first[items[i].Ref]]
		o.Label, o.Blobs, o.Bytes = items[i].Label, 0, 0
		if o.State == Done {
			o.State = Present
		}
		finish(i, o)
	}
	return report
}

func parallel(n int) int {
	if n == 0 {
		return defaultParallel
	}
	return n
}
