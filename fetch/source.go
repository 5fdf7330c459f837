package fetch

import (
	"context"
	"time"

	"github.com/skillpm/skillpm/skill"
)

// ID is a git object id: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits.
type ID string

// Ref is one advertised ref.
type Ref struct {
	Name   string // full name, refs/…
	ID     ID     // what the ref points at
	Peeled ID     // what an annotated tag finally points at, else ""
}

// Commit returns the object the ref finally names: the peeled tag or the ref's
// own target. Only opening it tells whether it is a commit.
func (r Ref) Commit() ID {
	if r.Peeled != "" {
		return r.Peeled
	}
	return r.ID
}

// Refs is a listing of a repository's refs.
type Refs struct {
	Head   string // full name of the default branch, "" if unknown or detached
	HeadID ID     // commit of HEAD, "" if not asked for or the repository is empty
	List   []Ref  // sorted by Name, without HEAD
}

// Want names a commit to open.
type Want struct {
	Commit ID
	// Ref is a full ref name that is known to reach Commit, or "". Servers that
	// hand out tips only need it.
	Ref string
	// Tree is a directory that is expected somewhere below Commit and whose files
	// will be asked for, or "". A Source may fetch them together with the commit.
	// It is a hint: what is read is found from Commit, so a wrong one costs a
	// request and nothing else. A commit may be wanted several times, each with
	// another Tree.
	Tree ID
}

// Source reads repositories over the protocols it knows. Implementations are
// safe for concurrent use. Both methods return within 100 ms once ctx is done.
//
// Errors are, or wrap, a *diag.Error that names the repository without
// credentials. Those a later attempt may cure are wrapped in *Temporary.
type Source interface {
	// Refs lists refs whose full name begins with one of prefixes; "HEAD" asks
	// for Head and HeadID too. Without prefixes everything is listed. The result
	// is shared: the caller must not change it.
	Refs(ctx context.Context, repo skill.Source, prefixes ...string) (*Refs, error)
	// Open reads the wanted commits and all their trees into memory; file
	// contents come later. The caller closes the Snapshot. A commit that cannot
	// be had is commit_gone; an object that is no commit is ref_not_found.
	Open(ctx context.Context, repo skill.Source, wants []Want) (Snapshot, error)
}

// Snapshot is some commits of one repository. Every object it returns was
// re-hashed and has the id asked for. Methods are safe for concurrent use.
type Snapshot interface {
	// Commit returns a commit that was wanted.
	Commit(id ID) (Commit, error)
	// Tree returns a directory's entries in stored order. Names are as stored
	// and may be hostile. The caller must not change the slice.
	Tree(id ID) ([]Entry, error)
	// Blobs calls visit once for each distinct id, in any order, one call at a
	// time. data is valid during the call only. An error of visit stops and is
	// returned as it is. An id the repository does not hold is pack_invalid.
	Blobs(ctx context.Context, ids []ID, visit func(id ID, data []byte) error) error
	// Close frees what the snapshot holds. It may be called more than once.
	Close() error
}

// Commit is what skillpm uses of a commit.
type Commit struct {
	ID   ID
	Tree ID
	Time time.Time // committer time
}

// Entry is one line of a git tree.
type Entry struct {
	Name string
	Mode uint32 // as stored: a type, and permission bits
	ID   ID
}

const modeType = 0o170000

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Mode&modeType == 0o040000 }

// IsFile reports whether the entry is a regular file.
func (e Entry) IsFile() bool { return e.Mode&modeType == 0o100000 }

// IsLink reports whether the entry is a symbolic link.
func (e Entry) IsLink() bool { return e.Mode&modeType == 0o120000 }

// IsSubmodule reports whether the entry is a commit of another repository.
func (e Entry) IsSubmodule() bool { return e.Mode&modeType == 0o160000 }

// IsExec reports whether the owner may execute the file.
func (e Entry) IsExec() bool { return e.Mode&0o100 != 0 }

// Progress is told what a Source is doing. Calls come from several goroutines.
type Progress interface {
	// Phase says that work on repo enters phase: "connect", "list", "trees" or
	// "files".
	Phase(repo, phase string)
	// Bytes says that n more bytes for repo arrived.
	Bytes(repo string, n int64)
}
