package install

import (
	"path"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/skill"
)

// The names below Layout.State.
const (
	receiptName = "receipt.json"
	journalName = "journal.json"
	stageName   = "stage"
	lockName    = "lock"
	hiddenName  = "skills" // transitive skills under expose = "direct"
)

// site is an opened layout.
type site struct {
	layout Layout
	opt    Options
	root   *fsx.Root

	stats, hashed, copied atomic.Int64
}

func openSite(layout Layout, opt Options) (*site, error) {
	if opt.Limits == (skill.Limits{}) {
		opt.Limits = skill.DefaultLimits
	}
	if opt.Note == nil {
		opt.Note = func(*diag.Error) {}
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if !filepath.IsAbs(layout.Root) || skill.CheckPath(layout.State) != nil {
		return nil, diag.New(diag.Internal, "the layout `%s` with `%s` is not absolute and clean", layout.Root, layout.State)
	}
	root, err := opt.FS.OpenRoot(layout.Root)
	if err != nil {
		return nil, fsx.Diag(err, "open `"+layout.Root+"`")
	}
	root.FollowInside() // ~/.claude is often a link to where its owner keeps dotfiles
	return &site{layout: layout, opt: opt, root: root}, nil
}

func (s *site) close() error { return s.root.Close() }

func (s *site) counters() Counters {
	return Counters{Stats: s.stats.Load(), Hashed: s.hashed.Load(), Copied: s.copied.Load()}
}

// state returns the slash path of a name in the private directory.
func (s *site) state(elem ...string) string {
	return path.Join(append([]string{s.layout.State}, elem...)...)
}

// checkState refuses a private directory that is a file or a link, which a
// hostile checkout may bring along, or that another tool made.
func (s *site) checkState() error {
	info, err := s.root.Lstat(s.layout.State)
	if fsx.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fsx.Diag(err, "look at `"+s.layout.State+"`")
	}
	if !info.IsDir() {
		return diag.New(diag.TargetUnsafe, "`%s` is not a directory; skillpm keeps its private files there", s.layout.State).
			WithHint("move it away")
	}
	if _, err := s.root.Lstat(s.state("skills.toml")); err == nil {
		return diag.New(diag.ManifestForeign, "`%s` belongs to eddieran/skillpm, another tool of this name", s.layout.State).
			WithHint("move it away, or use that tool")
	}
	for _, name := range []string{lockName, receiptName, journalName, stageName} {
		info, err := s.root.Lstat(s.state(name))
		if err == nil && !info.Mode().IsRegular() && (name != stageName || !info.IsDir()) {
			return diag.New(diag.TargetUnsafe, "`%s` is neither a file nor ours", s.state(name)).WithHint("remove it")
		}
	}
	return nil
}
