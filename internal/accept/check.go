package accept

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// judgedKey names the facts under which a lock was found acceptable.
func judgedKey(p *workspace.Project, lock []byte) string {
	return string(p.Policies.Fingerprint()) + "\x00" + string(skill.DigestOf(lock))
}

// JudgedBefore reports whether this lock passed this policy in an earlier run,
// and the clock has not passed the point where that could change.
func JudgedBefore(p *world.Local, lock []byte) bool {
	data, ok := p.Cache.Get(world.BucketJudged, judgedKey(p.Project, lock))
	if !ok {
		return false
	}
	var until time.Time
	if json.Unmarshal(data, &until) != nil {
		return false
	}
	return until.IsZero() || p.Opt.Now().Before(until)
}

func setJudged(p *world.Local, lock []byte, until time.Time) {
	if data, err := json.Marshal(until); err == nil {
		p.Cache.Put(world.BucketJudged, judgedKey(p.Project, lock), data)
	}
}

// touched returns the keys whose bytes the plan puts somewhere.
func touched(plan *install.Plan) map[string]bool {
	keys := map[string]bool{}
	for _, a := range plan.Actions {
		if a.Kind == install.Create || a.Kind == install.Replace {
			keys[string(a.Key)] = true
		}
	}
	return keys
}

// checked is a locked skill with the bytes it is held to.
type checked struct {
	entry *lockfile.Entry
	order world.Request
	world.Content
}

// Check brings missing bytes into the store and holds every entry to its bytes
// and to the trust rules, before anything on disk changes.
func Check(ctx context.Context, p *world.World, t decide.Transaction, change *decide.Change, plan *install.Plan, opt TrustOptions) error {
	for _, key := range opt.AllowUntrusted {
		if t.Lock.Get(key) == nil {
			return workspace.Usage("--allow-untrusted names `%s`, which is not in the lock", key)
		}
	}
	list, err := contents(ctx, p, t.Lock, plan)
	if err != nil {
		return err
	}
	var faults diag.List
	var until time.Time
	old, placed, git := workspace.EntriesByKey(t.Old), touched(plan), world.NewGitRules(p.Project, t.Lock)
	for _, c := range list {
		v, err := checkEntry(ctx, p, c, old[c.entry.Key], opt)
		if err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		if !v.Until.IsZero() && (until.IsZero() || v.Until.Before(until)) {
			until = v.Until
		}
		ReportVerdict(p.Project, c.entry.Key, v)
		keepJudgement(p.Local, c.entry, v)
		if placed[c.entry.Key] {
			git.Gather(c.entry, c.Content)
		}
		change.Annotate(c.entry.Key, v, decide.Carries(c.entry, c.Tree))
	}
	if err := faults.Err(); err != nil {
		return err
	}
	p.ReportGathered()
	if len(opt.AllowUntrusted) == 0 {
		setJudged(p.Local, t.Lock.Bytes(), until)
	}
	return nil
}

// contents returns every fetched skill of a lock with its bytes. One that stays
// as it is on disk, as with skills that a team commits, is read there if the
// store does not hold it: nothing is fetched for it.
func contents(ctx context.Context, p *world.World, l *lockfile.Lock, plan *install.Plan) ([]checked, error) {
	moved := touched(plan)
	var list []checked
	var orders []world.Request
	var at []int
	for _, e := range l.Skills {
		if e.Source.Type == lockfile.TypePath {
			continue
		}
		o, ok := world.WantOf(e)
		if !ok {
			return nil, diag.New(diag.LockCorrupt, "the source of `%s` is not readable", e.Key).At(p.Display(p.LockPath()), 0, 0)
		}
		c := checked{entry: e, order: o}
		if !moved[e.Key] && !p.Cache.Has(e.Digest) {
			c.Content = inPlace(ctx, p.Local, l, e)
		}
		if c.Tree == nil {
			orders, at = append(orders, o), append(at, len(list))
		}
		list = append(list, c)
	}
	got, err := p.Obtain(ctx, orders)
	if err != nil {
		return nil, err
	}
	for n, i := range at {
		list[i].Content = p.Stored(got[n].Tree)
	}
	return list, nil
}

// inPlace returns an installed skill's content if it is exactly what the lock
// names, signature included, else the zero content.
func inPlace(ctx context.Context, p *world.Local, l *lockfile.Lock, e *lockfile.Entry) world.Content {
	c, bundle, err := p.Installed(ctx, p.Place(l, e))
	if err != nil || c.Tree.Digest() != e.Digest {
		return world.Content{}
	}
	if e.Signature != nil {
		if d, err := p.Cache.PutBundle(bundle); err != nil || d != e.Signature.Bundle {
			return world.Content{}
		}
	}
	return c
}

// checkEntry holds one entry to its bytes and to the trust rules.
func checkEntry(ctx context.Context, p *world.World, c checked, old *lockfile.Entry, opt TrustOptions) (signing.Verdict, error) {
	err := matchesBytes(p.Project, c.entry, c.Content)
	if errors.Is(err, fs.ErrNotExist) { // the store threw a damaged copy away
		var g world.Artifact
		if g, err = p.ObtainOne(ctx, c.order); err == nil {
			err = matchesBytes(p.Project, c.entry, p.Stored(g.Tree))
		}
	}
	if err != nil {
		return signing.Verdict{}, err
	}
	v, err := Judge(ctx, p.Local, c.entry, c.Tree, old, opt)
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return v, world.Named(c.order, err)
	}
	return v, nil
}

// matchesBytes recomputes what the lock says of an entry's content: an edited
// description must not hide behind a right digest.
func matchesBytes(p *workspace.Project, e *lockfile.Entry, c world.Content) error {
	src, _ := workspace.EntrySource(e)
	s, notes, err := c.Parsed(src)
	if err != nil {
		return err
	}
	if p.Config.Install.Validation == "strict" {
		if err := strictProblems(e.Key, notes); err != nil {
			return err
		}
	}
	copied := *e
	if err := c.Describe(&copied, s); err != nil {
		return err
	}
	if field := decide.Contradicted(e, &copied, s); field != "" {
		return p.Outdated("`%s`: the lock's %s is not what the locked content says", e.Key, field)
	}
	return nil
}

func strictProblems(key string, notes diag.List) error {
	var list diag.List
	for _, n := range notes {
		copied := *n
		if copied.Code == diag.FrontmatterRepaired {
			copied.Code = diag.YamlInvalid // a strict reader repairs nothing
		}
		if info, ok := diag.Lookup(copied.Code); ok && info.Exit == 2 {
			copied.Severity = diag.SeverityError
			copied.Details = append([]string{"skill `" + key + "`; `[install] validation = \"strict\"` refuses problems"}, n.Details...)
			list = append(list, &copied)
		}
	}
	return list.Err()
}
