package install

import (
	"context"
	"os"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// Layout says where a project's, or the user's, files are.
type Layout struct {
	// Root is an absolute directory below which every target, path skill and
	// State lie: the project, or the home directory for -g.
	Root string
	// State is the slash path below Root of the private directory that holds
	// receipt, journal, lock file and staging: ".skillpm" in a project. It must
	// be on the file system of the targets.
	State string
	// Files are the absolute paths of the files a transaction may write, in
	// writing order: skills.toml, then skills.lock. A journal that names any
	// other file is refused.
	Files []string
}

// Link is how skills are placed; the zero value is the default.
type Link string

// The values of `[install] link`.
const (
	LinkDefault  Link = ""         // a copy in the first target, relative links in the others
	LinkCopy     Link = "copy"     // a copy in every target, of path skills too
	LinkHardlink Link = "hardlink" // hard links into the store in the first target
	LinkSymlink  Link = "symlink"  // a link to the store's directory in the first target
)

// Item is one skill that is wanted.
type Item struct {
	Key skill.Key
	// Digest is the tree's digest; empty for a path skill.
	Digest skill.Digest
	// Bundle is the hash of the signature file the lock pins, or empty.
	Bundle skill.Digest
	// Path is a path skill's directory as a slash path below Layout.Root (or an
	// absolute path in the same git work tree); empty for every other skill.
	Path string
	// Transitive marks a skill that the root does not require itself.
	Transitive bool
}

// Desired is what a run wants on disk. It comes from the lock and the manifest.
type Desired struct {
	Items []Item
	// Targets are slash paths below Layout.Root; the first holds the content.
	Targets []string
	Link    Link
	// ExposeDirect keeps transitive skills in State/skills, out of the targets.
	ExposeDirect bool
	// OldLock is what the lock named before this run, by key: a directory equal
	// to it is ours to replace or remove, whatever the receipt says.
	OldLock map[skill.Key]skill.Digest
	// OldTargets are the targets of the lock before this run.
	OldTargets []string
	// Force gives up local edits and foreign directories in the way.
	Force bool
}

// Store is where the bytes of a digest come from; package cache implements it.
// Methods are safe for concurrent use. What Open returns is not verified: this
// package hashes every byte it copies.
type Store interface {
	// Manifest returns the verified tree of d; a missing tree is fs.ErrNotExist.
	Manifest(d skill.Digest) (*skill.Tree, error)
	// Open opens one file of the tree for reading.
	Open(d skill.Digest, path string) (*os.File, error)
	// TreeDir returns the absolute directory of the tree, for links to it.
	TreeDir(d skill.Digest) string
	// Bundle returns the verified bytes of a signature bundle.
	Bundle(d skill.Digest) ([]byte, error)
	// Discard throws away a tree whose content did not match its digest.
	Discard(d skill.Digest) error
}

// Options are what a run brings along.
type Options struct {
	FS    *fsx.FS // nil is the real disk without faults
	Store Store
	// Wait bounds waiting for another run; 0 means DefaultWait.
	Wait time.Duration
	// Announce is called once, after 300 ms of waiting, with a message that says
	// who is waited for. nil announces nothing.
	Announce func(message string)
	// Note receives notes and warnings as they are met. nil drops them.
	Note func(*diag.Error)
	// Progress is called after every staged skill; done counts up to total.
	Progress func(done, total int)
}

// DefaultWait is how long a run waits for another that holds the project.
const DefaultWait = 2 * time.Minute

// Counters count what a run did, so that tests can assert what the fast paths
// must not do.
type Counters struct {
	Stats  int64 // directory entries looked at
	Hashed int64 // files whose content was hashed
	Copied int64 // files written
}

// FileChange is one project file a transaction writes after the skills.
type FileChange struct {
	Path string // one of Layout.Files
	Data []byte
	// Perm is the mode of a file that does not exist yet; 0 means 0644.
	Perm os.FileMode
}

// DamagedError reports trees that the store lost or that did not match their
// digest. They were thrown away and nothing was changed: fetch them and apply
// again.
type DamagedError struct {
	Trees   []skill.Digest // sorted
	Bundles []skill.Digest // sorted
}

// Session is a run that holds the project's lock. Not safe for concurrent use.
type Session struct{ session }

// Begin waits for the project's lock, finishes or undoes a killed run, and
// clears what dead runs left. Errors: project_locked, receipt_version,
// manifest_foreign (the private directory belongs to another tool),
// install_conflict (a killed run's places were changed since), disk_full,
// permission_denied. Close must be called.
func Begin(ctx context.Context, layout Layout, opt Options) (*Session, error) {
	return begin(ctx, layout, opt)
}

// Plan looks at the disk and says what Apply would do. It writes nothing.
func (s *Session) Plan(ctx context.Context, want Desired) (*Plan, error) { return s.plan(ctx, want) }

// Apply does what p says and then writes files, as one transaction: after an
// error, or a kill and the next Begin, everything is as before or everything is
// new. Conflicts in p are returned as findings before anything is touched. A
// *DamagedError means: fetch, then Apply again.
func (s *Session) Apply(ctx context.Context, p *Plan, files ...FileChange) (*Result, error) {
	return s.apply(ctx, p, files)
}

// Counters returns what the session did so far.
func (s *Session) Counters() Counters { return s.counters() }

// Close releases the lock.
func (s *Session) Close() error { return s.close() }

// Preview is Plan without the lock, for --dry-run and the no-op path: if the
// plan's NoOp is true there is nothing to lock, recover or write. It opens no
// network and no index, and hashes only what the receipt does not vouch for.
func Preview(ctx context.Context, layout Layout, opt Options, want Desired) (*Plan, error) {
	return preview(ctx, layout, opt, want)
}
