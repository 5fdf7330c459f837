package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

const (
	receiptFormat  = "skillpm-receipt"
	receiptVersion = 1
	// maxReceiptBytes bounds the receipt and the journal: 10,000 skills in ten
	// targets stay below it.
	maxReceiptBytes = 64 << 20
)

// receipt is what the last run left on disk. It is evidence of ownership and
// speed, never the truth about content: a lost one costs adoption and hashing.
type receipt struct {
	Format  string `json:"format"`
	Version int    `json:"receiptVersion"`
	// Link is the setting the modes below came from.
	Link    Link     `json:"link,omitempty"`
	Targets []string `json:"targets"`
	// Places are by slash path: target and key.
	Places map[string]place `json:"places"`
}

// place is one skill in one target.
type place struct {
	Mode   Mode         `json:"mode"`
	Digest skill.Digest `json:"digest,omitempty"` // of the tree that was put there
	Bundle skill.Digest `json:"bundle,omitempty"`
	Link   string       `json:"link,omitempty"` // text of a link
	// Stat is the stat signature of the directory when its content was last known
	// to be Digest, At that moment in nanoseconds since 1970; see signature.
	Stat string `json:"stat,omitempty"`
	At   int64  `json:"at,omitempty"`
	// Source is the stat signature of a path skill's directory when it was copied.
	Source string `json:"source,omitempty"`
}

func newReceipt() *receipt {
	return &receipt{Format: receiptFormat, Version: receiptVersion, Targets: []string{}, Places: map[string]place{}}
}

func (r *receipt) bytes() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// sameBut reports whether the receipts differ in nothing but stat signatures.
func (r *receipt) sameBut(o *receipt) bool {
	plain := func(p place) place {
		p.Stat, p.At, p.Source = "", 0, ""
		return p
	}
	return r.Link == o.Link && slices.Equal(r.Targets, o.Targets) &&
		maps.EqualFunc(r.Places, o.Places, func(a, b place) bool { return plain(a) == plain(b) })
}

// readReceipt returns the receipt, an empty one where there is none. An
// unreadable one counts as none, with a note: what stands on disk is then ours
// only as far as the locks say so. A newer one is receipt_version.
func (s *site) readReceipt() (*receipt, error) {
	r, unreadable, err := s.loadReceipt()
	if unreadable != nil {
		s.opt.Note(diag.Note(diag.CacheCorrupt, "`%s` is unreadable and will be rebuilt; until then only the lock says which skills are ours", s.state(receiptName)).WithCause(unreadable))
	}
	return r, err
}

// loadReceipt is readReceipt with the reason of an unreadable one as data.
func (s *site) loadReceipt() (r *receipt, unreadable, err error) {
	data, err := s.root.ReadFile(s.state(receiptName), maxReceiptBytes)
	if fsx.IsNotExist(err) {
		return newReceipt(), nil, nil
	}
	if errors.Is(err, fsx.ErrTooLarge) {
		return newReceipt(), err, nil
	}
	if err != nil {
		return nil, nil, fsx.Diag(err, "read `"+s.state(receiptName)+"`")
	}
	r, err = parseReceipt(data)
	switch {
	case err == nil:
		return r, nil, nil
	case diag.CodeOf(err) == diag.ReceiptVersion:
		return nil, nil, err
	}
	return newReceipt(), err, nil
}

func parseReceipt(data []byte) (*receipt, error) {
	if err := checkVersion(data, "receipt", receiptFormat, "receiptVersion", receiptVersion); err != nil {
		return nil, err
	}
	r := newReceipt()
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	for p := range r.Places {
		if _, _, err := splitPlace(p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// checkVersion sniffs the format and the version of one of our files before it
// is read.
func checkVersion(data []byte, what, format, field string, version int) error {
	var head map[string]json.RawMessage
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	if !bytes.Equal(head["format"], []byte(`"`+format+`"`)) {
		return errors.New("its format is not " + format)
	}
	var found int
	if err := json.Unmarshal(head[field], &found); err != nil {
		return err
	}
	if found > version {
		return diag.New(diag.ReceiptVersion, "the project's %s was written by a newer skillpm: version %d, this one reads up to %d", what, found, version).
			WithHint("use the newer skillpm here, or remove the private directory if you know that no run is unfinished")
	}
	return nil
}

// splitPlace returns the target and key of a slash path that came from a file.
func splitPlace(p string) (dir string, key skill.Key, err error) {
	if err := skill.CheckPath(p); err != nil {
		return "", "", err
	}
	dir, name := splitLast(p)
	if dir == "" {
		return "", "", errors.New("place `" + p + "` names no target")
	}
	key, err = skill.ParseKey(name)
	return dir, key, err
}
