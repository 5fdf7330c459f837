package install

import (
	"path"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Kind is what happens to one place.
type Kind string

// The kinds of actions.
const (
	Create    Kind = "create"    // nothing is there
	Replace   Kind = "replace"   // ours, with other content
	Remove    Kind = "remove"    // ours and no longer wanted
	Keep      Kind = "keep"      // already as wanted
	Adopt     Kind = "adopt"     // as wanted, and not in the receipt yet
	Conflict  Kind = "conflict"  // not ours, in the way
	Unmanaged Kind = "unmanaged" // a skill nobody ordered; never touched
)

// Mode is how a place holds its skill; it is recorded and kept on update.
type Mode string

// The modes.
const (
	ModeCopy     Mode = "copy"     // a directory of our own
	ModeHardlink Mode = "hardlink" // a directory of hard links into the store
	ModeStore    Mode = "store"    // a link to the store's directory
	ModeLink     Mode = "link"     // a relative link to the place in the first target, or to a path skill
	ModeInPlace  Mode = "in-place" // a path skill that already lies in the target
)

// Action is what the plan decided for one place.
type Action struct {
	Kind Kind         `json:"kind"`
	Key  skill.Key    `json:"key"`
	Dir  string       `json:"target"` // slash path of the target below the root
	Mode Mode         `json:"mode,omitempty"`
	From skill.Digest `json:"from,omitempty"` // what is there, where it is a tree
	To   skill.Digest `json:"to,omitempty"`
	// Why is a short reason, for conflicts and people.
	Why string `json:"why,omitempty"`

	want placement
	seen seen
}

// Path returns the slash path of the place below the root.
func (a Action) Path() string { return path.Join(a.Dir, string(a.Key)) }

// writes reports whether the action puts something at its place.
func (a Action) writes() bool { return a.Kind == Create || a.Kind == Replace }

// Plan is what an install would do, ordered by target and key.
type Plan struct {
	Actions []Action `json:"actions"`
	// Pending says that a killed run is to be finished first.
	Pending bool `json:"pending,omitempty"`

	owner *site // the session's; nil for a preview
	view  *view
	next  *receipt // what the receipt will say
	cost  Counters
}

// NoOp reports whether disk and receipt are already as wanted, so that there is
// nothing to lock or to write.
func (p *Plan) NoOp() bool {
	for _, a := range p.Actions {
		if a.Kind != Keep && a.Kind != Unmanaged {
			return false
		}
	}
	return !p.Pending && p.next.sameBut(p.view.receipt)
}

// Conflicts returns the conflicts as findings, nil if there are none.
func (p *Plan) Conflicts() diag.List {
	var list diag.List
	for _, a := range p.Of(Conflict) {
		what := "is in the way"
		if a.want.item.Key == "" { // nothing is to stand there
			what = "was to be removed"
		}
		e := diag.New(diag.InstallConflict, "`%s` %s: %s", a.Path(), what, a.Why)
		if a.From != "" && a.seen.kind == seenDir {
			e = e.WithHint("`skillpm diff %s` shows the change; move it away, or give it up with --force", a.Key)
		} else {
			e = e.WithHint("move it away, or give it up with --force")
		}
		list = append(list, e)
	}
	return list
}

// Of returns the actions of one kind, in order.
func (p *Plan) Of(kind Kind) []Action {
	var out []Action
	for _, a := range p.Actions {
		if a.Kind == kind {
			out = append(out, a)
		}
	}
	return out
}

// Result says what Apply did.
type Result struct {
	// Sorted; each key once, under the strongest action one of its places had.
	Created, Replaced, Removed, Adopted, Kept []skill.Key
	// Modes says what was used, by place.
	Modes map[string]Mode
}
