//go:build unix

package fsx

import (
	"io/fs"
	"os"
	"syscall"
)

// Owner returns the number of the user that a file belongs to. It is not known
// on Windows.
func Owner(info fs.FileInfo) (uid int, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// Self returns the number of the user this process acts for.
func Self() int { return os.Geteuid() }
