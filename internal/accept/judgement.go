package accept

import (
	"encoding/json"
	"time"

	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/signing"
)

// judgement is the last verdict on an entry, in words, for commands that show
// it without verifying anew.
type judgement struct {
	Summary string        `json:"summary"`
	State   signing.State `json:"state"`
	From    time.Time     `json:"from,omitzero"`
	Until   time.Time     `json:"until,omitzero"`
}

// judgementKey names everything a judgement depends on but the clock: the rules,
// the source that decides which of them match, content and signature.
func judgementKey(p *workspace.Project, e *lockfile.Entry) string {
	key := "entry\x00" + string(p.Policies.Fingerprint()) + "\x00" + workspace.SourceText(e) + "\x00" + string(e.Digest)
	if e.Signature != nil {
		key += "\x00" + string(e.Signature.Bundle)
	}
	return key
}

// keepJudgement remembers a verdict on a signed entry. One that a flag overruled
// is not kept: it was for one run.
func keepJudgement(p *world.Local, e *lockfile.Entry, v signing.Verdict) {
	if e.Signature == nil || v.Allowed {
		return
	}
	data, err := json.Marshal(judgement{v.Summary(), v.State, v.From, v.Until})
	if err == nil {
		p.Cache.Put(world.BucketJudged, judgementKey(p.Project, e), data)
	}
}

// Judgements returns what is known of the entries' signatures without reading
// any: "not signed", the last verdict under today's rules, or the claim alone.
func Judgements(p *world.Local, entries []*lockfile.Entry) map[string]judgement {
	out := make(map[string]judgement, len(entries))
	var keys []string
	for _, e := range entries {
		switch {
		case e.Source.Type == lockfile.TypePath:
			out[e.Key] = judgement{Summary: "local"}
		case e.Signature == nil:
			out[e.Key] = judgement{Summary: "not signed", State: signing.StateUntrusted}
		default:
			keys = append(keys, judgementKey(p.Project, e))
		}
	}
	if len(keys) == 0 {
		return out
	}
	known := p.Cache.GetAll(world.BucketJudged, keys)
	for _, e := range entries {
		if e.Signature == nil || e.Source.Type == lockfile.TypePath {
			continue
		}
		j := judgement{Summary: "signed by " + e.Signature.Signer() + ", not judged here; `skillpm verify` judges"}
		var kept judgement
		if data, ok := known[judgementKey(p.Project, e)]; ok && json.Unmarshal(data, &kept) == nil {
			v := signing.Verdict{From: kept.From, Until: kept.Until}
			if v.ValidAt(p.Opt.Now()) {
				j = kept
			}
		}
		out[e.Key] = j
	}
	return out
}
