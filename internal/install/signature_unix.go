//go:build unix && !darwin && !freebsd && !netbsd

package install

import (
	"io/fs"
	"syscall"
)

func identity(info fs.FileInfo) fileID {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{st.Ctim.Nano(), int64(st.Ino)}
	}
	return fileID{}
}
