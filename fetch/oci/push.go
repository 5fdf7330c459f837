package oci

import (
	"context"

	"github.com/skillpm/skillpm/skill"
)

// Item is one thing to push. Make it with TreeItem, BundleItem or VersionsItem.
type Item struct {
	Ref Ref
	// Label names the item for people, such as "deploy 2.1.0".
	Label string
	put   func(ctx context.Context, m *Mirror, replace bool) (stored, error)
}

// stored is what one put moved.
type stored struct {
	blobs int
	bytes int64
}

// TreeItem is the tree with digest d. load is called once, and only when the
// mirror does not hold the tree; its tree must have digest d.
func TreeItem(label string, d skill.Digest, load func(ctx context.Context) (*skill.Tree, OpenFunc, error)) Item {
	return Item{}
}

// BundleItem is the signature bundle with digest d.
func BundleItem(label string, d skill.Digest, load func(ctx context.Context) ([]byte, error)) Item {
	return Item{}
}

// VersionsItem is what versions a source has; it is merged into what the mirror
// already says of that source.
func VersionsItem(v *Versions) Item { return Item{} }

// State is how an item fared.
type State string

// The states. Push and Copy use the first three, Verify the last three.
const (
	Done    State = "done"    // stored by this run
	Present State = "present" // was there already, or is there
	Failed  State = "failed"  // could not be stored or read
	Missing State = "missing" // not in the mirror
	Invalid State = "invalid" // in the mirror, but wrong
)

// Outcome is what became of one item.
type Outcome struct {
	Ref   Ref
	Label string
	State State
	Blobs int   // blobs uploaded, the manifest not counted
	Bytes int64 // bytes uploaded or verified
	Err   error // for Failed, Missing and Invalid
}

// Report lists the outcomes in the order of the items.
type Report struct {
	Outcomes []Outcome
	// Archive is the checksum of a tar destination.
	Archive skill.Digest
	Size    int64
}

// Count returns how many outcomes have the state.
func (r *Report) Count(s State) int { return 0 }

// Err returns nil if every item is done or present, else findings: one for each
// item that is not, and mirror_incomplete first, so that a partial run exits 2.
func (r *Report) Err() error { return nil }

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

// Push stores the items, several at once, and commits. An item that fails does
// not stop the others; the error is non-nil only where the run as a whole could
// not go on (context cancelled, index not writable), and even then the report
// says what was stored. A run that was killed is resumed by running it again.
func (m *Mirror) Push(ctx context.Context, items []Item, opt RunOptions) (*Report, error) {
	return nil, nil
}

// Want is an item that a lock needs.
type Want struct {
	Ref   Ref
	Label string
}

// Verify reads every wanted item and proves it byte by byte (presence only with
// opt.Quick). The error is as for Push; findings are in the report.
func (m *Mirror) Verify(ctx context.Context, wants []Want, opt RunOptions) (*Report, error) {
	return nil, nil
}

// Copy stores wants, or all that src holds if wants is nil, in dst, verifying on
// the way. A failing item says in its error which side failed.
func Copy(ctx context.Context, src, dst *Mirror, wants []Want, opt RunOptions) (*Report, error) {
	return nil, nil
}

// Entry is an item found by List.
type Entry struct {
	Ref  Ref
	Size int64 // bytes stored for it; -1 where the listing does not say
}

// List calls visit for every item, sorted by kind and digest.
func (m *Mirror) List(ctx context.Context, visit func(Entry) error) error { return nil }

// Removed is what GC took away, or would take.
type Removed struct {
	Refs  []Ref
	Blobs int
	Bytes int64 // 0 for a registry, which frees space by itself
}

// GC removes every item that is not in keep. Content that is not skillpm's stays.
// It refuses while a push into the same folder is running.
func (m *Mirror) GC(ctx context.Context, keep map[Ref]bool, dryRun bool) (*Removed, error) {
	return nil, nil
}
