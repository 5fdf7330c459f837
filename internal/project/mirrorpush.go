package project

import (
	"context"
	"io"
	"sync"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// MirrorResult is what a mirror command did or found.
type MirrorResult struct {
	Mirror string `json:"mirror"`
	// From is the other side of a copy.
	From string `json:"from,omitempty"`
	// Status is success, partial or error.
	Status  string       `json:"status"`
	Done    int          `json:"done"`
	Present int          `json:"present"`
	Failed  int          `json:"failed"`
	Missing int          `json:"missing"`
	Invalid int          `json:"invalid"`
	Blobs   int          `json:"blobs"`
	Bytes   int64        `json:"bytes"`
	Archive skill.Digest `json:"archive,omitempty"`
	Size    int64        `json:"size,omitempty"`
	Items   []MirrorItem `json:"items"`
}

// MirrorItem is one tree, signature or list of versions.
type MirrorItem struct {
	Kind    oci.Kind     `json:"kind"`
	Digest  skill.Digest `json:"digest"`
	Label   string       `json:"label,omitempty"`
	State   oci.State    `json:"state,omitempty"`
	Bytes   int64        `json:"bytes,omitempty"`
	Code    diag.Code    `json:"code,omitempty"`
	Message string       `json:"message,omitempty"`
}

func mirrorResult(m *oci.Mirror, report *oci.Report) *MirrorResult {
	r := &MirrorResult{Mirror: m.String(), Status: "success", Items: []MirrorItem{}}
	if report == nil {
		return r
	}
	r.Archive, r.Size = report.Archive, report.Size
	r.Blobs, r.Bytes = report.Blobs()
	r.Done, r.Present, r.Failed = report.Count(oci.Done), report.Count(oci.Present), report.Count(oci.Failed)
	r.Missing, r.Invalid = report.Count(oci.Missing), report.Count(oci.Invalid)
	for _, o := range report.Outcomes {
		it := MirrorItem{Kind: o.Ref.Kind, Digest: o.Ref.Digest, Label: o.Label, State: o.State, Bytes: o.Bytes}
		if o.Err != nil {
			it.Code, it.Message = diag.CodeOf(o.Err), diag.All(o.Err)[0].Message
		}
		r.Items = append(r.Items, it)
	}
	switch good := r.Done + r.Present; {
	case good == len(r.Items):
	case good == 0:
		r.Status = "error"
	default:
		r.Status = "partial"
	}
	return r
}

// MirrorPush stores what the locks need in the mirror spec. The bytes come from
// the cache, the mirrors and the repositories, as for an install; one that
// cannot be had is a failed item and stops nothing else.
func (p *Project) MirrorPush(ctx context.Context, spec string, locks []NamedLock, opt MirrorOptions) (*MirrorResult, error) {
	orders, err := mirrorOrders(locks)
	if err != nil {
		return nil, err
	}
	m, err := p.openMirror(ctx, spec, opt, true)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	sources := make([]skill.Source, len(orders))
	for i, o := range orders {
		sources[i] = o.src
	}
	p = p.naming(sources...) // whoever hands in a lock names its repositories
	var docs []oci.Item
	var faults diag.List
	if opt.Versions {
		var more []mirrorOrder
		if more, docs, faults, err = p.carryVersions(ctx, locks, orders); err != nil {
			return nil, err
		}
		orders = append(orders, more...)
	}
	report, err := m.Push(ctx, append(p.pushItems(orders), docs...), p.runOptions(opt))
	p.cache.Flush(ctx)
	if err != nil {
		return mirrorResult(m, report), err
	}
	r := mirrorResult(m, report)
	if len(faults) > 0 && r.Status == "success" {
		r.Status = "partial"
	}
	return r, append(diag.All(report.Err()), faults...).Err()
}

// pushItems makes the items of a push. Nothing is fetched before an item of the
// repository is found missing in the mirror; then all of that repository come
// together, as they would for an install.
func (p *Project) pushItems(orders []mirrorOrder) []oci.Item {
	supply := map[string]*supply{}
	var items []oci.Item
	for _, o := range orders {
		id := o.src.Repository()
		if supply[id] == nil {
			supply[id] = newSupply(p)
		}
		s := supply[id]
		s.orders = append(s.orders, o.order)
		items = append(items, oci.TreeItem(o.label, o.digest, func(ctx context.Context) (*skill.Tree, oci.OpenFunc, error) {
			g, err := s.get(ctx, o.order)
			if err != nil {
				return nil, nil, err
			}
			return g.tree, func(path string) (io.ReadCloser, error) { return p.cache.Open(g.digest, path) }, nil
		}))
		if o.bundle == "" {
			continue
		}
		items = append(items, oci.BundleItem(o.label, o.bundle, func(ctx context.Context) ([]byte, error) {
			if _, err := s.get(ctx, o.order); err != nil {
				return nil, err
			}
			return p.cache.Bundle(o.bundle)
		}))
	}
	return items
}

// supply brings the skills of one repository into the store, once.
type supply struct {
	p      *Project
	orders []order
	once   sync.Once
	goods  map[skill.Digest]goods
	errs   map[skill.Digest]error
}

func newSupply(p *Project) *supply {
	return &supply{p: p, goods: map[skill.Digest]goods{}, errs: map[skill.Digest]error{}}
}

func (s *supply) get(ctx context.Context, o order) (goods, error) {
	s.once.Do(func() { s.load(ctx) })
	if err := s.errs[o.digest]; err != nil {
		return goods{}, err
	}
	return s.goods[o.digest], nil
}

// load asks for all at once; one that cannot be had does not take the others
// with it.
func (s *supply) load(ctx context.Context) {
	got, errs := s.p.obtainEach(ctx, s.orders)
	for i, o := range s.orders {
		if errs[i] == nil && got[i].tree == nil { // told with another skill of the repository
			errs[i] = joinFindings(errs)
		}
		if errs[i] != nil {
			s.errs[o.digest] = errs[i]
			continue
		}
		s.goods[o.digest] = got[i]
	}
}

// MirrorVerify proves that the mirror spec holds everything the locks need.
func (p *Project) MirrorVerify(ctx context.Context, spec string, locks []NamedLock, opt MirrorOptions) (*MirrorResult, error) {
	wants, err := mirrorWants(locks)
	if err != nil {
		return nil, err
	}
	m, err := p.openMirror(ctx, spec, opt, false)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	report, err := m.Verify(ctx, wants, p.runOptions(opt))
	if err != nil {
		return mirrorResult(m, report), err
	}
	return mirrorResult(m, report), report.Err()
}

// MirrorCopy copies what the locks need, or everything without locks, from one
// mirror to another, verifying on the way.
func (p *Project) MirrorCopy(ctx context.Context, from, to string, locks []NamedLock, opt MirrorOptions) (*MirrorResult, error) {
	var wants []oci.Want
	if locks != nil {
		var err error
		if wants, err = mirrorWants(locks); err != nil {
			return nil, err
		}
	}
	src, err := p.openMirror(ctx, from, opt, false)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	dst, err := p.openMirror(ctx, to, opt, true)
	if err != nil {
		return nil, err
	}
	defer dst.Close()
	report, err := oci.Copy(ctx, src, dst, wants, p.runOptions(opt))
	if err == nil {
		err = report.Err()
	}
	r := mirrorResult(dst, report)
	r.From = src.String()
	return r, err
}

// MirrorList lists what the mirror spec holds, and with sizes what each takes.
func (p *Project) MirrorList(ctx context.Context, spec string, sizes bool, opt MirrorOptions) (*MirrorResult, error) {
	m, err := p.openMirror(ctx, spec, opt, false)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	r := &MirrorResult{Mirror: m.String(), Status: "success", Items: []MirrorItem{}}
	err = m.List(ctx, func(e oci.Entry) error {
		it := MirrorItem{Kind: e.Ref.Kind, Digest: e.Ref.Digest}
		if sizes {
			var err error
			if it.Bytes, err = m.Size(ctx, e.Ref); err != nil {
				return err
			}
			r.Bytes += it.Bytes
		}
		r.Items = append(r.Items, it)
		r.Present++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// MirrorGCResult is what a collection removed, or would remove.
type MirrorGCResult struct {
	Mirror  string       `json:"mirror"`
	DryRun  bool         `json:"dryRun,omitempty"`
	Kept    int          `json:"kept"`
	Removed []MirrorItem `json:"removed"`
	Blobs   int          `json:"blobs"`
	Bytes   int64        `json:"bytes"`
}

// MirrorGC removes from the mirror spec what none of the locks needs.
func (p *Project) MirrorGC(ctx context.Context, spec string, locks []NamedLock, opt MirrorOptions) (*MirrorGCResult, error) {
	wants, err := mirrorWants(locks)
	if err != nil {
		return nil, err
	}
	keep := map[oci.Ref]bool{}
	for _, w := range wants {
		keep[w.Ref] = true
	}
	for _, l := range locks {
		for _, e := range l.Lock.Skills {
			if src, ok := entrySource(e); ok && e.Source.Type == lockfile.TypeGit {
				keep[oci.VersionsRef(src.WithSubpath("").Identity())] = true
			}
		}
	}
	m, err := p.openMirror(ctx, spec, opt, true)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	removed, err := m.GC(ctx, keep, opt.DryRun)
	if err != nil {
		return nil, err
	}
	r := &MirrorGCResult{Mirror: m.String(), DryRun: opt.DryRun, Kept: len(keep), Removed: []MirrorItem{}, Blobs: removed.Blobs, Bytes: removed.Bytes}
	for _, ref := range removed.Refs {
		r.Removed = append(r.Removed, MirrorItem{Kind: ref.Kind, Digest: ref.Digest})
	}
	return r, nil
}
