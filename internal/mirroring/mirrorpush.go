package mirroring

import (
	"context"
	"io"
	"sync"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
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
func MirrorPush(ctx context.Context, p *world.World, spec string, locks []NamedLock, opt MirrorOptions) (*MirrorResult, error) {
	orders, err := mirrorOrders(locks)
	if err != nil {
		return nil, err
	}
	m, err := openMirror(ctx, p.Project, spec, opt, true)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	sources := make([]skill.Source, len(orders))
	for i, o := range orders {
		sources[i] = o.Src
	}
	p = p.Naming(sources...) // whoever hands in a lock names its repositories
	var docs []oci.Item
	var faults diag.List
	if opt.Versions {
		var more []mirrorOrder
		if more, docs, faults, err = carryVersions(ctx, p, locks, orders); err != nil {
			return nil, err
		}
		orders = append(orders, more...)
	}
	report, err := m.Push(ctx, append(pushItems(p, orders), docs...), runOptions(p.Project, opt))
	p.Cache.Flush(ctx)
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
func pushItems(p *world.World, orders []mirrorOrder) []oci.Item {
	supply := map[string]*supply{}
	var items []oci.Item
	for _, o := range orders {
		id := o.Src.Repository()
		if supply[id] == nil {
			supply[id] = newSupply(p)
		}
		s := supply[id]
		s.orders = append(s.orders, o.Request)
		items = append(items, oci.TreeItem(o.label, o.Digest, func(ctx context.Context) (*skill.Tree, oci.OpenFunc, error) {
			g, err := s.get(ctx, o.Request)
			if err != nil {
				return nil, nil, err
			}
			return g.Tree, func(path string) (io.ReadCloser, error) { return p.Cache.Open(g.Digest, path) }, nil
		}))
		if o.Bundle == "" {
			continue
		}
		items = append(items, oci.BundleItem(o.label, o.Bundle, func(ctx context.Context) ([]byte, error) {
			if _, err := s.get(ctx, o.Request); err != nil {
				return nil, err
			}
			return p.Cache.Bundle(o.Bundle)
		}))
	}
	return items
}

// supply brings the skills of one repository into the store, once.
type supply struct {
	p      *world.World
	orders []world.Request
	once   sync.Once
	goods  map[skill.Digest]world.Artifact
	errs   map[skill.Digest]error
}

func newSupply(p *world.World) *supply {
	return &supply{p: p, goods: map[skill.Digest]world.Artifact{}, errs: map[skill.Digest]error{}}
}

func (s *supply) get(ctx context.Context, o world.Request) (world.Artifact, error) {
	s.once.Do(func() { s.load(ctx) })
	if err := s.errs[o.Digest]; err != nil {
		return world.Artifact{}, err
	}
	return s.goods[o.Digest], nil
}

// load asks for all at once; one that cannot be had does not take the others
// with it.
func (s *supply) load(ctx context.Context) {
	got, errs := s.p.ObtainEach(ctx, s.orders)
	for i, o := range s.orders {
		if errs[i] == nil && got[i].Tree == nil { // told with another skill of the repository
			errs[i] = world.JoinFindings(errs)
		}
		if errs[i] != nil {
			s.errs[o.Digest] = errs[i]
			continue
		}
		s.goods[o.Digest] = got[i]
	}
}

// MirrorVerify proves that the mirror spec holds everything the locks need.
func MirrorVerify(ctx context.Context, p *workspace.Project, spec string, locks []NamedLock, opt MirrorOptions) (*MirrorResult, error) {
	wants, err := mirrorWants(locks)
	if err != nil {
		return nil, err
	}
	m, err := openMirror(ctx, p, spec, opt, false)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	report, err := m.Verify(ctx, wants, runOptions(p, opt))
	if err != nil {
		return mirrorResult(m, report), err
	}
	return mirrorResult(m, report), report.Err()
}

// MirrorCopy copies what the locks need, or everything without locks, from one
// mirror to another, verifying on the way.
func MirrorCopy(ctx context.Context, p *workspace.Project, from, to string, locks []NamedLock, opt MirrorOptions) (*MirrorResult, error) {
	var wants []oci.Want
	if locks != nil {
		var err error
		if wants, err = mirrorWants(locks); err != nil {
			return nil, err
		}
	}
	src, err := openMirror(ctx, p, from, opt, false)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	dst, err := openMirror(ctx, p, to, opt, true)
	if err != nil {
		return nil, err
	}
	defer dst.Close()
	report, err := oci.Copy(ctx, src, dst, wants, runOptions(p, opt))
	if err == nil {
		err = report.Err()
	}
	r := mirrorResult(dst, report)
	r.From = src.String()
	return r, err
}

// MirrorList lists what the mirror spec holds, and with sizes what each takes.
func MirrorList(ctx context.Context, p *workspace.Project, spec string, sizes bool, opt MirrorOptions) (*MirrorResult, error) {
	m, err := openMirror(ctx, p, spec, opt, false)
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
func MirrorGC(ctx context.Context, p *workspace.Project, spec string, locks []NamedLock, opt MirrorOptions) (*MirrorGCResult, error) {
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
			if src, ok := workspace.EntrySource(e); ok && e.Source.Type == lockfile.TypeGit {
				keep[oci.VersionsRef(src.WithSubpath("").Identity())] = true
			}
		}
	}
	m, err := openMirror(ctx, p, spec, opt, true)
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
