package git

import (
	"bytes"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// Whatever a server sends, reading it ends, without a panic.
func FuzzPack(f *testing.F) {
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x33x\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &pack{format: sha1Format, store: &packStore{}}
		h := newHasher(sha1Format)
		h.h.Reset()
		h.h.Write(data)
		if _, err := p.store.Write(h.h.Sum(data)); err != nil { // a right checksum lets the rest be reached
			t.Fatal(err)
		}
		_ = p.index(t.Context(), func(plumbing.ObjectType) bool { return true }, func(o object) error {
			switch o.kind {
			case plumbing.CommitObject:
				_, _ = parseCommit(sha1Format, o.data)
			case plumbing.TreeObject:
				_, _ = parseTree(sha1Format, o.data)
			}
			return nil
		})
	})
}

func FuzzAdvertisement(f *testing.F) {
	f.Add([]byte("000eversion 2\n0000"))
	f.Add([]byte("001e# service=git-upload-pack\n0000003f0123456789012345678901234567890123456789 HEAD\x00symref=HEAD:x\n0000"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = readAdvertisement(bytes.NewReader(data))
		_, _ = readLsRefs(newPktReader(bytes.NewReader(data)), sha1Format)
		if r, err := openPack(newPktReader(bytes.NewReader(data))); err == nil {
			_, _ = bytes.NewBuffer(nil).ReadFrom(r)
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("base"), []byte("\x04\x05\x90\x04\x01x"))
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		_, _ = applyDelta(base, delta)
	})
}
