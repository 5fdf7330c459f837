//go:build darwin || freebsd || netbsd

package install

import (
	"io/fs"
	"syscall"
)

func identity(info fs.FileInfo) fileID {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{st.Ctimespec.Nano(), int64(st.Ino)}
	}
	return fileID{}
}
