package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
)

var errSize = errors.New("an object is not as long as the pack says")

// open positions the inflater at entry i.
func (p *pack) open(i int32) (io.Reader, error) {
	p.cursor.seek(p.entries[i].data)
	if p.zr == nil {
		zr, err := zlib.NewReader(p.cursor)
		if err != nil {
			return nil, unexpected(err)
		}
		p.zr = zr
		return zr, nil
	}
	if err := p.zr.(zlib.Resetter).Reset(p.cursor, nil); err != nil {
		return nil, unexpected(err)
	}
	return p.zr, nil
}

// stream inflates entry i into w: exactly its size, to the end of the stream.
func (p *pack) stream(i int32, w io.Writer) error {
	r, err := p.open(i)
	if err != nil {
		return err
	}
	size := p.entries[i].size
	n, err := io.Copy(w, io.LimitReader(r, size))
	if err != nil {
		return unexpected(err)
	}
	var one [1]byte
	extra, err := io.ReadFull(r, one[:]) // also makes zlib check its sum
	if n != size || extra != 0 {
		return errSize
	}
	if !errors.Is(err, io.EOF) {
		return unexpected(err)
	}
	return nil
}

// inflate returns entry i's bytes. The size is the server's claim, so memory
// grows with what really comes.
func (p *pack) inflate(i int32) ([]byte, error) {
	size := p.entries[i].size
	if size > maxObject {
		return nil, tooLarge("an object has %d bytes; the limit is %d", size, int64(maxObject))
	}
	var b bytes.Buffer
	b.Grow(int(min(size, 1<<20)) + bytes.MinRead)
	if err := p.stream(i, &b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// scanBody inflates entry i, which the cursor stands before, and finishes it if
// it is a whole object.
func (p *pack) scanBody(i int32, want func(plumbing.ObjectType) bool, visit func(object) error) error {
	e := &p.entries[i]
	if !e.whole() {
		return p.stream(i, io.Discard)
	}
	var data []byte
	var err error
	if want(e.kind) {
		if data, err = p.inflate(i); err != nil {
			return err
		}
		e.id, err = p.hash.of(e.kind, data)
	} else {
		p.hash.begin(e.kind, e.size)
		if err = p.stream(i, p.hash.h); err != nil {
			return err
		}
		e.id, err = p.hash.end()
	}
	if err != nil {
		return err
	}
	p.byID[e.id] = i
	return visit(object{e.kind, e.id, data})
}

// frame is an object on the way from a base to the deltas above it.
type frame struct {
	data     []byte
	children []int32
}

// resolve puts deltas together, depth first from each whole object, so that
// only one chain is in memory at a time.
func (p *pack) resolve(ctx context.Context, children map[int32][]int32, want func(plumbing.ObjectType) bool, visit func(object) error) error {
	for i := range int32(len(p.entries)) {
		if !p.entries[i].whole() || len(children[i]) == 0 {
			continue
		}
		data, err := p.inflate(i)
		if err != nil {
			return err
		}
		if err := p.resolveFrom(ctx, frame{data, children[i]}, p.entries[i].kind, children, want, visit); err != nil {
			return err
		}
	}
	if len(p.pending) > 0 {
		return errors.New("a delta whose base is no object of the pack")
	}
	return nil
}

func (p *pack) resolveFrom(ctx context.Context, root frame, kind plumbing.ObjectType, children map[int32][]int32, want func(plumbing.ObjectType) bool, visit func(object) error) error {
	stack, live := []frame{root}, int64(len(root.data))
	for len(stack) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		top := &stack[len(stack)-1]
		if len(top.children) == 0 {
			live -= int64(len(top.data))
			stack = stack[:len(stack)-1]
			continue
		}
		i := top.children[0]
		top.children = top.children[1:]
		data, err := p.apply(i, top.data)
		if err != nil {
			return err
		}
		id, err := p.hash.of(kind, data)
		if err != nil {
			return err
		}
		p.entries[i].id, p.byID[id] = id, i
		p.claim(i, id, children)
		o := object{kind: kind, id: id}
		if want(kind) {
			o.data = data
		}
		if err := visit(o); err != nil {
			return err
		}
		if len(children[i]) == 0 {
			continue
		}
		if len(stack) >= maxDeltaDepth {
			return tooLarge("a chain of more than %d deltas", maxDeltaDepth)
		}
		if live += int64(len(data)); live > maxDeltaLive {
			return tooLarge("a chain of deltas needs more than %d bytes", int64(maxDeltaLive))
		}
		stack = append(stack, frame{data, children[i]})
	}
	return nil
}

// apply returns the object that delta entry i makes of base.
func (p *pack) apply(i int32, base []byte) ([]byte, error) {
	delta, err := p.inflate(i)
	if err != nil {
		return nil, err
	}
	out, err := applyDelta(base, delta)
	if err != nil {
		return nil, err
	}
	return out, p.account(int64(len(out)))
}

// read returns an object of an indexed pack, and its type.
func (p *pack) read(i int32) (plumbing.ObjectType, []byte, error) {
	var chain []int32
	for !p.entries[i].whole() {
		chain = append(chain, i)
		i = p.entries[i].base
	}
	kind := p.entries[i].kind
	data, err := p.inflate(i)
	for n := len(chain) - 1; n >= 0 && err == nil; n-- {
		var delta []byte
		if delta, err = p.inflate(chain[n]); err == nil {
			data, err = applyDelta(data, delta)
		}
	}
	return kind, data, err
}

var errDelta = errors.New("a delta is malformed")

// applyDelta follows gitformat-pack(5), "Deltified representation".
func applyDelta(base, delta []byte) ([]byte, error) {
	from, delta, ok := deltaSize(delta)
	to, delta, ok2 := deltaSize(delta)
	if !ok || !ok2 || from != int64(len(base)) {
		return nil, errDelta
	}
	if to > maxObject {
		return nil, tooLarge("an object has %d bytes; the limit is %d", to, int64(maxObject))
	}
	out := make([]byte, 0, min(to, 1<<20))
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var piece []byte
		switch {
		case op&0x80 != 0:
			var offset, n int64
			if offset, n, delta, ok = copyArgs(op, delta); !ok || offset+n > int64(len(base)) {
				return nil, errDelta
			}
			piece = base[offset : offset+n]
		case op == 0 || int(op) > len(delta):
			return nil, errDelta
		default:
			piece, delta = delta[:op], delta[op:]
		}
		if int64(len(out)+len(piece)) > to {
			return nil, errDelta
		}
		out = append(out, piece...)
	}
	if int64(len(out)) != to {
		return nil, errDelta
	}
	return out, nil
}

func deltaSize(b []byte) (n int64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 7; i++ {
		n |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}

func copyArgs(op byte, delta []byte) (offset, n int64, rest []byte, ok bool) {
	for bit := range 7 {
		if op&(1<<bit) == 0 {
			continue
		}
		if len(delta) == 0 {
			return 0, 0, nil, false
		}
		if bit < 4 {
			offset |= int64(delta[0]) << (8 * bit)
		} else {
			n |= int64(delta[0]) << (8 * (bit - 4))
		}
		delta = delta[1:]
	}
	if n == 0 {
		n = 0x10000
	}
	return offset, n, delta, true
}
