package parse

import (
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// TrainingFile is the name of the training contract at a skill's root.
const TrainingFile = "training.zon"

// Training is a valid training.zon. It grants nothing: it says whether the
// skill is for a prompt, for training, or both.
type Training struct {
	Schema  string // chock.skill-training
	Version int    // 1
	Skill   string
	Mode    string // runtime, trainable or hybrid
	Adapter string // empty in mode runtime
	// Suites holds train, validation and test in this order; empty in mode
	// runtime. The test suite is held out from training and selection.
	Suites []Suite
	SHA256 skill.Digest // of training.zon itself
}

// Suite is one named file of examples.
type Suite struct {
	Name     string // train, validation or test
	Path     string // clean slash path inside the skill
	HeldOut  bool
	Position Position
}

// ReadTraining reads a training.zon strictly: the ZON subset of literals, every
// field known, none twice. name is the skill's declared name. The Training is
// nil if there is any finding. Whether the suites exist is the caller's to
// check: their paths are clean and relative.
func ReadTraining(data []byte, name string) (*Training, diag.List) {
	return nil, nil
}
