package cli

import "github.com/skillpm/skillpm/cmd/internal/ui"

// message is a Result that is one sentence for people and empty for programs:
// the exit status says it all.
type message struct {
	sentence string
}

// Text implements Result.
func (m message) Text(s *ui.Streams) { s.Infof("%s", m.sentence) }
