package oci

import (
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// State is how an item fared.
type State string

// The states. Push and Copy use the first three; Verify uses Present, Failed and
// the last two.
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
	Bytes int64 // bytes uploaded, or verified
	Err   error // for Failed, Missing and Invalid; it names the item and the side
}

// Report lists the outcomes in the order of the items.
type Report struct {
	Outcomes []Outcome
	// Archive is the checksum of a tar destination, Size its size.
	Archive skill.Digest
	Size    int64
}

// Count returns how many outcomes have the state.
func (r *Report) Count(s State) int {
	n := 0
	for i := range r.Outcomes {
		if r.Outcomes[i].State == s {
			n++
		}
	}
	return n
}

// Blobs returns how many blobs the run uploaded.
func (r *Report) Blobs() (blobs int, bytes int64) {
	for _, o := range r.Outcomes {
		blobs += o.Blobs
		bytes += o.Bytes
	}
	return blobs, bytes
}

// maxFindings bounds the findings of one run: a thousand equal lines help nobody.
const maxFindings = 20

// Err returns nil if every item is done or present. Else it is the findings of
// the first items that are not, in their order, behind a summary of the code
// mirror_incomplete, which makes a partial run exit 2. A run that failed
// altogether has no summary: its status is that of the cause.
func (r *Report) Err() error {
	var list diag.List
	bad := 0
	for _, o := range r.Outcomes {
		if o.Err == nil {
			continue
		}
		if bad++; bad <= maxFindings {
			list = append(list, diag.All(o.Err)...)
		}
	}
	if bad == 0 || bad == r.Count(Failed) && bad == len(r.Outcomes) {
		return list.Err()
	}
	summary := diag.New(diag.MirrorIncomplete, "%d of %d items are missing, wrong or could not be moved", bad, len(r.Outcomes)).
		WithHint("what was stored is kept: run it again when the cause is gone")
	if bad > maxFindings {
		summary.WithDetail("the first %d follow", maxFindings)
	}
	return append(diag.List{summary}, list...)
}
