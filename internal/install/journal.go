package install

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

const (
	journalFormat  = "skillpm-journal"
	journalVersion = 1
)

// journal says what a transaction is about to do. It is written when everything
// is staged; from then on every step is a rename, done or not done as the
// staging directory shows, so a journal needs no progress marks and can be read
// forwards (finish) and backwards (undo) from any point.
type journal struct {
	Format  string `json:"format"`
	Version int    `json:"journalVersion"`
	// Dirs are the directories to create, parents first.
	Dirs []string `json:"dirs,omitempty"`
	// Swaps and Files are done in order; their index is their name in staging.
	Swaps []swap     `json:"swaps,omitempty"`
	Files []fileSwap `json:"files,omitempty"`
}

// swap replaces what is at a place.
type swap struct {
	Place string `json:"place"`
	Old   bool   `json:"old,omitempty"` // something is there before
	New   bool   `json:"new,omitempty"` // something is there after
	// Was is what is there before: the stat signature of a directory, or "link:"
	// and its text, so that a later change by somebody else is noticed.
	Was string `json:"was,omitempty"`
}

// fileSwap replaces the receipt or one of the layout's files.
type fileSwap struct {
	// Path is "" for the receipt, else one of Layout.Files.
	Path string `json:"path,omitempty"`
	Old  bool   `json:"old,omitempty"` // the file was there before
}

func (j *journal) bytes() ([]byte, error) {
	j.Format, j.Version = journalFormat, journalVersion
	return json.MarshalIndent(j, "", " ")
}

// readJournal returns the journal of a killed run, nil where there is none. It
// is checked like a stranger's file: a checkout may have brought it along.
func (s *site) readJournal() (*journal, error) {
	data, err := s.root.ReadFile(s.state(journalName), maxReceiptBytes)
	if fsx.IsNotExist(err) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, fsx.ErrTooLarge) {
		return nil, fsx.Diag(err, "read `"+s.state(journalName)+"`")
	}
	if err == nil {
		err = checkVersion(data, "journal", journalFormat, "journalVersion", journalVersion)
	}
	if diag.CodeOf(err) == diag.ReceiptVersion {
		return nil, err
	}
	j := new(journal)
	if err == nil {
		err = json.Unmarshal(data, j)
	}
	if err == nil {
		err = s.checkJournal(j)
	}
	if err != nil {
		return nil, diag.New(diag.InstallConflict, "`%s` of an unfinished run cannot be read", s.state(journalName)).WithCause(err).
			WithHint("what that run took away is under `%s`: save what you need, then remove both", s.state(stageName, "old"))
	}
	return j, nil
}

func (s *site) checkJournal(j *journal) error {
	for _, sw := range j.Swaps {
		dir, _, err := splitPlace(sw.Place)
		if err != nil {
			return err
		}
		if within(dir, s.layout.State) && dir != s.state(hiddenName) {
			return errors.New("place `" + sw.Place + "` is skillpm's own")
		}
	}
	for _, dir := range j.Dirs {
		if err := skill.CheckPath(dir); err != nil {
			return err
		}
	}
	for _, f := range j.Files {
		if f.Path != "" && !slices.Contains(s.layout.Files, f.Path) {
			return errors.New("file `" + f.Path + "` is not one that skillpm writes")
		}
	}
	return nil
}

// abs returns the absolute path of a name in the private directory.
func (s *site) abs(elem ...string) string {
	return filepath.Join(s.layout.Root, filepath.FromSlash(s.state(elem...)))
}
