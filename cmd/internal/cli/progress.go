package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/fetch"
)

// progress is the one line that says what is being moved.
type progress struct {
	ui    *ui.Streams
	mu    sync.Mutex
	busy  map[string]string // repository → phase
	bytes int64
	began time.Time
	drawn time.Time
}

// redraw is how often the line changes at most: faster cannot be read.
const redraw = 80 * time.Millisecond

func newProgress(s *ui.Streams) fetch.Progress {
	return &progress{ui: s, busy: map[string]string{}}
}

// Phase implements fetch.Progress.
func (p *progress) Phase(repo, phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() {
		p.began = time.Now()
	}
	if phase == "done" {
		delete(p.busy, repo)
	} else {
		p.busy[repo] = phase
	}
	p.drawLocked()
}

// Bytes implements fetch.Progress.
func (p *progress) Bytes(_ string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += n
	p.drawLocked()
}

func (p *progress) drawLocked() {
	now := time.Now()
	if now.Sub(p.drawn) < redraw && len(p.busy) > 0 {
		return
	}
	p.drawn = now
	if len(p.busy) == 0 {
		p.ui.Status("")
		return
	}
	text := ""
	for repo, phase := range p.busy {
		if text == "" || repo < text { // the first by name, so that the line does not flicker
			text = repo + ": " + phase
		}
	}
	if more := len(p.busy) - 1; more > 0 {
		text += fmt.Sprintf(" (+%d more)", more)
	}
	speed := ""
	if took := now.Sub(p.began); took > time.Second {
		speed = ", " + bytesText(int64(float64(p.bytes)/took.Seconds())) + "/s"
	}
	p.ui.Status(fmt.Sprintf("%s  %s%s", text, bytesText(p.bytes), speed))
}
