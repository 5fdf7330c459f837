package world

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// LastRetraction is what this machine last heard of a withdrawn version.
type LastRetraction struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
}

func retractionKey(src skill.Source, version string) string {
	return strings.Join([]string{src.Repository(), src.Subpath(), version}, "\x00")
}

// LearnRetraction keeps what a run that asked found out of a version, for those
// that do not ask. A version that stands again is forgotten.
func (p *Local) LearnRetraction(src skill.Source, version, reason string, withdrawn bool) {
	key := retractionKey(src, version)
	if !withdrawn {
		if data, known := p.Cache.Get(bucketRetracted, key); known && len(data) > 0 {
			p.Cache.Put(bucketRetracted, key, nil)
		}
		return
	}
	if data, err := json.Marshal(LastRetraction{p.Opt.Now().UTC(), reason}); err == nil {
		p.Cache.Put(bucketRetracted, key, data)
	}
}

// KnownRetractions returns by key what is known of locked versions without
// asking: from an earlier run, with its time, else from the lock, which tells no
// time. The index is opened once.
func (p *Local) KnownRetractions(entries []*lockfile.Entry) map[string]LastRetraction {
	out := map[string]LastRetraction{}
	keys := map[string]string{}
	var wanted []string
	for _, e := range entries {
		if e.Retracted != "" {
			out[e.Key] = LastRetraction{Reason: e.Retracted}
		}
		if src, ok := workspace.EntrySource(e); ok && e.Source.Tag != "" {
			keys[e.Key] = retractionKey(src, e.Version)
			wanted = append(wanted, keys[e.Key])
		}
	}
	known := p.Cache.GetAll(bucketRetracted, wanted)
	for key, stored := range keys {
		var r LastRetraction
		if data := known[stored]; len(data) > 0 && json.Unmarshal(data, &r) == nil {
			out[key] = r
		}
	}
	return out
}

// ReportRetractions warns of withdrawn versions in a lock, as last known.
func (p *Local) ReportRetractions(l *lockfile.Lock) {
	known := p.KnownRetractions(l.Skills)
	for _, e := range l.Skills {
		r, ok := known[e.Key]
		if !ok {
			continue
		}
		f := diag.Warn(diag.VersionRetracted, "`%s` %s was retracted: %s", e.Key, e.Version, r.Reason)
		if !r.Time.IsZero() {
			f.WithDetail("as of %s", r.Time.Format("2006-01-02 15:04 MST"))
		}
		p.Gather(diag.VersionRetracted, e.Key, f.WithHint("`skillpm outdated` shows what stands, `skillpm update %s` moves to it", e.Key))
	}
	p.ReportGathered()
}

// Withdrawn returns which versions a list of retractions takes back, and why.
func Withdrawn(list []parse.Retraction) func(skill.Version) (reason string, ok bool) {
	return func(v skill.Version) (string, bool) {
		for _, r := range list {
			for _, rng := range r.Ranges {
				if resolver.Match(rng, v) {
					return r.Reason, true
				}
			}
		}
		return "", false
	}
}
