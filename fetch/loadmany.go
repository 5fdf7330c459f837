package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Loaded is one result of LoadMany.
type Loaded struct {
	Content *Content
	Err     error // then Content is nil
}

// LoadMany is Load for several skills of one snapshot, whose files are fetched
// together. sink is told the index of the skill; what it received for a skill
// whose Err is set is to be thrown away. The result has the order of at. The
// function's own error, as one of sink, concerns all.
func LoadMany(ctx context.Context, s Snapshot, at []SkillAt, opt LoadOptions, sink func(i int, f skill.File, data []byte) error) ([]Loaded, error) {
	if opt.Limits == (skill.Limits{}) {
		opt.Limits = skill.DefaultLimits
	}
	l := &loader{items: make([]item, len(at)), sink: sink}
	o := newObjects(s)
	err := o.settle(ctx, func() error {
		for i, a := range at {
			l.items[i].plan(ctx, o, a, opt)
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, err
	}
	if len(opt.Beside) > 0 {
		if l.beside, err = besides(ctx, o, opt.Beside); err != nil {
			return nil, err
		}
	}
	if err := l.read(ctx, s); err != nil {
		return nil, err
	}
	out := make([]Loaded, len(at))
	for i := range l.items {
		out[i] = l.items[i].finish()
	}
	return out, nil
}

// besides returns the blobs of the SKILL.md files that there are.
func besides(ctx context.Context, o *objects, at []SkillAt) ([]ID, error) {
	found, ids, err := findSkills(ctx, o, at)
	if err != nil {
		return nil, err
	}
	var out []ID
	for i, f := range found {
		if f.Err == nil {
			out = append(out, ids[i])
		}
	}
	return out, nil
}

// item is one skill that is being loaded.
type item struct {
	*expander
	commit    Commit
	files     []skill.File
	signature []byte
	total     int64
	err       error
}

// plan lists the skill's files. It is called again after links were read.
func (it *item) plan(ctx context.Context, o *objects, a SkillAt, opt LoadOptions) {
	v, c, err := o.view(a.Commit)
	*it = item{commit: c, err: err, expander: &expander{v: v, ctx: ctx, place: place{opt.Repository, a.Path}, limits: opt.Limits}}
	if err != nil {
		return
	}
	at, err := it.place.enter(v)
	if err == nil {
		err = it.run(at)
	}
	if it.err = err; err == nil {
		it.err = it.findings.Err()
	}
}

type loader struct {
	items   []item
	sink    func(i int, f skill.File, data []byte) error
	missing map[ID][]use // blobs that have not come yet
	beside  []ID         // of no item, to come with the first request
	sinkErr error
	// failures counts fetches that failed since one succeeded.
	failures int
}

// use is one place where a blob is wanted.
type use struct{ item, file int }

// read fetches what the items need, all together. If that fails for a reason
// that may lie in one file, such as one that the server has lost, halves are
// tried, so that the other skills come through.
func (l *loader) read(ctx context.Context, s Snapshot) error {
	l.missing = map[ID][]use{}
	all := make([]int, len(l.items))
	for i := range l.items {
		all[i] = i
		if l.items[i].err != nil {
			continue
		}
		for n, f := range l.items[i].planned {
			l.missing[f.id] = append(l.missing[f.id], use{i, n})
		}
	}
	return l.readItems(ctx, s, all)
}

// maxFailures is after how many failures in a row no further half is tried: one
// file among the most skills that a repository has is found in sixteen.
const maxFailures = 20

func (l *loader) readItems(ctx context.Context, s Snapshot, items []int) error {
	ids := l.missingOf(items)
	if len(ids) == 0 {
		return nil
	}
	ids, l.beside = append(ids, l.beside...), nil
	err := l.fetch(ctx, s, ids)
	if err == nil {
		l.failures = 0
		return nil
	}
	if l.failures++; l.sinkErr != nil || ctx.Err() != nil || !mayBeOneFile(err) || l.failures > maxFailures {
		return err
	}
	if len(items) == 1 {
		l.items[items[0]].err = err
		return nil
	}
	half := len(items) / 2
	if err := l.readItems(ctx, s, items[:half]); err != nil {
		return err
	}
	return l.readItems(ctx, s, items[half:])
}

func mayBeOneFile(err error) bool {
	e := diag.All(err)[0]
	switch e.Code {
	case diag.PackInvalid, diag.CommitGone, diag.FetchFailed, diag.FetchTooLarge:
		return e.Reason != ReasonTemporary
	}
	return false
}

// missingOf returns what items still need, in the order of their files.
func (l *loader) missingOf(items []int) []ID {
	var ids []ID
	asked := map[ID]bool{}
	for _, i := range items {
		if l.items[i].err != nil {
			continue
		}
		for _, f := range l.items[i].planned {
			if _, ok := l.missing[f.id]; ok && !asked[f.id] {
				asked[f.id] = true
				ids = append(ids, f.id)
			}
		}
	}
	return ids
}

func (l *loader) fetch(ctx context.Context, s Snapshot, ids []ID) error {
	return s.Blobs(ctx, ids, func(id ID, data []byte) error {
		sum := sha256.Sum256(data)
		uses := l.missing[id]
		delete(l.missing, id)
		for _, u := range uses {
			it := &l.items[u.item]
			f, ok := it.take(it.planned[u.file], data, sum)
			if !ok || l.sink == nil {
				continue
			}
			if l.sinkErr = l.sink(u.item, f, data); l.sinkErr != nil {
				return l.sinkErr
			}
		}
		return nil
	})
}

// take adds a file whose content has come, and reports whether it is one for
// the sink.
func (it *item) take(p plannedFile, data []byte, sum [sha256.Size]byte) (f skill.File, ok bool) {
	switch {
	case it.err != nil:
		return f, false
	case p.path == skill.SignatureFile && len(data) > maxSignatureBytes:
		it.err = diag.New(diag.SignatureTooLarge, "%s: %s has %d bytes; the limit is %d", it.place, p.path, len(data), maxSignatureBytes).
			WithHint("ask the author to sign again: a bundle has some kilobytes")
		return f, false
	case p.path == skill.SignatureFile:
		it.signature = append([]byte{}, data...)
		return f, false
	case int64(len(data)) > it.limits.FileBytes:
		it.err = it.tooLarge("file %q has %d bytes; the limit is %d", p.path, len(data), it.limits.FileBytes)
		return f, false
	case isLFSPointer(data):
		it.finding(diag.LfsPointer, p.path, "`%s` is a pointer of Git LFS, not the file itself", "the author has to commit the file itself, or the skill has to do without it")
		return f, false
	}
	if it.total += int64(len(data)); it.total > it.limits.Bytes {
		it.err = it.tooLarge("more than %d bytes in all", it.limits.Bytes)
		return f, false
	}
	f = skill.File{Path: p.path, Exec: p.exec, Size: int64(len(data)), SHA256: sum}
	it.files = append(it.files, f)
	return f, true
}

func (it *item) finish() Loaded {
	if it.err == nil {
		it.findings.Sort()
		it.err = it.findings.Err()
	}
	if it.err != nil {
		return Loaded{Err: it.err}
	}
	tree, err := skill.NewTree(it.files, it.limits)
	if err != nil {
		return Loaded{Err: diag.New(diag.Code(skill.CodeOf(err)), "%s: %v", it.place, err)}
	}
	return Loaded{Content: &Content{
		Tree: tree, GitTree: it.gitTree, SkillFile: it.skillFile,
		Signature: it.signature, Time: it.commit.Time,
	}}
}

// maxSignatureBytes bounds the signature, which is no part of the tree and of its
// limits. A mirror holds no larger one either; real ones have 5 to 300 KB.
const maxSignatureBytes = 8 << 20

// lfsHeader begins every pointer file of Git LFS, which by its specification
// have fewer than 1024 bytes.
var lfsHeader = []byte("version https://git-lfs.github.com/spec/v1\n")

func isLFSPointer(data []byte) bool {
	return len(data) < 1024 && bytes.HasPrefix(data, lfsHeader) && bytes.Contains(data, []byte("\noid sha256:"))
}
