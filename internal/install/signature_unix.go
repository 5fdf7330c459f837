//go:build unix && !darwin && !freebsd && !netbsd

package install

import (
	"io/fs"
	"syscall"
)

func identity(info fs.FileInfo) fileID {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return newFileID(st.Ctim.Nano(), int64(st.Ino), uint64(st.Nlink))
	}
	return fileID{}
}
