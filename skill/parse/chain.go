package parse

import "github.com/skillpm/skillpm/skill"

// Chain is what metadata.chain and the options beside it declare: an ordered
// list of skills to run. Each member is a requirement of range "*".
type Chain struct {
	Steps []Step
	// Parallel is the option async: all members at once instead of in order.
	Parallel bool
	// ValidateOnLoad false means that an absent member is no fault.
	ValidateOnLoad bool
	Policy         Policy
	// List says that chain is a YAML list, not the comma string that every
	// reader of the specification takes.
	List     bool
	Position Position
}

// Mode returns the lock's word: "parallel" or "sequential".
func (c *Chain) Mode() string {
	if c.Parallel {
		return "parallel"
	}
	return "sequential"
}

// Names returns the members' names in order; one may occur twice.
func (c *Chain) Names() []skill.Name {
	names := make([]skill.Name, len(c.Steps))
	for i, s := range c.Steps {
		names[i] = s.Name
	}
	return names
}

// Step is one member of a chain.
type Step struct {
	Name skill.Name
	// Path is the clean slash path that the member was written as; its last
	// element is Name. Mostly it is Name alone. The look-up begins in the
	// directory that holds the chain's own directory.
	Path     string
	Position Position
}

// Policy holds a chain's options with defaults filled in, in the lock's order.
// skillpm records them; running a chain is a runtime's work.
type Policy struct {
	ContinueOnError   bool   `json:"continue_on_error"`   // default true: run all members and report
	Timeout           int    `json:"timeout"`             // seconds a member, 0 is unlimited
	MaxDepth          int    `json:"max_depth"`           // of chains within chains, default 10
	ParallelLimit     int    `json:"parallel_limit"`      // default 5, parallel chains only
	CleanupAfter      bool   `json:"cleanup_after"`       // reset state after the chain
	EarlyExitOn       string `json:"early_exit_on"`       // none, failure, success or critical
	ContinueOnSuccess bool   `json:"continue_on_success"` // run a member only if the one before passed
	PassState         bool   `json:"pass_state"`          // default true: outputs go to the next member
	RetryCount        int    `json:"retry_count"`         // runs of the whole chain, default 1
	RetryUntil        string `json:"retry_until"`         // none, stable or success
	RaceMode          bool   `json:"race_mode"`           // first finisher wins, parallel chains only
}

// DefaultPolicy is the policy of a chain without options.
var DefaultPolicy = Policy{
	ContinueOnError: true, MaxDepth: 10, ParallelLimit: 5, EarlyExitOn: "none",
	PassState: true, RetryCount: 1, RetryUntil: "none",
}
