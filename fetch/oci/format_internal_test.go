package oci

import (
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// An empty blob is one like any other; a size below nothing is a lie.
func TestCheckDescriptor(t *testing.T) {
	for size, ok := range map[int64]bool{-1: false, 0: true, 1: true} {
		err := checkDescriptor(ocispec.Descriptor{Digest: digest.FromString(""), Size: size})
		if (err == nil) != ok {
			t.Errorf("size %d: %v", size, err)
		}
	}
}
