package project

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// judgedKey names the facts under which a lock was found acceptable.
func (p *Project) judgedKey(lock []byte) string {
	return string(p.policies.Fingerprint()) + "\x00" + string(skill.DigestOf(lock))
}

// judgedBefore reports whether this lock passed this policy in an earlier run,
// and the clock has not passed the point where that could change.
func (p *Project) judgedBefore(lock []byte) bool {
	data, ok := p.cache.Get(bucketJudged, p.judgedKey(lock))
	if !ok {
		return false
	}
	var until time.Time
	if json.Unmarshal(data, &until) != nil {
		return false
	}
	return until.IsZero() || p.opt.Now().Before(until)
}

func (p *Project) setJudged(lock []byte, until time.Time) {
	if data, err := json.Marshal(until); err == nil {
		p.cache.Put(bucketJudged, p.judgedKey(lock), data)
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
	order order
	content
}

// check brings missing bytes into the store and holds every entry to its bytes
// and to the trust rules, before anything on disk changes.
func (p *Project) check(ctx context.Context, t transaction, change *Change, plan *install.Plan, opt TrustOptions) error {
	for _, key := range opt.AllowUntrusted {
		if t.lock.Get(key) == nil {
			return usage("--allow-untrusted names `%s`, which is not in the lock", key)
		}
	}
	list, err := p.contents(ctx, t.lock, plan)
	if err != nil {
		return err
	}
	var faults diag.List
	var until time.Time
	old := entriesByKey(t.old)
	for _, c := range list {
		v, err := p.checkEntry(ctx, c, old[c.entry.Key], opt)
		if err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		if !v.Until.IsZero() && (until.IsZero() || v.Until.Before(until)) {
			until = v.Until
		}
		p.reportVerdict(c.entry.Key, v)
		p.keepJudgement(c.entry, v)
		change.note(c.entry.Key, v, carries(c.entry, c.tree))
	}
	if err := faults.Err(); err != nil {
		return err
	}
	p.reportGathered()
	if len(opt.AllowUntrusted) == 0 {
		p.setJudged(t.lock.Bytes(), until)
	}
	return nil
}

// contents returns every fetched skill of a lock with its bytes. One that stays
// as it is on disk, as with skills that a team commits, is read there if the
// store does not hold it: nothing is fetched for it.
func (p *Project) contents(ctx context.Context, l *lockfile.Lock, plan *install.Plan) ([]checked, error) {
	moved := touched(plan)
	var list []checked
	var orders []order
	var at []int
	for _, e := range l.Skills {
		if e.Source.Type == lockfile.TypePath {
			continue
		}
		o, ok := wantOf(e)
		if !ok {
			return nil, diag.New(diag.LockCorrupt, "the source of `%s` is not readable", e.Key).At(p.display(p.lockPath()), 0, 0)
		}
		c := checked{entry: e, order: o}
		if !moved[e.Key] && !p.cache.Has(e.Digest) {
			c.content = p.inPlace(ctx, l, e)
		}
		if c.tree == nil {
			orders, at = append(orders, o), append(at, len(list))
		}
		list = append(list, c)
	}
	got, err := p.obtain(ctx, orders)
	if err != nil {
		return nil, err
	}
	for n, i := range at {
		list[i].content = p.stored(got[n].tree)
	}
	return list, nil
}

// inPlace returns an installed skill's content if it is exactly what the lock
// names, signature included, else the zero content.
func (p *Project) inPlace(ctx context.Context, l *lockfile.Lock, e *lockfile.Entry) content {
	c, bundle, err := p.installed(ctx, p.place(l, e))
	if err != nil || c.tree.Digest() != e.Digest {
		return content{}
	}
	if e.Signature != nil {
		if d, err := p.cache.PutBundle(bundle); err != nil || d != e.Signature.Bundle {
			return content{}
		}
	}
	return c
}

// checkEntry holds one entry to its bytes and to the trust rules.
func (p *Project) checkEntry(ctx context.Context, c checked, old *lockfile.Entry, opt TrustOptions) (signing.Verdict, error) {
	err := p.matchesBytes(c.entry, c.content)
	if errors.Is(err, fs.ErrNotExist) { // the store threw a damaged copy away
		var g goods
		if g, err = p.obtainOne(ctx, c.order); err == nil {
			err = p.matchesBytes(c.entry, p.stored(g.tree))
		}
	}
	if err != nil {
		return signing.Verdict{}, err
	}
	v, err := p.judge(ctx, c.entry, c.tree, old, opt)
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return v, named(c.order, err)
	}
	return v, nil
}

// matchesBytes recomputes what the lock says of an entry's content: an edited
// description must not hide behind a right digest.
func (p *Project) matchesBytes(e *lockfile.Entry, c content) error {
	src, _ := entrySource(e)
	s, notes, err := c.parsed(src)
	if err != nil {
		return err
	}
	if p.config.Install.Validation == "strict" {
		if err := strictProblems(e.Key, notes); err != nil {
			return err
		}
	}
	copied := *e
	if err := c.describe(&copied, s); err != nil {
		return err
	}
	if field := contradicted(e, &copied, s); field != "" {
		return p.outdated("`%s`: the lock's %s is not what the locked content says", e.Key, field)
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

// firstDifference names the first field in which two entries differ that their
// content decides.
func firstDifference(a, b *lockfile.Entry) string {
	switch {
	case a.DeclaredName != b.DeclaredName:
		return "declaredName"
	case a.Description != b.Description:
		return "description"
	case !maps.Equal(nonNil(a.Requires), nonNil(b.Requires)):
		return "requires"
	case a.AllowedTools != b.AllowedTools:
		return "allowedTools"
	case a.Size.Body != b.Size.Body || a.Size.Resources != b.Size.Resources || a.Size.Files != b.Size.Files:
		return "size"
	case !sameJSON(a.Training, b.Training):
		return "training"
	}
	return ""
}

func sameJSON(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
