package views

import (
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// PlanSchema names the shape of PlanResult for the runtimes that read it.
const PlanSchema = "skillpm.plan.v1"

// PlanResult is the order in which a chain's skills run. It runs nothing.
type PlanResult struct {
	Schema string     `json:"schema"`
	Root   string     `json:"root"`
	Steps  []PlanStep `json:"steps"`
	Flat   []string   `json:"flat"` // depth first; a repeated step stands twice
	Mode   string     `json:"mode"`
	Policy PlanPolicy `json:"policy"`
	Depth  int64      `json:"depth"`
	// Unresolved are members that do not exist, where validate_on_load is false.
	Unresolved []string     `json:"unresolved,omitempty"`
	LockDigest skill.Digest `json:"lock_digest"`
}

// PlanStep is one step, with the steps of a nested chain below it. Mode and
// Policy are the nested chain's own: each chain keeps its own options.
type PlanStep struct {
	Name    string       `json:"name"`
	Version string       `json:"version,omitempty"`
	Digest  skill.Digest `json:"digest,omitempty"`
	Path    string       `json:"path"`
	Mode    string       `json:"mode,omitempty"`
	Policy  *PlanPolicy  `json:"policy,omitempty"`
	Steps   []PlanStep   `json:"steps,omitempty"`
}

// PlanPolicy is a chain's options, defaults filled in.
type PlanPolicy struct {
	ContinueOnError   bool   `json:"continue_on_error"`
	TimeoutS          int64  `json:"timeout_s"`
	MaxDepth          int64  `json:"max_depth"`
	ParallelLimit     int64  `json:"parallel_limit"`
	CleanupAfter      bool   `json:"cleanup_after"`
	EarlyExitOn       string `json:"early_exit_on"`
	ContinueOnSuccess bool   `json:"continue_on_success"`
	PassState         bool   `json:"pass_state"`
	RetryCount        int64  `json:"retry_count"`
	RetryUntil        string `json:"retry_until"`
	RaceMode          bool   `json:"race_mode"`
}

func planPolicy(p lockfile.Policy) PlanPolicy {
	return PlanPolicy{
		p.ContinueOnError, p.Timeout, p.MaxDepth, p.ParallelLimit, p.CleanupAfter, p.EarlyExitOn,
		p.ContinueOnSuccess, p.PassState, p.RetryCount, p.RetryUntil, p.RaceMode,
	}
}

// Plan returns the ordered plan of a locked chain. An option that cannot take
// effect is a note.
func Plan(p *workspace.Project, key string) (*PlanResult, error) {
	e, err := p.Entry(key)
	if err != nil {
		return nil, err
	}
	if e.Chain == nil {
		return nil, workspace.Usage("`%s` is no chain: its SKILL.md has no metadata.chain", key)
	}
	plan, err := p.Lock.Plan(key)
	if err != nil {
		return nil, err
	}
	if e.Chain.Policy.RaceMode && e.Chain.Mode == lockfile.ModeSequential {
		p.Opt.Report(diag.Note(diag.ChainOptionUnused, "`%s`: race_mode has no effect without async", key))
	}
	return &PlanResult{
		Schema: PlanSchema, Root: plan.Root, Steps: planSteps(p, plan.Steps), Flat: plan.Flat, Mode: plan.Mode,
		Policy: planPolicy(plan.Policy), Depth: plan.Depth, Unresolved: e.Chain.Unresolved,
		LockDigest: skill.DigestOf(p.Lock.Bytes()),
	}, nil
}

func planSteps(p *workspace.Project, steps []lockfile.Step) []PlanStep {
	out := make([]PlanStep, len(steps))
	for i, s := range steps {
		out[i] = PlanStep{Name: s.Name, Version: s.Version, Digest: s.Digest, Path: s.Path}
		if e := p.Lock.Get(s.Name); e != nil && e.Chain != nil {
			policy := planPolicy(e.Chain.Policy)
			out[i].Mode, out[i].Policy, out[i].Steps = e.Chain.Mode, &policy, planSteps(p, s.Steps)
		}
	}
	return out
}
