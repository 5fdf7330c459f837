package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
)

// pack is a packfile (gitformat-pack(5)) of which every object was inflated,
// put together from its deltas and hashed once, in index. go-git's parser is
// not used here because it neither bounds what it inflates nor lets files stay
// compressed until they are wanted.
type pack struct {
	format  format
	store   *packStore
	entries []packEntry
	byID    map[oid]int32
	cursor  *packCursor
	zr      io.ReadCloser // reused between objects
	hash    hasher
	// pending are deltas whose base, named by id, has not been met yet.
	pending  map[oid][]int32
	inflated int64 // bytes of all objects so far
}

type packEntry struct {
	data int64 // offset of the compressed bytes
	size int64 // inflated; of a delta, the delta's own
	base int32 // entry a delta applies to, -1 for a whole object
	kind plumbing.ObjectType
	id   oid
}

func (e packEntry) whole() bool {
	return e.kind != plumbing.OFSDeltaObject && e.kind != plumbing.REFDeltaObject
}

// object is what index tells its caller of each object.
type object struct {
	kind plumbing.ObjectType
	id   oid
	data []byte // valid during the call; nil for a file nobody asked for
}

// index reads the pack through once. want says of which types the content is
// to be passed to visit; the others are hashed and left. It checks the pack's
// own checksum, every length and every limit.
func (p *pack) index(ctx context.Context, want func(plumbing.ObjectType) bool, visit func(object) error) error {
	err := p.indexAll(ctx, want, visit)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the pack ends in the middle of an object") // not to be taken for the connection's end
	}
	return err
}

func (p *pack) indexAll(ctx context.Context, want func(plumbing.ObjectType) bool, visit func(object) error) error {
	p.cursor, p.hash = newPackCursor(p.store), newHasher(p.format)
	p.cursor.check = func() error { return context.Cause(ctx) }
	defer func() { p.cursor.check = nil }()
	count, err := p.header()
	if err != nil {
		return err
	}
	p.byID = make(map[oid]int32)
	children, err := p.scan(ctx, count, want, visit)
	if err != nil {
		return err
	}
	return p.resolve(ctx, children, want, visit)
}

func (p *pack) header() (uint32, error) {
	var h [12]byte
	if _, err := p.store.ReadAt(h[:], 0); err != nil {
		return 0, unexpected(err)
	}
	if string(h[:4]) != "PACK" || binary.BigEndian.Uint32(h[4:]) != 2 {
		return 0, errors.New("not a version 2 pack")
	}
	count := binary.BigEndian.Uint32(h[8:])
	if count > maxObjects {
		return 0, tooLarge("the pack has %d objects; the limit is %d", count, maxObjects)
	}
	if p.store.size < int64(12+p.format.size) {
		return 0, io.ErrUnexpectedEOF
	}
	return count, p.checksum()
}

// checksum compares the trailer with the hash of everything before it. It only
// guards against accidents, so the fast SHA-1 does: objects have the careful one.
func (p *pack) checksum() error {
	end := p.store.size - int64(p.format.size)
	h := p.format.algo.New()
	p.cursor.seek(0)
	if _, err := io.Copy(h, io.LimitReader(p.cursor, end)); err != nil {
		return err
	}
	trailer := make([]byte, p.format.size)
	if _, err := p.store.ReadAt(trailer, end); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(h.Sum(nil), trailer) {
		return errors.New("the pack's checksum is wrong")
	}
	return nil
}

// scan reads entry by entry, inflating each to find where the next begins. Whole
// objects are done with here; for the rest it returns, by base, which deltas
// apply to it.
func (p *pack) scan(ctx context.Context, count uint32, want func(plumbing.ObjectType) bool, visit func(object) error) (map[int32][]int32, error) {
	children := map[int32][]int32{}
	byOffset := make(map[int64]int32)
	p.pending = map[oid][]int32{}
	p.cursor.seek(12)
	for i := range int32(count) {
		if i&63 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		at := p.cursor.pos()
		e, baseOffset, baseID, err := p.entryHeader(at)
		if err != nil {
			return nil, unexpected(err)
		}
		if err := p.account(e.size); err != nil {
			return nil, err
		}
		byOffset[at] = i
		switch e.kind {
		case plumbing.OFSDeltaObject:
			base, ok := byOffset[baseOffset]
			if !ok {
				return nil, errors.New("a delta whose base is no object of the pack")
			}
			e.base = base
			children[base] = append(children[base], i)
		case plumbing.REFDeltaObject:
			p.pending[baseID] = append(p.pending[baseID], i)
		}
		p.entries = append(p.entries, e)
		if err := p.scanBody(i, want, visit); err != nil {
			return nil, err
		}
	}
	if p.cursor.pos() != p.store.size-int64(p.format.size) {
		return nil, errors.New("the pack has bytes after its last object")
	}
	for i := range p.entries {
		if p.entries[i].whole() {
			p.claim(int32(i), p.entries[i].id, children)
		}
	}
	return children, nil
}

func (p *pack) account(size int64) error {
	if p.inflated += size; p.inflated > maxInflated {
		return tooLarge("the pack's objects have more than %d bytes", int64(maxInflated))
	}
	return nil
}

// claim gives the deltas that wait for object i, now known as id, to children.
func (p *pack) claim(i int32, id oid, children map[int32][]int32) {
	list := p.pending[id]
	if list == nil {
		return
	}
	for _, delta := range list {
		p.entries[delta].base = i
	}
	children[i] = append(children[i], list...)
	delete(p.pending, id)
}

func (p *pack) entryHeader(at int64) (e packEntry, baseOffset int64, baseID oid, err error) {
	c, err := p.cursor.ReadByte()
	if err != nil {
		return e, 0, baseID, err
	}
	e.kind, e.size, e.base = plumbing.ObjectType(c>>4&7), int64(c&15), -1
	for shift := 4; c&0x80 != 0; shift += 7 {
		if shift > 40 { // 2^47 bytes are over every limit
			return e, 0, baseID, errors.New("an object's size is too long")
		}
		if c, err = p.cursor.ReadByte(); err != nil {
			return e, 0, baseID, err
		}
		e.size |= int64(c&0x7f) << shift
	}
	switch e.kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	case plumbing.OFSDeltaObject:
		back, err := p.readOffset()
		if err != nil {
			return e, 0, baseID, err
		}
		baseOffset = at - back
	case plumbing.REFDeltaObject:
		if _, err := io.ReadFull(p.cursor, baseID[:p.format.size]); err != nil {
			return e, 0, baseID, err
		}
	default:
		return e, 0, baseID, fmt.Errorf("an object of type %d", e.kind)
	}
	e.data = p.cursor.pos()
	return e, baseOffset, baseID, nil
}

// readOffset reads an ofs-delta's distance: seven bits a byte, with one added
// for each continuation.
func (p *pack) readOffset() (int64, error) {
	c, err := p.cursor.ReadByte()
	if err != nil {
		return 0, err
	}
	back := int64(c & 0x7f)
	for n := 0; c&0x80 != 0; n++ {
		if n > 6 {
			return 0, errors.New("a delta's offset is too long")
		}
		if c, err = p.cursor.ReadByte(); err != nil {
			return 0, err
		}
		back = (back+1)<<7 | int64(c&0x7f)
	}
	if back <= 0 {
		return 0, errors.New("a delta that is its own base")
	}
	return back, nil
}
