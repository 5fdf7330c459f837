package accept

import (
	"context"
	"encoding/json"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// TrustOptions are the one-time permissions of a run.
type TrustOptions struct {
	// AllowUntrusted names skills whose refusal by policy is overruled.
	AllowUntrusted []string
	// AcceptSignerChange and AcceptDowngrade permit what their names say.
	AcceptSignerChange, AcceptDowngrade bool
}

func (o TrustOptions) allows(key string) bool {
	for _, k := range o.AllowUntrusted {
		if k == key {
			return true
		}
	}
	return false
}

// Judge verifies one entry's signature over its staged tree.
func Judge(ctx context.Context, p *world.Local, e *lockfile.Entry, tree *skill.Tree, old *lockfile.Entry, opt TrustOptions) (signing.Verdict, error) {
	src, ok := workspace.EntrySource(e)
	if !ok {
		return signing.Verdict{}, diag.New(diag.LockCorrupt, "the source of `%s` is not readable", e.Key)
	}
	if err := p.Policies.CheckSource(src); err != nil {
		return signing.Verdict{}, err
	}
	in := signing.Input{
		Key: skill.Key(e.Key), Name: e.Name(), Source: src, Tree: tree, Policies: p.Policies, Now: p.Opt.Now(),
		AllowUntrusted: opt.allows(e.Key), AcceptSignerChange: opt.AcceptSignerChange, AcceptDowngrade: opt.AcceptDowngrade,
	}
	if e.Signature != nil {
		data, err := p.Cache.Bundle(e.Signature.Bundle)
		if err != nil {
			return signing.Verdict{}, diag.New(diag.SignatureMissing, "the signature of `%s` is not in the cache", e.Key).WithCause(err)
		}
		in.Bundle = data
	}
	if old != nil && old.Source.Type != lockfile.TypePath {
		in.Locked = &signing.Locked{Digest: old.Digest, Signature: workspace.FactsOf(old.Signature)}
	}
	return Verdict(ctx, p, in), nil
}

// Verdict verifies, and names the file of the rule as people write it: policies
// know it in full, since the keys they name lie beside it.
func Verdict(ctx context.Context, p *world.Local, in signing.Input) signing.Verdict {
	v := fullVerdict(ctx, p, in)
	v.File = p.Display(v.File)
	return v
}

// fullVerdict verifies, or takes a verdict of an earlier run over the same facts.
func fullVerdict(ctx context.Context, p *world.Local, in signing.Input) signing.Verdict {
	if in.Bundle == nil {
		return signing.Verify(ctx, in)
	}
	key := string(signing.CacheKey(in))
	if data, ok := p.Cache.Get(world.BucketVerdicts, key); ok {
		var v signing.Verdict
		if json.Unmarshal(data, &v) == nil && v.Outcome != "" && v.ValidAt(in.Now) {
			return v
		}
	}
	v := signing.Verify(ctx, in)
	if data, err := json.Marshal(v); err == nil && ctx.Err() == nil {
		p.Cache.Put(world.BucketVerdicts, key, data)
	}
	return v
}

// ReportVerdict passes a verdict's notes on. Those that many skills share are
// gathered and told once, by reportGathered.
func ReportVerdict(p *workspace.Project, key string, v signing.Verdict) {
	for _, n := range v.Notes {
		if n.Code == diag.Unsigned || n.Code == diag.SignerUnverified {
			p.Gather(n.Code, key, nil)
			continue
		}
		e := diag.New(n.Code, "`%s`: %s", key, n.Message)
		e.Severity, e.Hint = n.Severity, n.Hint
		p.Opt.Report(e)
	}
}
