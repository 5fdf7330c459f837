package install

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// Layout says where a project's, or the user's, files are.
type Layout struct {
	// Root is an absolute directory below which every target and State lie: the
	// project, or the home directory for -g.
	Root string
	// State is the slash path below Root of the private directory that holds
	// receipt, journal, lock file and staging: ".skillpm" in a project. It must
	// be on the file system of the targets.
	State string
	// Personal says that Root is the user's home directory, for messages.
	Personal bool
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
	// Path is a path skill's directory: a slash path from Layout.Root, which may
	// climb with "..", or an absolute path; empty for every other skill.
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
	// Limits bound the directories that are hashed; zero means skill.DefaultLimits.
	Limits skill.Limits
	// Wait bounds waiting for another run; 0 means DefaultWait, less than 0 tries once.
	Wait time.Duration
	// Announce is called once, after 300 ms of waiting, with a message that says
	// who is waited for. nil announces nothing.
	Announce func(message string)
	// Note receives notes and warnings as they are met. nil drops them.
	Note func(*diag.Error)
	// Progress is called after every staged skill, never twice at once; done
	// counts up to total. nil is silent.
	Progress func(done, total int)
	// Now is the clock of the receipt; nil means time.Now.
	Now func() time.Time
}

// DefaultWait is how long a run waits for another that holds the project: longer
// than any install over a slow line should take, shorter than a CI job's limit.
const DefaultWait = 2 * time.Minute

// Counters count what a run did, so that tests can assert what the fast paths
// must not do.
type Counters struct {
	Stats  int64 // directory entries looked at
	Hashed int64 // files whose content was hashed on disk
	Copied int64 // files written into skills
}

// FileChange is one project file a transaction writes after the skills.
type FileChange struct {
	Path string // one of Layout.Files
	Data []byte
	// Perm is the mode of a file that does not exist yet; 0 means 0644.
	Perm os.FileMode
}

// DamagedError reports trees and bundles that the store lacks, or that did not
// match their digest and were thrown away. Nothing was changed: fetch them and
// apply again.
type DamagedError struct {
	Trees   []skill.Digest // sorted
	Bundles []skill.Digest // sorted
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%d trees and %d signatures are not in the cache, or were damaged there", len(e.Trees), len(e.Bundles))
}

// check refuses keys that no path may hold and pairs that one directory could
// not tell apart. Locks are edited by hand, so what comes in is not believed.
func (w *Desired) check() error {
	var faults diag.List
	seen := map[string]skill.Key{}
	for _, item := range w.Items {
		if _, err := skill.ParseKey(string(item.Key)); err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		if old, ok := seen[item.Key.Fold()]; ok {
			faults = append(faults, diag.New(diag.NameCollision, "`%s` and `%s` are one directory where case is ignored", old, item.Key).
				WithHint("give one of them another key with `skillpm add --as`"))
		}
		seen[item.Key.Fold()] = item.Key
		if item.Path == "" {
			if _, err := skill.ParseDigest(string(item.Digest)); err != nil {
				faults = append(faults, diag.All(err)...)
			}
		}
	}
	switch w.Link {
	case LinkDefault, LinkCopy, LinkHardlink, LinkSymlink:
	default:
		faults = append(faults, diag.New(diag.ManifestInvalid, "`[install] link` is copy, hardlink or symlink, not `%s`", w.Link))
	}
	if len(w.Targets) == 0 && len(w.Items) > 0 {
		faults = append(faults, diag.New(diag.ManifestInvalid, "no target to install into"))
	}
	return faults.Err()
}

// sortedItems returns the items by key, so that no order of a map or a file
// reaches the disk.
func (w *Desired) sortedItems() []Item {
	items := slices.Clone(w.Items)
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return items
}
