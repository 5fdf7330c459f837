// Package fsx is the only writer of files: everything skillpm puts on disk for
// a project or the store goes through it. It adds three things to package os.
//
//   - Roots. A Root is an os.Root: no path, link or ".." leads out of it.
//   - Atomic files. WriteAtomic is temporary file in the same directory, write,
//     sync, close, rename, sync of the directory: a reader, or a power cut, sees
//     the old file or the new one.
//   - Faults. A Hook is called before and after every call that touches the
//     disk, so that a test can end the process, or inject ENOSPC, EACCES and
//     EROFS, at call k for every k. Fakes make a disk behave like the ones that
//     have no symbolic links, fold case, reserve names, bound path lengths or
//     refuse to rename what is open.
//
// Paths given to a Root are slash paths. Errors are *fs.PathError or
// *os.LinkError with the whole path; Diag turns one into a finding with a code.
//
//	root, err := fs.OpenRoot(dir)
//	…
//	err = root.WriteAtomic("skills.lock", data, 0o644)
//
// It does not lock (package flock does) and knows nothing of skills.
package fsx
