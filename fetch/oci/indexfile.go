package oci

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// updateIndex replaces index.json under its lock by one with a change applied,
// which find computes while the lock is held.
func (f *folder) updateIndex(ctx context.Context, find func() (change, error)) error {
	lock := flock.New(f.private(indexLockName))
	if err := f.acquire(ctx, lock.TryLockContext); err != nil {
		return err
	}
	defer lock.Close()
	chg, err := find()
	if err != nil {
		return err
	}
	err = f.rewriteIndex(chg, mergeLines)
	if errors.Is(err, errForeignIndex) {
		err = f.rewriteIndex(chg, mergeAny)
	}
	if isDamage(err) {
		return f.rebuildIndex(ctx, chg)
	}
	return err
}

// rebuildIndex makes an index.json that cannot be read anew, from the
// descriptor files. Rows of other tools are lost with it; their blobs stay.
func (f *folder) rebuildIndex(ctx context.Context, chg change) error {
	all := map[string]string{}
	err := f.walkDescriptors(ctx, func(ref Ref, d ocispec.Descriptor) error {
		if chg.drop != nil && chg.drop(ref.Tag()) {
			return nil
		}
		d.Data = nil
		line, err := json.Marshal(d)
		all[ref.Tag()] = string(line)
		return err
	})
	if err != nil {
		return err
	}
	maps.Copy(all, chg.add)
	return f.rewriteIndex(change{add: all}, func(w io.Writer, _ io.Reader, chg change) error {
		return newIndexWriter(w, indexHead, chg).end()
	})
}

func (f *folder) rewriteIndex(chg change, merge func(io.Writer, io.Reader, change) error) error {
	path := filepath.Join(f.path, ocispec.ImageIndexFile)
	var old io.Reader = strings.NewReader(indexHead + indexOpen + "\n" + indexTail)
	if file, err := os.Open(path); err == nil {
		defer file.Close()
		old = file
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replaceFile(path, filepath.Join(f.private("."), tmpPrefix), true, func(w io.Writer) error { return merge(w, old, chg) })
}
