package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// Options say where a run works and how it speaks. The zero value of a field
// means its default.
type Options struct {
	// Dir is the absolute directory the search for skills.toml starts from.
	Dir string
	// RootPaths names files relative to the project, not to Dir, for reports that
	// other programs read.
	RootPaths bool
	// Global works on the user's own skills instead of a project's.
	Global bool
	// Home, ConfigDir, CacheDir and SystemDir are absolute; ConfigDir and
	// CacheDir are skillpm's own directories, SystemDir holds trust.toml.
	Home, ConfigDir, CacheDir, SystemDir string
	// Environ is the environment, as os.Environ gives it.
	Environ []string
	// Offline forbids every connection.
	Offline bool
	// Mirrors are read before those of the configuration.
	Mirrors []string
	// Jobs is how many repositories are worked on at once; 0 means DefaultJobs.
	Jobs int
	// MinAge replaces the configured min_age when not nil.
	MinAge *time.Duration
	// Report receives warnings and notes, one call at a time.
	Report func(*diag.Error)
	// Ask puts a yes/no question; nil means that nobody is there.
	Ask func(question string) bool
	// Announce says what a run waits for.
	Announce func(message string)
	// Progress is told about transfers.
	Progress fetch.Progress
	// Fetched is told of every finished call to a repository, for --verbose.
	Fetched func(fetch.Event)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// DefaultJobs is how many repositories a run works on at once: enough to hide
// latency, few enough for hosts that count connections.
const DefaultJobs = 8

// Project is what one run knows of a project without asking anybody: where it
// works, how it speaks, and what the files say. Once open it is not changed; an
// edit makes another one. It is safe for concurrent reading.
type Project struct {
	Opt Options
	// Root is the directory of skills.toml and skills.lock.
	Root string
	// Began is when the run began, by its clock.
	Began time.Time
	Files
	// LockAlone says that the lock stands without skills.toml.
	LockAlone bool
	// Permit is what may be contacted beyond what the files name.
	Permit Permit
	*memory
}

// Files are what the project's and the machine's files say.
type Files struct {
	Manifest     *manifest.Manifest // as this run edits it
	Written      *manifest.Manifest // as it is on disk
	ManifestData []byte
	Lock         *lockfile.Lock
	LockData     []byte
	User         manifest.Config
	Config       manifest.Config
	Policies     *signing.Set
	// Known is what the above say about whom to contact.
	Known func() *Grounds
}

// memory is what a run gathers to say at its end, and what it looked up once.
type memory struct {
	// gathered are findings that many skills may share.
	gathered map[diag.Code]*gathered
	// UserLocked is the lock of the user's own skills, once it was looked for.
	UserLock   sync.Once
	UserLocked *lockfile.Lock
}

// StateDir is the project-private directory.
const StateDir = ".skillpm"

// Elsewhere reports whether the project is another directory than the one the
// search for it began in.
func (p *Project) Elsewhere() bool { return !p.Opt.Global && p.Root != filepath.Clean(p.Opt.Dir) }

// LoadUnwritten is load where skills.toml is still to be written: it requires
// nothing, and a lock may stand beside it all the same.
func (p *Project) LoadUnwritten() error {
	if err := p.LoadEmpty(); err != nil {
		return err
	}
	err := p.loadLock()
	p.Known = p.Files.Index()
	return err
}

// New returns a project of which no file was read yet.
func New(opt Options) *Project {
	if opt.Report == nil {
		opt.Report = func(*diag.Error) {}
	}
	opt.Report = serial(opt.Report)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Jobs <= 0 {
		opt.Jobs = DefaultJobs
	}
	return &Project{Opt: opt, Began: opt.Now(), memory: &memory{gathered: map[diag.Code]*gathered{}}}
}

// serial lets one call of report run at a time: repositories and mirrors are
// read in parallel, and whoever listens need not know.
func serial(report func(*diag.Error)) func(*diag.Error) {
	var mu sync.Mutex
	return func(e *diag.Error) {
		mu.Lock()
		defer mu.Unlock()
		report(e)
	}
}

// Getenv returns the value of an environment variable, the last one given, as
// programs see it.
func (p *Project) Getenv(name string) string {
	for _, kv := range slices.Backward(p.Opt.Environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// GlobalDir holds manifest and lock of the user's own skills.
func (p *Project) GlobalDir() string { return filepath.Join(p.Opt.ConfigDir, "global") }

// Load reads manifest, user configuration, trust files and lock.
func (p *Project) Load() error {
	lock := make(chan error, 1)
	go func() { lock <- p.loadLock() }() // both are long where there are 2,000 skills
	err := p.loadManifest()
	if lockErr := <-lock; err == nil {
		err = lockErr
	}
	if p.Lock != nil && p.Manifest != nil {
		p.Lock.Sort(p.Order()) // what is printed follows the manifest; the file is by key
	}
	p.Known = p.Files.Index()
	return err
}

func (p *Project) loadManifest() error {
	data, err := ReadBounded(p.ManifestPath())
	if err != nil {
		return err
	}
	m, err := p.ParseManifest(data)
	if err != nil {
		return err
	}
	if err := m.CheckAgents(knownAgent); err != nil {
		return err
	}
	p.Manifest, p.Written, p.ManifestData = m, m, data
	return p.loadConfig()
}

// ParseManifest parses data as this project's skills.toml.
func (p *Project) ParseManifest(data []byte) (*manifest.Manifest, error) {
	return manifest.Parse(p.Display(p.ManifestPath()), data, checkRangeOnce())
}

// checkRangeOnce is resolver.CheckRange that judges each spelling once: most of a
// large manifest repeats a few.
func checkRangeOnce() func(string) error {
	known := map[string]error{}
	return func(text string) error {
		err, ok := known[text]
		if !ok {
			err = resolver.CheckRange(text)
			known[text] = err
		}
		return err
	}
}

// LoadEmpty reads the user's configuration around an empty manifest.
func (p *Project) LoadEmpty() error {
	p.Manifest = &manifest.Manifest{File: manifest.FileName}
	p.Written = p.Manifest
	err := p.loadConfig()
	p.Known = p.Files.Index()
	return err
}

func (p *Project) loadConfig() error {
	file := filepath.Join(p.Opt.ConfigDir, manifest.ConfigName)
	data, err := ReadBounded(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if p.User, err = manifest.ParseConfig(file, data); err != nil {
			return err
		}
	}
	p.Config = manifest.Layer(p.User, p.Manifest.Config)
	p.Policies, err = p.ReadPolicies(p.ManifestData)
	return err
}

// loadLock reads skills.lock if there is one. A lock with conflict markers is an
// error here; Lock resolves it.
func (p *Project) loadLock() error {
	data, err := ReadBounded(p.LockPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	p.LockData = data
	lock, err := lockfile.Parse(data)
	if err != nil {
		return LockFindings(p.Display(p.LockPath()), err)
	}
	p.Lock = lock
	return nil
}

// LockFindings gives the faults of a lock their file, place and hint.
func LockFindings(file string, err error) error {
	faults, ok := errors.AsType[lockfile.Errors](err)
	if !ok {
		return diag.New(diag.LockCorrupt, "the lock cannot be read").At(file, 0, 0).WithCause(err)
	}
	var list diag.List
	for _, f := range faults {
		e := diag.New(diag.Code(f.Fault.Code), "%s", f.Fault.Message).At(file, f.Line, f.Column)
		e.Hint = f.Fault.Hint
		list = append(list, e)
	}
	return list.Err()
}

// ManifestPath is where skills.toml is.
func (p *Project) ManifestPath() string { return filepath.Join(p.Root, manifest.FileName) }

// LockPath is where skills.lock is.
func (p *Project) LockPath() string { return filepath.Join(p.Root, lockfile.FileName) }

// Display returns path as the user would write it: relative to where they are
// if it lies below, absolute otherwise.
func (p *Project) Display(path string) string {
	if rel, err := filepath.Rel(p.Opt.Dir, path); err == nil && !p.Opt.RootPaths && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	if rel, err := filepath.Rel(p.Root, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return path
}

// MaxFileBytes bounds skills.toml, skills.lock and configuration files: a lock
// of 10,000 skills has about 15 MB.
const MaxFileBytes = 64 << 20

// ReadBounded reads a file of at most MaxFileBytes. A larger one is what the
// file would be if it could not be parsed: manifest_invalid, policy_invalid,
// lock_corrupt, and fetch_too_large for a file of another kind.
func ReadBounded(path string) ([]byte, error) {
	code := diag.FetchTooLarge
	switch filepath.Base(path) {
	case manifest.FileName, manifest.ConfigName:
		code = diag.ManifestInvalid
	case TrustFile:
		code = diag.PolicyInvalid
	case lockfile.FileName:
		code = diag.LockCorrupt
	case skill.SignatureFile:
		code = diag.SignatureTooLarge
	}
	return ReadAs(code, path)
}

// ReadAs is ReadBounded with the code for a file that is too large.
func ReadAs(tooLarge diag.Code, path string) ([]byte, error) {
	data, err := regular.Read(path, MaxFileBytes)
	if errors.Is(err, regular.ErrTooLarge) {
		return nil, diag.New(tooLarge, "%s %v", path, errors.Unwrap(err))
	}
	if errors.Is(err, regular.ErrNotRegular) {
		return nil, diag.New(diag.PermissionDenied, "%s is no regular file", path).
			WithHint("pipes and devices are not read: they may never end")
	}
	if err != nil {
		return nil, FileError(err)
	}
	return data, nil
}

// FileError gives an error of the file system its code; a missing file stays
// recognisable by fs.ErrNotExist.
func FileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, fs.ErrPermission):
		return diag.New(diag.PermissionDenied, "a file cannot be read or written").WithCause(err)
	case errors.Is(err, regular.ErrNotRegular):
		return diag.New(diag.PermissionDenied, "a file was expected, and something else is there").WithCause(err).
			WithHint("pipes and devices are not read: they may never end")
	}
	return diag.New(diag.DiskFailed, "the file system refused").WithCause(err)
}

// Layout says where install finds and writes this project's files.
func (p *Project) Layout() install.Layout {
	l := install.Layout{Root: p.Root, State: StateDir, Files: []string{p.ManifestPath(), p.LockPath()}}
	if p.Opt.Global {
		l.Root, l.Personal = p.Opt.Home, true
	}
	return l
}
