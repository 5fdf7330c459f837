package manifest

import (
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Entry is one line for SetAll.
type Entry struct {
	Key         skill.Key
	Requirement skill.Requirement
}

// SetAll is Set for many keys. Those that [skills] does not have yet are added
// after its last line, in their order, by one edit.
func SetAll(data []byte, entries []Entry) ([]byte, error) {
	e, err := newEditor(data)
	if err != nil {
		return nil, err
	}
	header := e.find("skills")
	var lines []string
	var rest []Entry
	for _, entry := range entries {
		path := []string{"skills", string(entry.Key)}
		if header == nil || !header.header || e.find(path...) != nil || e.fieldsAt(path) != nil {
			rest = append(rest, entry)
			continue
		}
		lines = append(lines, quoteKey(string(entry.Key))+" = "+quote(Spell(entry.Requirement)))
	}
	if len(lines) > 0 {
		if err := e.insertAfter(e.lastOf(header), strings.Join(lines, e.eol)); err != nil {
			return nil, err
		}
	}
	data = e.data
	for _, entry := range rest {
		if data, err = Set(data, entry.Key, entry.Requirement); err != nil {
			return nil, err
		}
	}
	return data, expectAll(data, entries)
}

// expectAll reads the result back: what was written must mean what was asked.
func expectAll(data []byte, entries []Entry) error {
	m, err := Parse(FileName, data, nil)
	if err != nil {
		return err
	}
	have := make(map[skill.Key]string, len(m.Skills))
	for _, s := range m.Skills {
		have[s.Key] = s.Requirement.String()
	}
	for _, entry := range entries {
		if have[entry.Key] != entry.Requirement.String() {
			return diag.New(diag.Internal, "the edited manifest has `%s` for `%s`, not `%s`", have[entry.Key], entry.Key, entry.Requirement)
		}
	}
	return nil
}
