//go:build !race

package cache_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/skillpm/skillpm/cache"
)

// Every single flipped byte of the index either is harmless or makes the fact
// unknown. Not under the race detector: its pointer checks end the process
// where bbolt follows a broken page, which the cache otherwise survives.
func TestFlippedByteNeverLies(t *testing.T) {
	const fact = "the one true value"
	file, good := indexOf(t, fact)
	for at := 0; at < len(good); at += 31 {
		bad := append([]byte{}, good...)
		bad[at] ^= 0x40
		must(t, os.WriteFile(file, bad, 0o600))
		c := open(t, filepath.Dir(file), cache.Options{})
		if got, ok := c.Get("facts", "key"); ok && string(got) != fact {
			t.Fatalf("byte %d flipped: the index says %q", at, got)
		}
		must(t, c.Close())
	}
}
