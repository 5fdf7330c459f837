package install

import (
	"github.com/skillpm/skillpm/internal/fsx"
)

// State is what earlier runs left in the private directory.
type State struct {
	// Journal: a run was stopped while it moved skills; the next one finishes or
	// undoes it.
	Journal bool
	// Staged: a run was stopped while it prepared skills; the next one clears them.
	Staged bool
	// Receipt is why the receipt cannot be used: receipt_version or a fault of
	// the disk. A damaged one is told to Options.Note and is no error.
	Receipt error
}

// Look reads the private directory. It takes no lock and writes nothing, so a run
// in progress looks like one that was stopped.
func Look(layout Layout, opt Options) (State, error) {
	s, err := openSite(layout, opt)
	if err != nil {
		return State{}, err
	}
	defer s.close()
	var state State
	if _, err := s.root.Lstat(s.state(journalName)); err == nil {
		state.Journal = true
	} else if !fsx.IsNotExist(err) {
		return state, fsx.Diag(err, "look at `"+s.state(journalName)+"`")
	}
	if staged, err := s.root.ReadDir(s.state(stageName)); err == nil {
		state.Staged = len(staged) > 0
	}
	_, state.Receipt = s.readReceipt()
	return state, nil
}
