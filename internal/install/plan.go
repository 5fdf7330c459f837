package install

import (
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
	From skill.Digest `json:"from,omitempty"` // what is there, where it was looked at
	To   skill.Digest `json:"to,omitempty"`
	// Why is a short reason, for conflicts and people.
	Why string `json:"why,omitempty"`

	item   *Item
	link   string // text of the wanted link
	seen   seen
	forced bool
}

// Path returns the slash path of the place below the root.
func (a Action) Path() string { return a.Dir + "/" + string(a.Key) }

// Plan is what an install would do, ordered by target and key.
type Plan struct {
	Actions []Action `json:"actions"`
	// Pending says that a killed run is to be finished first.
	Pending bool `json:"pending,omitempty"`

	planState
}

// NoOp reports whether disk and receipt are already as wanted.
func (p *Plan) NoOp() bool { return p.noOp() }

// Conflicts returns the conflicts as findings, nil if there are none.
func (p *Plan) Conflicts() diag.List { return p.conflicts() }

// Missing returns the digests whose trees Apply will need from the store,
// sorted and without doubles.
func (p *Plan) Missing() []skill.Digest { return p.missing() }

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
	Created, Replaced, Removed, Kept, Adopted []skill.Key     // sorted, each key once, by its strongest action
	Modes                                     map[string]Mode // by place, what was used
}
