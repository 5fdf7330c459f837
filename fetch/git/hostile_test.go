package git_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
)

// packer writes packs, right or wrong.
type packer struct {
	bytes.Buffer
	n uint32
}

const (
	typeCommit, typeTree, typeBlob, typeTag = 1, 2, 3, 4
	typeOfsDelta, typeRefDelta              = 6, 7
)

// entry adds an object whose header claims size bytes (-1: the truth); between
// header and data stands base.
func (p *packer) entry(kind byte, size int64, base, data []byte) (at int) {
	p.n++
	at = p.Len() + 12
	if size < 0 {
		size = int64(len(data))
	}
	c := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	p.WriteByte(c)
	p.Write(base)
	w := zlib.NewWriter(&p.Buffer)
	_, _ = w.Write(data)
	_ = w.Close()
	return at
}

func (p *packer) finish() []byte {
	b := append([]byte("PACK\x00\x00\x00\x02"), binary.BigEndian.AppendUint32(nil, p.n)...)
	b = append(b, p.Bytes()...)
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

func objectID(kind string, data []byte) []byte {
	sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...))
	return sum[:]
}

// delta makes a delta by instructions: a copy {offset, size} or literal bytes.
func delta(from, to int, ops ...any) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(from)), uint64(to))
	for _, op := range ops {
		switch op := op.(type) {
		case [2]int:
			b = append(b, 0xff, byte(op[0]), byte(op[0]>>8), byte(op[0]>>16), byte(op[0]>>24), byte(op[1]), byte(op[1]>>8), byte(op[1]>>16))
		case string:
			b = append(append(b, byte(len(op))), op...)
		}
	}
	return b
}

// ofs is an ofs-delta's distance, up to 16511.
func ofs(back int) []byte {
	if back < 128 {
		return []byte{byte(back)}
	}
	back -= 128
	return []byte{0x80 | byte(back>>7), byte(back & 0x7f)}
}

func answerWith(pack []byte) []byte {
	b := pkts("packfile\n")
	for len(pack) > 0 {
		n := min(len(pack), 60_000)
		b = append(b, pkts("\x01"+string(pack[:n]))...)
		pack = pack[n:]
	}
	return append(b, "0000"...)
}

// world is a commit, its tree and its one file.
type world struct {
	blob, tree, commit []byte
	id                 fetch.ID
}

func newWorld() world {
	w := world{blob: []byte("---\nname: a\n---\n")}
	w.tree = append([]byte("100644 SKILL.md\x00"), objectID("blob", w.blob)...)
	w.commit = fmt.Appendf(nil, "tree %x\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nm\n", objectID("tree", w.tree))
	w.id = fetch.ID(hex.EncodeToString(objectID("commit", w.commit)))
	return w
}

func (w world) pack(more func(p *packer)) []byte {
	p := &packer{}
	p.entry(typeCommit, -1, nil, w.commit)
	p.entry(typeTree, -1, nil, w.tree)
	p.entry(typeBlob, -1, nil, w.blob)
	if more != nil {
		more(p)
	}
	return p.finish()
}

func TestHostilePacks(t *testing.T) {
	w := newWorld()
	flip := func(b []byte, at int) []byte { b[at] ^= 1; return b }
	resum := func(b []byte) []byte {
		sum := sha1.Sum(b[:len(b)-20])
		return append(b[:len(b)-20], sum[:]...)
	}
	for _, tt := range []struct {
		name string
		pack []byte
		code diag.Code
	}{
		{"good", w.pack(nil), ""},
		{"extra objects", w.pack(func(p *packer) { p.entry(typeBlob, -1, nil, []byte("more")); p.entry(typeTag, -1, nil, []byte("x")) }), ""},
		{"one object twice", w.pack(func(p *packer) { p.entry(typeBlob, -1, nil, w.blob) }), ""},
		{"empty", (&packer{}).finish(), diag.RefNotFound},
		{"no commit", func() []byte { p := &packer{}; p.entry(typeTree, -1, nil, w.tree); return p.finish() }(), diag.RefNotFound},
		{"no tree", func() []byte { p := &packer{}; p.entry(typeCommit, -1, nil, w.commit); return p.finish() }(), diag.PackInvalid},
		{"another commit", func() []byte {
			p := &packer{}
			p.entry(typeCommit, -1, nil, bytes.Replace(w.commit, []byte("m\n"), []byte("n\n"), 1))
			p.entry(typeTree, -1, nil, w.tree)
			return p.finish()
		}(), diag.RefNotFound},
		{"not a pack", []byte("JUNK and some more bytes that are no pack"), diag.PackInvalid},
		{"version 3", resum(flip(w.pack(nil), 7)), diag.PackInvalid},
		{"checksum", flip(w.pack(nil), len(w.pack(nil))-1), diag.PackInvalid},
		{"fewer objects than said", resum(flip(flip(w.pack(nil), 11), 10)), diag.PackInvalid},
		{"more objects than said", resum(func() []byte { b := w.pack(nil); b[11] = 2; return b }()), diag.PackInvalid},
		{"four billion objects", resum(func() []byte { b := w.pack(nil); copy(b[8:12], "\xff\xff\xff\xff"); return b }()), diag.FetchTooLarge},
		{"cut off", w.pack(nil)[:60], diag.PackInvalid},
		{"bytes after the last object", w.pack(func(p *packer) { p.WriteString("x") }), diag.PackInvalid},
		{"size too small", w.pack(func(p *packer) { p.entry(typeBlob, 3, nil, []byte("longer")) }), diag.PackInvalid},
		{"size too large", w.pack(func(p *packer) { p.entry(typeBlob, 300, nil, []byte("short")) }), diag.PackInvalid},
		{"terabyte claimed", w.pack(func(p *packer) { p.entry(typeBlob, 1<<40, nil, []byte("x")) }), diag.FetchTooLarge},
		{"size without end", w.pack(func(p *packer) { p.n++; p.WriteString("\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00") }), diag.PackInvalid},
		{"large tree claimed", w.pack(func(p *packer) { p.entry(typeTree, 300<<20, nil, []byte("x")) }), diag.FetchTooLarge},
		{"unknown type", w.pack(func(p *packer) { p.entry(5, -1, nil, []byte("x")) }), diag.PackInvalid},
		{"bad zlib", w.pack(func(p *packer) { p.n++; p.WriteString("\x31not zlib at all") }), diag.PackInvalid},
		{"delta", w.pack(func(p *packer) {
			at := p.entry(typeBlob, -1, nil, []byte("base"))
			p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), delta(4, 6, [2]int{0, 4}, "xx"))
		}), ""},
		{"delta by id before its base", w.pack(func(p *packer) {
			p.entry(typeRefDelta, -1, objectID("blob", []byte("later")), delta(5, 6, [2]int{0, 5}, "!"))
			p.entry(typeBlob, -1, nil, []byte("later"))
		}), ""},
		{"delta on a delta by id", w.pack(func(p *packer) {
			p.entry(typeRefDelta, -1, objectID("blob", []byte("base!")), delta(5, 6, [2]int{0, 5}, "?"))
			at := p.entry(typeBlob, -1, nil, []byte("base"))
			p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), delta(4, 5, [2]int{0, 4}, "!"))
		}), ""},
		{"delta on nothing", w.pack(func(p *packer) { p.entry(typeRefDelta, -1, make([]byte, 20), delta(4, 4, [2]int{0, 4})) }), diag.PackInvalid},
		{"delta before the pack", w.pack(func(p *packer) { p.entry(typeOfsDelta, -1, ofs(9999), delta(4, 4, [2]int{0, 4})) }), diag.PackInvalid},
		{"delta on itself", w.pack(func(p *packer) { p.entry(typeOfsDelta, -1, []byte{0}, delta(4, 4, [2]int{0, 4})) }), diag.PackInvalid},
		{"delta for another base", w.pack(func(p *packer) {
			at := p.entry(typeBlob, -1, nil, []byte("base"))
			p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), delta(5, 4, [2]int{0, 4}))
		}), diag.PackInvalid},
		{"delta copies past its base", w.pack(func(p *packer) {
			at := p.entry(typeBlob, -1, nil, []byte("base"))
			p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), delta(4, 9, [2]int{2, 9}))
		}), diag.PackInvalid},
		{"delta makes more than it says", w.pack(func(p *packer) {
			at := p.entry(typeBlob, -1, nil, []byte("base"))
			p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), delta(4, 4, [2]int{0, 4}, "x"))
		}), diag.PackInvalid},
		{"delta makes less than it says", w.pack(func(p *packer) {
			at := p.entry(typeBlob, -1, nil, []byte("base"))
			p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), delta(4, 9, [2]int{0, 4}))
		}), diag.PackInvalid},
		{"delta with the reserved instruction", w.pack(func(p *packer) {
			at := p.entry(typeBlob, -1, nil, []byte("base"))
			p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), append(delta(4, 4), 0))
		}), diag.PackInvalid},
		{"delta bomb", w.pack(func(p *packer) {
			// Each level is 255 copies of the one before: 16 MB, then 4 GB.
			at, size := p.entry(typeBlob, -1, nil, bytes.Repeat([]byte("x"), 65000)), 65000
			for range 2 {
				var ops []any
				for range 255 {
					ops = append(ops, [2]int{0, size})
				}
				next := p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), delta(size, 255*size, ops...))
				at, size = next, 255*size
			}
		}), diag.FetchTooLarge},
		{"endless chain", w.pack(func(p *packer) {
			at := p.entry(typeBlob, -1, nil, []byte("base"))
			for range 5000 {
				at = p.entry(typeOfsDelta, -1, ofs(p.Len()+12-at), delta(4, 4, [2]int{0, 4}))
			}
		}), diag.FetchTooLarge},
		{"malformed commit", func() []byte {
			p := &packer{}
			p.entry(typeCommit, -1, nil, []byte("author a <a> 1 +0000\n\nm"))
			return p.finish()
		}(), diag.PackInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fetchtest.Serve(t, t.TempDir(), testkit.Shape{})
			s.SetFault(func() testkit.Fault { return testkit.Answer(answerWith(tt.pack)) }())
			src := newSource(t, git.Options{Named: only(s.Host())})
			_, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: w.id}})
			if got := diag.CodeOf(err); got != tt.code {
				t.Errorf("code %q (%v), want %q", got, err, tt.code)
			}
		})
	}
}

// A server that sends other files than those whose ids were asked for.
func TestForgedFiles(t *testing.T) {
	w := newWorld()
	s := fetchtest.Serve(t, t.TempDir(), testkit.Shape{})
	src := newSource(t, git.Options{Named: only(s.Host())})
	s.SetFault(testkit.Answer(answerWith(w.pack(nil))))
	snap, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: w.id}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"another file": []byte("forged"), "none": nil} {
		p := &packer{}
		if data != nil {
			p.entry(typeBlob, -1, nil, data)
		}
		s.SetFault(testkit.Answer(answerWith(p.finish())))
		_, err := fetch.Load(t.Context(), snap, w.id, "", fetch.LoadOptions{}, nil)
		if diag.CodeOf(err) != diag.PackInvalid {
			t.Errorf("%s: %v, want pack_invalid", name, err)
		}
	}
	s.SetFault(testkit.Answer(answerWith(w.pack(nil))))
	if _, err := fetch.Load(t.Context(), snap, w.id, "", fetch.LoadOptions{}, nil); err != nil {
		t.Errorf("the right file among others: %v", err)
	}
}

// A directory that calls another directory a file.
func TestDirectoryAsFile(t *testing.T) {
	w := newWorld()
	inner := w.tree
	w.tree = append([]byte("100644 SKILL.md\x00"), objectID("tree", inner)...)
	w.commit = fmt.Appendf(nil, "tree %x\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nm\n", objectID("tree", w.tree))
	w.id = fetch.ID(hex.EncodeToString(objectID("commit", w.commit)))
	for _, fact := range []string{"v2", "v2 filter"} { // the whole commit at once, or file by file
		s := fetchtest.Serve(t, t.TempDir(), testkit.Shape{})
		s.SetFault(testkit.Answer(answerWith(w.pack(func(p *packer) { p.entry(typeTree, -1, nil, inner) }))))
		src := newSource(t, git.Options{Named: only(s.Host()), Facts: &facts{m: map[string]string{"git " + s.URL: fact}}})
		snap, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: w.id}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fetch.Load(t.Context(), snap, w.id, "", fetch.LoadOptions{}, nil); diag.CodeOf(err) != diag.PackInvalid {
			t.Errorf("%s: %v, want pack_invalid", fact, err)
		}
	}
}

func TestHostileListings(t *testing.T) {
	id := "0123456789012345678901234567890123456789"
	long := string(bytes.Repeat([]byte("x"), 5000))
	for name, body := range map[string][]byte{
		"name too long":   pkts(id+" refs/heads/"+long+"\n", "flush"),
		"no id":           pkts("xyz refs/heads/main\n", "flush"),
		"sha256 id":       pkts(id+id[:24]+" refs/heads/main\n", "flush"),
		"no name":         pkts(id+"\n", "flush"),
		"odd peeled id":   pkts(id+" refs/tags/v1 peeled:zz\n", "flush"),
		"unexpected mark": []byte("0001"),
		"without end":     bytes.Repeat(pkts("unborn HEAD\n"), 250_000),
	} {
		s := fetchtest.Serve(t, t.TempDir(), testkit.Shape{})
		s.SetFault(testkit.Answer(body))
		src := newSource(t, git.Options{Named: only(s.Host())})
		_, err := src.Refs(t.Context(), parse(t, s.URL+"/acme/skills"))
		if _, ok := errors.AsType[*diag.Error](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
